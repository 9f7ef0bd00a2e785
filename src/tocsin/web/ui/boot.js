// Sets the theme before the first paint; a page's policy forbids scripts inside the document.
(function () {
  var root = document.documentElement;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  /** @param {string} name */
  function kept(name) {
    try { return localStorage.getItem("tocsin." + name); } catch { return null; /* Storage is refused: the system decides. */ }
  }
  function apply() {
    var chosen = kept("theme");
    var theme = chosen === '"dark"' || chosen === '"light"' ? chosen.slice(1, -1) : dark.matches ? "dark" : "light";
    root.setAttribute("data-theme", theme);
    root.setAttribute("data-density", kept("density") === '"compact"' ? "compact" : "normal");
  }
  apply();
  dark.addEventListener("change", apply);
  window.addEventListener("storage", apply);
  document.addEventListener("tocsin-theme", apply);
})();
