// Sets the theme before the first paint; a page's policy forbids scripts inside the document.
(function () {
  var root = document.documentElement;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function apply() {
    var chosen = null;
    try { chosen = localStorage.getItem("tocsin.theme"); } catch { /* Storage is refused: the system decides. */ }
    var theme = chosen === '"dark"' || chosen === '"light"' ? chosen.slice(1, -1) : dark.matches ? "dark" : "light";
    root.setAttribute("data-theme", theme);
  }
  apply();
  dark.addEventListener("change", apply);
  window.addEventListener("storage", apply);
  document.addEventListener("tocsin-theme", apply);
})();
