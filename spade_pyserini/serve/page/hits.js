// A hit: rank, title, rank in the other engine, snippet, a bar for its score, and matched terms.

const NAMES = { spade: "SpaDE", bm25: "BM25" };

function originOf(term) {
  if (term.in_text === null) return "plain";
  return term.in_text ? "own" : "added";
}

const originText = { own: "in the text", added: "added by SpaDE", plain: "" };

function hitItem(hit, context) {
  const detail = h("div", { class: "detail", hidden: true });
  const more = h("button", { type: "button", class: "more", "aria-expanded": "false" },
    "Text and heat map");
  const item = h("li", { class: "hit", tabindex: "-1", "data-docid": hit.docid,
    "aria-label": `Rank ${hit.rank}: ${hit.title?.text || hit.docid}` },
    h("span", { class: "rank", "aria-hidden": "true" }, hit.rank),
    h("div", { class: "body" },
      h("div", { class: "head" },
        h("h3", {}, hit.title?.text ? marked(hit.title) : hit.docid),
        h("span", { class: "score", title: "Score" }, number(hit.score))),
      h("p", { class: "meta" }, h("code", {}, hit.docid), movement(hit, context),
        grade(hit, context)),
      hit.snippet?.text && h("p", { class: "snippet" }, marked(hit.snippet)),
      scoreBar(hit.matched, hit.score, context.best),
      h("ul", { class: "terms", "aria-label": "Matched terms" },
        hit.matched.map((term) => h("li", {}, termButton(term, context)))),
      more, detail));
  more.addEventListener("click", () => toggleDetail(more, detail, hit, context));
  const counterpart = (on) => context.highlight(hit.docid, on);
  item.addEventListener("mouseenter", () => counterpart(true));
  item.addEventListener("mouseleave", () => counterpart(false));
  item.addEventListener("focusin", () => counterpart(true));
  item.addEventListener("focusout", () => counterpart(false));
  return item;
}

/** Return an arrow: up if the document is ranked higher here than in the other engine. */
function movement(hit, { other, compared }) {
  if (!other) return null;
  if (hit.other_rank === null) {
    const text = `Not among the first ${compared} hits of ${other}`;
    return h("span", { class: "move new", title: text, "aria-label": text }, `not in ${other}`);
  }
  const gain = hit.other_rank - hit.rank;
  const text = `Rank ${hit.other_rank} in ${other}`;
  if (gain === 0) return h("span", { class: "move", title: text, "aria-label": text }, "=");
  return h("span", { class: `move ${gain > 0 ? "up" : "down"}`, title: text, "aria-label": text },
    `${gain > 0 ? "▲" : "▼"} ${Math.abs(gain)}`);
}

function grade(hit, { judged }) {
  if (!judged || hit.grade === null) return null;
  const good = hit.grade >= judged.level;
  const text = good ? `relevant, grade ${hit.grade}` : `not relevant, grade ${hit.grade}`;
  return h("span", { class: `grade ${good ? "good" : "bad"}`, title: `Judged ${text}` },
    good ? `✓ relevant ${hit.grade}` : `✗ not relevant`);
}

/** Return the parts of the score as a stacked bar; the bar of the best hit has the full width. */
function scoreBar(matched, score, best) {
  const parts = matched.map((term) => {
    const origin = originOf(term);
    const part = h("i", { class: origin, title:
      `${term.term} ${number(term.weight)} (${percent(term.share)}) ${originText[origin]}` });
    part.style.flex = `${term.weight} 1 0px`;
    return part;
  });
  const said = matched.map((term) =>
    `${term.term} ${number(term.weight)} ${originText[originOf(term)]}`.trim());
  const bar = h("div", { class: "stack" }, parts);
  bar.style.width = `${Math.max(2, 100 * score / best)}%`;
  return h("div", { class: "track", role: "img",
    "aria-label": `Score ${number(score)}: ${said.join(", ")}` }, bar);
}

function termButton(term, { openTerm }) {
  const origin = originOf(term);
  const content = [term.term, h("b", {}, number(term.weight ?? term.impact))];
  if (!openTerm) return h("span", { class: `term ${origin}` }, content);
  return h("button", { type: "button", class: `term ${origin}`, "data-term": term.term,
    title: `${term.term}: ${originText[origin]}. Click to list its documents by impact`,
    onclick: () => openTerm(term.term) }, content);
}
