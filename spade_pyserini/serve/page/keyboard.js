// Keyboard shortcuts, so that the page can be used without a mouse.

const KEYS = [
  ["/", "go to the search box"],
  ["↓ ↑ or j k", "next and previous hit"],
  ["← → or h l", "hit in the other column"],
  ["Enter", "show or hide the text and heat map of the hit"],
  ["Delete", "on a WordPiece: leave it out of the search, or add it again"],
  ["Esc", "close a panel"],
  ["?", "this help"],
];

function startRoving() {
  const first = document.querySelector(".hit");
  if (first) first.tabIndex = 0;
}

function focusHit(item) {
  if (!item) return;
  for (const other of document.querySelectorAll('.hit[tabindex="0"]')) other.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}

const isShown = (item) => item.offsetParent !== null;

function moveToHit(step) {
  const current = document.activeElement?.closest?.(".hit");
  if (!current) return focusHit([...document.querySelectorAll(".hit")].find(isShown));
  return focusHit(step > 0 ? current.nextElementSibling : current.previousElementSibling);
}

function moveToColumn(step) {
  const current = document.activeElement?.closest?.(".hit");
  const columns = [...document.querySelectorAll(".column")].filter(isShown);
  const index = columns.findIndex((column) => column.contains(current));
  const target = columns[index + step];
  if (!current || index < 0 || !target) return;
  const items = [...target.querySelectorAll(".hit")];
  const rank = [...columns[index].querySelectorAll(".hit")].indexOf(current);
  focusHit(items[Math.min(rank, items.length - 1)]);
}

const ACTIONS = {
  "/": () => { $("q").focus(); $("q").select(); },
  "?": () => showHelp(),
  ArrowDown: () => moveToHit(1),
  ArrowUp: () => moveToHit(-1),
  j: () => moveToHit(1),
  k: () => moveToHit(-1),
  ArrowLeft: () => moveToColumn(-1),
  ArrowRight: () => moveToColumn(1),
  h: () => moveToColumn(-1),
  l: () => moveToColumn(1),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("panel").open) return;
  const target = event.target;
  if (target.matches("input, textarea, select")) {
    if (event.key === "ArrowDown" && target.id === "q" && document.querySelector(".hit")) {
      event.preventDefault();
      moveToHit(1);
    }
    return;
  }
  if (event.key === "Enter" && target.matches(".hit")) {
    target.querySelector(".more").click();
    event.preventDefault();
    return;
  }
  const action = ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function showHelp() {
  openPanel("Keyboard and colours",
    h("dl", { class: "keys" }, KEYS.map(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)),
      h("dd", {}, what)])),
    h("ul", { class: "key" },
      h("li", {}, h("i", { class: "own" }), "in the text of the document"),
      h("li", {}, h("i", { class: "added" }), "added by SpaDE"),
      h("li", {}, h("i", { class: "plain" }), "the text of the document is not available")),
    h("p", { class: "note" }, "▲ 3: three ranks higher here than in the other column."));
}

function startKeyboard() {
  document.addEventListener("keydown", onKey);
  $("help").addEventListener("click", showHelp);
  $("panel-close").addEventListener("click", () => $("panel").close());
  $("panel").addEventListener("click", (event) => {
    if (event.target === $("panel")) $("panel").close(); // a click outside of the panel
  });
}
