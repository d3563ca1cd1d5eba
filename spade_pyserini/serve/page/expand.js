// Show the terms that SpaDE adds to a text while the user types it.

const SAMPLES = [
  "Recursively delete a directory tree.",
  "Heavy rain closed the airport for several hours.",
  "The recipe needs two eggs, flour and sugar.",
];
const SHOWN_TERMS = 40;
const EXPAND_DELAY = 300;

const expandText = latest(async (signal, text) => request("/expand", {
  method: "POST", signal, headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ text }),
}));

let expandTimer = 0;

function scheduleExpand(delay = EXPAND_DELAY) {
  clearTimeout(expandTimer);
  expandTimer = setTimeout(runExpand, delay);
}

async function runExpand() {
  const text = $("text").value;
  if (!text.trim()) {
    expandText.cancel();
    fill($("expand-status"));
    fill($("expand-heat"));
    fill($("expand-terms"), emptyExpansion());
    return;
  }
  const waiting = setTimeout(() => fill($("expand-status"), "Encoding the text"), 400);
  try {
    showExpansion(await expandText(text));
  } catch (error) {
    if (error.name !== "AbortError") expandProblem(error);
  } finally {
    clearTimeout(waiting);
  }
}

/** Send the request again if the server asks for it, for example while the model is loaded; else show the error. */
function expandProblem(error) {
  if (error.status === 503 && error.retryAfter) {
    const reason = error.message.split(";")[0];
    fill($("expand-status"), h("span", { class: "loading" }, `Please wait: ${reason}`));
    scheduleExpand(1000 * error.retryAfter);
    return;
  }
  fill($("expand-status"), h("span", { class: "problem" }, error.message));
}

function emptyExpansion() {
  return h("div", { class: "empty" },
    h("h2", {}, "What does SpaDE add to a text?"),
    h("p", {}, "Type a text in the box. SpaDE weights the words of the text and adds words that the "
      + "text does not contain, as it did for each document before indexing."));
}

function showExpansion(answer) {
  const added = answer.terms.filter((term) => !term.in_text);
  const own = answer.terms.filter((term) => term.in_text);
  const cut = answer.left_out ? ` ${plural(answer.left_out, "WordPiece")} at the end were not read.` : "";
  fill($("expand-status"), `${answer.model}, ${number(answer.milliseconds)} ms.${cut}`);
  fill($("expand-heat"), heatMap(answer.pieces));
  const best = Math.max(1, ...answer.terms.map((term) => term.impact));
  fill($("expand-terms"),
    h("p", { class: "legend" }, h("span", {}, h("i", { class: "own" }), "from the weighting encoder"),
      h("span", {}, h("i", { class: "added" }), "from the expansion encoder")),
    expansionList(`${plural(added.length, "term")} added`, added, best),
    expansionList(`${plural(own.length, "term")} of the text`, own, best));
}

/** Return impacts as bars; the parts that come from the two encoders have different colours. */
function expansionList(title, terms, best) {
  const shown = terms.slice(0, SHOWN_TERMS);
  return h("section", {}, h("h2", {}, title),
    h("ul", { class: "impacts" }, shown.map((term) => {
      const sum = Math.max(0.001, term.weighting + term.expansion);
      const parts = [["own", term.weighting], ["added", term.expansion]]
        .filter(([, part]) => part > 0)
        .map(([kind, part]) => {
          const bar = h("i", { class: kind });
          bar.style.width = `${100 * (part / sum) * (term.impact / best)}%`;
          return bar;
        });
      return h("li", { title: `weighting ${term.weighting}, expansion ${term.expansion}` },
        h("button", { type: "button", class: "name", "data-term": term.term,
          onclick: () => openTerm(term.term) }, term.term),
        h("span", { class: "track" }, h("span", { class: "stack" }, parts)),
        h("span", { class: "score" }, term.impact));
    })),
    terms.length > shown.length && h("p", { class: "note" },
      `${number(terms.length - shown.length)} more with smaller impacts`));
}

function startExpand() {
  fill($("samples"), SAMPLES.map((sample) => h("button", { type: "button", class: "sample",
    onclick: () => { $("text").value = sample; scheduleExpand(0); } }, sample)));
  $("text").addEventListener("input", () => scheduleExpand());
  fill($("expand-terms"), emptyExpansion());
}
