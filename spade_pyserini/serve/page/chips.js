// The WordPieces of the query. A click removes a WordPiece from the search, the next click adds it again.

function showChips(answer, toggle) {
  const chips = [];
  let word = null;
  let end = -1;
  for (const term of answer.terms) {
    // WordPieces of the same word are in one group.
    if (!word || term.start !== end || !term.term?.startsWith("##")) {
      word = h("span", { class: "word" });
      chips.push(word);
    }
    word.append(chip(term, toggle));
    end = term.end;
  }
  fill($("chips"), chips);
  $("chips").hidden = chips.length === 0;
}

function chip(term, toggle) {
  if (term.term === null) {
    return h("span", { class: "chip unknown", title: "This word is not in the vocabulary and is ignored" },
      term.text, h("small", {}, "unknown"));
  }
  const count = term.documents ? number(term.documents) : "none";
  const documents = term.documents ? `in ${plural(term.documents, "document")}` : "in no document";
  const action = term.removed ? "add it to the search again" : "leave it out of the search";
  return h("button", {
    type: "button",
    class: `chip${term.removed ? " removed" : ""}${term.documents ? "" : " nowhere"}`,
    "data-term": term.term,
    "aria-pressed": String(!term.removed),
    "aria-label": `${term.term}, ${documents}; click to ${action}`,
    title: `${term.term}: ${documents}. Click to ${action}`,
    onclick: () => toggle(term.term),
    onkeydown: (event) => {
      if (event.key === "Delete" || event.key === "Backspace") toggle(term.term);
    },
  }, h("span", {}, term.term), h("small", {}, count), h("i", { "aria-hidden": "true" }, term.removed ? "+" : "×"));
}
