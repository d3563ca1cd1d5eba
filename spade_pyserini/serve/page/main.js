// Start the page.

const TYPING_DELAY = 250;
let served = null;
let typing = 0; // the timer of a search while the user types
let unfinished = false; // whether the query in the address may be incomplete

function setQuery(text) {
  state.q = text;
  state.without = [];
  $("q").value = text;
  writeAddress({ push: true });
  runSearch();
}

function toggleTerm(term) {
  const removed = state.without.includes(term);
  state.without = removed
    ? state.without.filter((other) => other !== term) : [...state.without, term];
  writeAddress({ push: true });
  runSearch().then(() => $("chips").querySelector(`[data-term="${CSS.escape(term)}"]`)?.focus());
}

/** Search while the user types. The browser's history gets an entry for each query, not for each letter. */
function onTyping() {
  clearTimeout(typing);
  typing = setTimeout(() => {
    if ($("q").value === state.q) return;
    state.q = $("q").value;
    state.without = [];
    writeAddress({ push: !unfinished });
    unfinished = true;
    runSearch();
  }, TYPING_DELAY);
}

function showView(view, { push = false } = {}) {
  state.view = view;
  const expand = view === "expand";
  $("search-view").hidden = expand;
  $("expand-view").hidden = !expand;
  for (const [id, current] of [["show-search", !expand], ["show-expand", expand]]) {
    if (current) $(id).setAttribute("aria-current", "page");
    else $(id).removeAttribute("aria-current");
  }
  if (push) writeAddress({ push: true });
  if (expand) $("text").focus();
}

/** Show the view and the search that the address of the page names. */
function showAddress() {
  readAddress();
  unfinished = false;
  $("q").value = state.q;
  if (![...$("k").options].some((option) => Number(option.value) === state.k)) {
    $("k").append(h("option", {}, state.k));
  }
  $("k").value = String(state.k);
  showView(state.view);
  runSearch();
}

async function showServed() {
  try {
    served = await request("/stats");
  } catch {
    return; // a search will report the same problem
  }
  const { spade, texts, texts_problem: problem } = served;
  const parts = [spade.corpus, plural(spade.documents, "document"), spade.model];
  fill($("served"), parts.filter(Boolean).join(" · "));
  $("q").placeholder = `Search ${plural(spade.documents, "document")}`;
  $("show-expand").hidden = !served.expand;
  $("q").maxLength = served.limits.query;
  $("text").maxLength = served.limits.text;
  const note = texts === "missing" ? `Texts are not shown: ${problem}` : `spade_pyserini ${served.version}. `;
  fill($("footer"), h("p", {}, note,
    texts !== "missing" && h("span", { class: "shortcuts" }, "Press ? for keyboard shortcuts.")));
  if (!state.q) showStart();
}

function start() {
  startTheme();
  startKeyboard();
  startExpand();
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    if ($("q").value !== state.q) state.without = [];
    state.q = $("q").value;
    writeAddress({ push: true });
    unfinished = false;
    runSearch();
  });
  $("q").addEventListener("input", onTyping);
  $("q").addEventListener("blur", () => { unfinished = false; });
  $("k").addEventListener("change", () => {
    state.k = Number($("k").value);
    writeAddress({ push: true });
    runSearch();
  });
  $("show-search").addEventListener("click", () => showView("search", { push: true }));
  $("show-expand").addEventListener("click", () => showView("expand", { push: true }));
  window.addEventListener("popstate", showAddress);
  showAddress();
  showServed();
  if (!state.q && state.view === "search") $("q").focus();
}

start();
