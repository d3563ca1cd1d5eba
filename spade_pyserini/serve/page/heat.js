// Show a text with words shaded by impact.

/** Return a text in which words with an impact are shaded and words of the query are underlined. */
function heatMap(pieces) {
  const largest = Math.max(1, ...pieces.map((piece) => piece.impact));
  const text = joinLines(pieces.map((piece) => piece.text).join(""));
  let end = 0;
  return h("p", { class: "heat" }, pieces.map((piece) => {
    const part = text.slice(end, end += piece.text.length);
    if (!piece.impact) return part;
    const word = h("span", { class: `heated${piece.matches ? " matches" : ""}`,
      title: `impact ${piece.impact}` }, part);
    word.style.setProperty("--heat", (0.06 + 0.5 * piece.impact / largest).toFixed(3));
    return word;
  }));
}

/** Join long lines with the next line if a sentence continues there: texts are often wrapped at 70 letters. */
function joinLines(text) {
  return text.replace(/(?<=[^\n]{40})\n(?=[\p{Ll}(])/gu, " ");
}

async function toggleDetail(button, detail, hit, context) {
  const open = detail.hidden;
  button.setAttribute("aria-expanded", String(open));
  fill(button, open ? "Hide the text" : "Text and heat map");
  detail.hidden = !open;
  if (!open || detail.dataset.loaded) return;
  fill(detail, h("p", { class: "note loading" }, "Loading the text"));
  try {
    const answer = await request(explainUrl(hit.docid, context.query));
    showDetail(detail, answer, context);
    detail.dataset.loaded = "yes";
  } catch (error) {
    fill(detail, h("p", { class: "note problem", role: "alert" }, error.message));
  }
}

function showDetail(detail, answer, context) {
  const matched = new Set(answer.matched.map((term) => term.term));
  const first = answer.added.slice(0, 24);
  fill(detail,
    answer.pieces.length
      ? [heatMap(answer.pieces), answer.cut && h("p", { class: "note" }, "Only the beginning of the text is shown.")]
      : h("p", { class: "note" }, "The text of this document is not available."),
    h("h4", {}, `${plural(answer.added.length, "term")} added by SpaDE`),
    h("ul", { class: "terms" }, first.map((term) => h("li",
      { class: matched.has(term.term) ? "hitting" : null },
      termButton({ ...term, in_text: false }, { openTerm: context.explainTerm })))),
    answer.added.length > first.length && h("p", { class: "note" },
      `${number(answer.added.length - first.length)} more with smaller impacts`),
    answer.missing.length > 0 && h("p", { class: "note" },
      `Query terms that the document does not have: ${answer.missing.join(", ")}`));
}
