// Create elements. Text is always a text node: nothing in a document or a query becomes HTML.

const $ = (id) => document.getElementById(id);

/** Create an element: h("button", {class: "chip", onclick: f}, "text", element, ...) */
function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Return a text with <mark> around the spans in marks. Positions count code points, as in Python. */
function marked({ text, marks }) {
  const points = Array.from(text);
  const parts = [];
  let last = 0;
  for (const [start, end] of marks) {
    parts.push(points.slice(last, start).join(""), h("mark", {}, points.slice(start, end).join("")));
    last = end;
  }
  parts.push(points.slice(last).join(""));
  return parts;
}

const number = (value) => Number(value).toLocaleString("en", { maximumFractionDigits: 2 });
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %`;
