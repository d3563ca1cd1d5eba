// The address of the page contains the query and the settings, so that a search can be shared as a link.

const state = { q: "", k: 10, without: [], view: "search" };

function readAddress() {
  const parameters = new URLSearchParams(location.search);
  state.q = parameters.get("q") || "";
  const k = Number.parseInt(parameters.get("k"), 10);
  state.k = k >= 1 && k <= 100 ? k : 10;
  state.without = [...new Set(parameters.getAll("without"))];
  state.view = parameters.get("view") === "expand" ? "expand" : "search";
  showTitle();
}

function writeAddress({ push = false } = {}) {
  const parameters = new URLSearchParams();
  if (state.view !== "search") parameters.set("view", state.view);
  if (state.q) parameters.set("q", state.q);
  if (state.k !== 10) parameters.set("k", state.k);
  for (const term of state.without) parameters.append("without", term);
  const address = parameters.size ? `/?${parameters}` : "/";
  if (address === location.pathname + location.search) return;
  history[push ? "pushState" : "replaceState"](null, "", address);
  showTitle();
}

function showTitle() {
  document.title = state.q ? `${state.q} – SpaDE` : "SpaDE search";
}
