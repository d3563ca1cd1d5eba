// The columns of results, and the messages before a search, during a search, and after an error.

const LOADING_DELAY = 150; // milliseconds before a running search is shown as loading
const search = latest(async (signal) => request(searchUrl(state), { signal }));

async function runSearch() {
  $("json").href = searchUrl(state);
  if (!state.q.trim()) {
    search.cancel();
    showStart();
    return;
  }
  const busy = setTimeout(showLoading, LOADING_DELAY);
  try {
    const answer = await search();
    showAnswer(answer);
  } catch (error) {
    if (error.name !== "AbortError") showProblem(error);
  } finally {
    clearTimeout(busy);
  }
}

function showAnswer(answer) {
  $("results").removeAttribute("aria-busy");
  showChips(answer, toggleTerm);
  const engines = Object.keys(answer.results);
  $("summary").hidden = false;
  fill($("status"), summaryText(answer));
  fill($("results"), engines.map((engine) => column(answer, engine, engines)));
  $("results").dataset.columns = engines.length;
  showTabs(engines, answer);
  startRoving();
}

function summaryText(answer) {
  const { spade, bm25 } = answer.results;
  const judged = answer.judged
    ? ` Judged topic ${answer.judged.qid}: ${plural(answer.judged.relevant, "relevant document")}.` : "";
  if (!spade || !bm25) return `${plural((spade || bm25).hits.length, "hit")}.${judged}`;
  if (!spade.hits.length && !bm25.hits.length) return `No hits.${judged}`;
  const others = new Set(bm25.hits.map((hit) => hit.docid));
  const same = spade.hits.filter((hit) => others.has(hit.docid)).length;
  const share = `${same} of the first ${spade.hits.length}`;
  return `SpaDE and BM25 have ${same ? share : "none of their first"} hits in common.${judged}`;
}

function column(answer, engine, engines) {
  const result = answer.results[engine];
  const other = engines.find((name) => name !== engine);
  const context = {
    other: other && NAMES[other],
    compared: answer.compared,
    judged: answer.judged,
    query: answer.query,
    best: Math.max(0.001, ...result.hits.map((hit) => hit.score)),
    openTerm: engine === "spade" ? openTerm : null,
    explainTerm: openTerm,
    highlight: highlightCounterpart,
  };
  return h("section", { class: `column ${engine}`, id: `column-${engine}`,
    "aria-label": `Hits of ${NAMES[engine]}` },
    h("h2", {}, NAMES[engine],
      h("span", { class: "time", title: "Time of the search, without snippets" },
        `${number(result.milliseconds)} ms`),
      answer.judged && h("span", { class: "found" }, foundText(result, answer.judged))),
    result.hits.length
      ? h("ol", { class: "hits" }, result.hits.map((hit) => hitItem(hit, context)))
      : noHits(result, answer.terms.some((term) => term.removed)));
}

function foundText(result, judged) {
  const found = result.hits.filter((hit) => hit.grade !== null && hit.grade >= judged.level);
  return `${found.length} of ${judged.relevant} relevant`;
}

function noHits(result, removed) {
  const why = result.terms.length
    ? "No document has any of these terms."
    : "The query has no term that can be searched for.";
  return h("div", { class: "empty" }, h("h3", {}, "No hits"), h("p", {}, why),
    h("p", { class: "note" },
      removed ? "Click a removed term above to add it again, or try other words." : "Try other words."));
}

function highlightCounterpart(docid, on) {
  for (const item of document.querySelectorAll(".hit")) {
    if (item.dataset.docid === docid) item.classList.toggle("same", on);
  }
}

/** On a narrow screen, only one column is shown, which the user selects with tabs. */
function showTabs(engines, answer) {
  $("tabs").hidden = engines.length < 2;
  const current = $("results").dataset.shown || engines[0];
  const select = (name) => {
    $("results").dataset.shown = name;
    for (const tab of $("tabs").children) {
      const selected = tab.dataset.engine === name;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
    }
  };
  fill($("tabs"), engines.map((name) => h("button", { type: "button", role: "tab",
    "data-engine": name, "aria-controls": `column-${name}`, onclick: () => select(name),
    onkeydown: (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const next = event.currentTarget.nextSibling || event.currentTarget.previousSibling;
      select(next.dataset.engine);
      next.focus();
      event.stopPropagation();
    } }, NAMES[name], h("small", {}, `${number(answer.results[name].milliseconds)} ms`))));
  select(engines.includes(current) ? current : engines[0]);
}

function showLoading() {
  $("results").setAttribute("aria-busy", "true");
  fill($("status"), "Searching");
  if ($("results").querySelector(".hit")) return; // the previous hits stay, dimmed
  $("summary").hidden = false;
  fill($("results"), h("section", { class: "column", "aria-hidden": "true" },
    Array.from({ length: 4 }, () => h("div", { class: "skeleton" }, h("i"), h("i"), h("i")))));
}

function showProblem(error) {
  $("results").removeAttribute("aria-busy");
  for (const id of ["chips", "summary", "tabs"]) $(id).hidden = true;
  fill($("results"), h("div", { class: "empty problem", role: "alert" },
    h("h2", {}, "The request failed"), h("p", {}, error.message),
    h("button", { type: "button", onclick: runSearch }, "Try again")));
}

function showStart() {
  $("results").removeAttribute("aria-busy");
  for (const id of ["chips", "summary", "tabs"]) $(id).hidden = true;
  const examples = served?.examples || [];
  fill($("results"), h("div", { class: "empty start" },
    h("h1", {}, "Search, and see why documents match"),
    h("p", {}, "Before indexing, SpaDE weighted the words of each document and added words that the "
      + "document does not contain. A query is only split into WordPieces."),
    h("ul", { class: "key" },
      h("li", {}, h("i", { class: "own" }), "a term that is in the text of the document"),
      h("li", {}, h("i", { class: "added" }), "a term that SpaDE added to the document")),
    examples.length > 0 && [h("h2", {}, "Queries with relevance judgements"),
      h("ul", { class: "examples" }, examples.map((text) => h("li", {},
        h("button", { type: "button", class: "sample", onclick: () => setQuery(text) }, text))))]));
}
