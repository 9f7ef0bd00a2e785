// What lies over the page is loaded when it is first wanted.
import { html, useEffect, useState } from "../vendor/preact.js";
import { session } from "../lib/api.js";
import { signal, useSignal } from "../lib/store.js";
import { toast } from "../parts/toast.js";

/** Which one is open. */
export const overlay = signal(/** @type {"" | "palette" | "shortcuts" | "login"} */ (""));

/** Keys that come before the search is there belong into its field. */
let early = "";
/** @param {KeyboardEvent} event */
function keepEarly(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape") overlay.set("");
  else if (event.key === "Backspace") early = early.slice(0, -1);
  else if (event.key.length === 1) early += event.key;
  else if (event.key !== "Enter") return;
  event.preventDefault();
  event.stopPropagation();
}
overlay.watch((name) => {
  early = "";
  if (name === "palette") addEventListener("keydown", keepEarly, true);
  else removeEventListener("keydown", keepEarly, true);
});

/** What was typed until now; from now on the search hears for itself. */
export function takeEarly() {
  removeEventListener("keydown", keepEarly, true);
  return early;
}

session.watch((state) => {
  if (state === "needed") overlay.set("login");
});

/** @param {{page: boolean}} props  `page`: there is a page behind it. */
export function Overlays({ page }) {
  const name = useSignal(overlay);
  const [loaded, setLoaded] = useState(/** @type {Record<string, unknown>} */ ({}));
  const part = name && loaded[name];
  useEffect(() => {
    if (!name || part) return;
    const loading = {
      palette: () => import("../shell/palette.js").then((module) => module.Palette),
      shortcuts: () => import("../shell/shortcuts.js").then((module) => module.Shortcuts),
      login: () => import("../shell/login.js").then((module) => module.Login),
    }[name]();
    loading.then((found) => setLoaded((all) => ({ ...all, [name]: found })), (error) => {
      toast.problem(error);
      if (name !== "login") overlay.set("");
    });
  }, [name, part]);
  return part ? html`<${part} page=${page} close=${() => overlay.set("")} />` : null;
}
