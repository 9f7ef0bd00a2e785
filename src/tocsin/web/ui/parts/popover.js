// A button with a panel below it: closed by Esc, by a click elsewhere, and when the focus leaves.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";

/** @typedef {import("../vendor/preact.js").Child} Child */

/**
 * @param {{button: Child, label: string, name?: string, buttonClass?: string, align?: "start" | "end",
 *   children: (close: () => void) => Child, onOpen?: () => void}} props  `children` is drawn only while it is open.
 */
export function Popover({ button, label, name, buttonClass = "icon-button", align = "end", children, onOpen }) {
  const [open, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const close = () => {
    setOpen(false);
    root.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    onOpen?.();
    /** @param {Event} event */
    const outside = (event) => {
      if (!(event.target instanceof Element) || root.current?.contains(event.target)) return;
      if (!event.target.closest("dialog")) setOpen(false); // a login dialog over the page does not close the panel
    };
    /** @param {KeyboardEvent} event */
    const escape = (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      close();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    document.addEventListener("keydown", escape, true);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      document.removeEventListener("keydown", escape, true);
    };
  }, [open]);
  return html`<div class="popover" ref=${root}>
    <button type="button" class=${buttonClass} aria-expanded=${open} aria-label=${label} title=${label} onClick=${() => setOpen(!open)}>
      ${button}
    </button>
    ${open && html`<div class=${`popover__panel popover__panel--${align}`} role="group" aria-label=${name ?? label}>${children(close)}</div>`}
  </div>`;
}
