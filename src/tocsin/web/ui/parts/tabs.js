// Tabs; the selected one is in the query of the address, so that it can be linked.
import { html, useRef } from "../vendor/preact.js";
import { place, setQuery } from "../lib/router.js";
import { useSignal } from "../lib/store.js";

/** @typedef {{name: string, label: string, count?: number | null, view: () => import("../vendor/preact.js").Child}} Tab */

/** @param {{tabs: Tab[], label: string, param?: string}} props */
export function Tabs({ tabs, label, param = "tab" }) {
  const { query } = useSignal(place);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const chosen = Math.max(0, tabs.findIndex((tab) => tab.name === query[param]));
  /** @param {number} index */
  const choose = (index) => setQuery({ [param]: index ? tabs[index].name : "" });
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step ? (chosen + step + tabs.length) % tabs.length : -1;
    if (next < 0) return;
    event.preventDefault();
    choose(next);
    /** @type {HTMLElement | undefined} */ (list.current?.querySelectorAll("[role=tab]")[next])?.focus();
  };
  return html`<div class="tabs">
    <div class="tabs__list" role="tablist" aria-label=${label} ref=${list} onKeyDown=${onKey}>
      ${tabs.map((tab, index) => html`<button type="button" role="tab" id=${`${param}-${tab.name}`} class="tabs__tab" aria-selected=${index === chosen}
        aria-controls=${`${param}-panel`} tabindex=${index === chosen ? 0 : -1} onClick=${() => choose(index)}>${tab.label}
        ${tab.count != null && html`<span class="badge">${tab.count}</span>`}</button>`)}
    </div>
    <div role="tabpanel" id=${`${param}-panel`} class="tabs__panel" aria-labelledby=${`${param}-${tabs[chosen].name}`} key=${tabs[chosen].name}>${tabs[chosen].view()}</div>
  </div>`;
}
