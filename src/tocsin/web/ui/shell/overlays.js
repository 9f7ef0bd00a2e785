// Overlays are loaded on first use.
import { html, useEffect, useState } from "../vendor/preact.js";
import { session } from "../lib/api.js";
import { signal, useSignal } from "../lib/store.js";
import { toast } from "../parts/toast.js";

/** The open overlay. */
export const overlay = signal(/** @type {"" | "palette" | "shortcuts" | "login"} */ (""));

/** Keys typed before the palette is loaded belong to its field. */
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

/** Return the text typed so far; afterwards the palette handles keys itself. */
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
