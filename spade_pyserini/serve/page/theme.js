// Colours of the page: automatic, light or dark.

const THEMES = {
  automatic: { sign: "◐", next: "light" },
  light: { sign: "☀", next: "dark" },
  dark: { sign: "☾", next: "automatic" },
};

function storedTheme() {
  try {
    const name = localStorage.getItem("spade-theme");
    return name in THEMES ? name : "automatic";
  } catch {
    return "automatic"; // the browser refuses storage
  }
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  const button = $("theme");
  fill(button, THEMES[name].sign);
  button.setAttribute("aria-label", `Colours: ${name}`);
  button.title = `Colours: ${name}`;
  try {
    localStorage.setItem("spade-theme", name);
  } catch {
    // The browser refuses storage, so the choice lasts until the page is closed.
  }
}

function startTheme() {
  setTheme(storedTheme());
  $("theme").addEventListener("click", () =>
    setTheme(THEMES[document.documentElement.dataset.theme].next));
}
