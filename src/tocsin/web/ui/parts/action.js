// A button with an action on the server: it waits, and reports failures.
import { html, useState } from "../vendor/preact.js";
import { Icon } from "../parts/icon.js";
import { toast } from "../parts/toast.js";

/**
 * @param {{run: () => Promise<unknown>, children?: import("../vendor/preact.js").Child, icon?: string, label?: string, title?: string,
 *   kind?: "plain" | "primary" | "danger", small?: boolean, disabled?: boolean, about?: string}} props
 *   With `label` only the icon is seen; `about` is what a button in a row acts on.
 */
export function ActionButton({ run, children, icon, label, title, kind, small = false, disabled = false, about }) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await run();
    } catch (error) {
      toast.problem(error);
    }
    setBusy(false);
  };
  const name = label ? "icon-button" : ["button", kind && `button--${kind}`, small && "button--small"].filter(Boolean).join(" ");
  // Disabling it while it works would lose the focus.
  return html`<button type="button" class=${name} aria-label=${label} title=${title ?? label} aria-busy=${busy} aria-disabled=${busy} disabled=${disabled} onClick=${act}>
    ${icon && html`<${Icon} name=${icon} size=${16} />`}${children}<${About} name=${about} />
  </button>`;
}

/** The subject of a button or link, for screen readers. @param {{name?: string}} props */
export function About({ name }) {
  return name ? html`<span class="visually-hidden" dir="auto"> ${name}</span>` : null;
}
