// What lies over the page is loaded when it is first wanted.
import { html, useEffect, useState } from "../vendor/preact.js";
import { session } from "../lib/api.js";
import { signal, useSignal } from "../lib/store.js";
import { toast } from "../parts/toast.js";

/** Which one is open. */
export const overlay = signal(/** @type {"" | "palette" | "shortcuts" | "login"} */ (""));

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
    loading.then((found) => setLoaded((all) => ({ ...all, [name]: found })), toast.problem);
  }, [name, part]);
  return part ? html`<${part} page=${page} close=${() => overlay.set("")} />` : null;
}
