// The documents of a term, in a dialog.

function openPanel(title, ...content) {
  fill($("panel-title"), title);
  fill($("panel-body"), content);
  if (!$("panel").open) $("panel").showModal();
}

const loadTerm = latest(async (signal, term) => request(termUrl(term, 25), { signal }));

async function openTerm(term) {
  const title = h("span", {}, "Documents with ", h("code", {}, term));
  openPanel(title, h("p", { class: "note loading" }, "Loading"));
  try {
    const answer = await loadTerm(term);
    openPanel(title, termSummary(answer), termList(answer));
  } catch (error) {
    if (error.name === "AbortError") return;
    openPanel(title, h("p", { class: "note problem", role: "alert" }, error.message));
  }
}

function termSummary(answer) {
  const share = answer.total ? answer.documents / answer.total : 0;
  const added = answer.hits.filter((hit) => hit.in_text === false).length;
  const shown = answer.hits.length;
  return h("p", { class: "note" },
    `In ${plural(answer.documents, "document")} of ${number(answer.total)} (${percent(share)}).`,
    shown < answer.documents && ` The ${shown} with the largest impacts:`,
    added > 0 && ` SpaDE added this term to ${added} of these ${shown}.`);
}

function termList(answer) {
  const best = Math.max(1, ...answer.hits.map((hit) => hit.impact));
  return h("ol", { class: "postings" }, answer.hits.map((hit) => {
    const bar = h("i", { class: originOf(hit) });
    bar.style.width = `${100 * hit.impact / best}%`;
    return h("li", {},
      h("div", { class: "head" }, h("span", {}, hit.title || hit.docid),
        h("span", { class: "score" }, number(hit.impact))),
      h("div", { class: "track" }, bar),
      hit.title && h("code", {}, hit.docid));
  }));
}
