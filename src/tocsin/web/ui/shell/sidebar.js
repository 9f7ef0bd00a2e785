// The menu: all pages in groups, with what waits behind them; on small screens a bar with four of them.
import { html } from "../vendor/preact.js";
import { place } from "../lib/router.js";
import { remembered, signal, useSignal } from "../lib/store.js";
import { status } from "../lib/stream.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/mark.js";
import { Shape } from "../parts/status.js";
import { AREAS, BOTTOM, routeOf } from "../shell/routes.js";
import { SHELL } from "../strings/shell.js";

/** @typedef {import("../shell/routes.js").Area} Area */

/** Whether the menu shows icons alone. */
export const collapsed = remembered("sidebar", false);
/** Whether the whole menu lies over the page on a small screen. */
const unfolded = signal(false);
place.watch(() => unfolded.set(false));

export function Sidebar() {
  const small = useSignal(collapsed);
  const over = useSignal(unfolded);
  const groups = [...new Set(AREAS.map((area) => area.group))];
  const label = small ? SHELL.expand : SHELL.collapse;
  return html`<aside class=${`sidebar${over ? " sidebar--over" : ""}`} aria-label=${SHELL.product}>
    <a class="brand" href="#/home"><${Mark} /><span>${SHELL.product}</span></a>
    <nav aria-label=${SHELL.navigation}>
      ${groups.map((group) => html`<${Group} name=${group} />`)}
    </nav>
    <button type="button" class="nav-link sidebar__collapse" aria-label=${label} aria-expanded=${!small} title=${label}
      onClick=${() => collapsed.set(!small)}><${Icon} name=${small ? "expand" : "collapse"} /><span>${SHELL.collapse}</span></button>
  </aside>`;
}

/** @param {{name: Area["group"]}} props */
function Group({ name }) {
  return html`<div class="nav-group">
    <h2>${SHELL.groups[name]}</h2>
    <ul>${AREAS.filter((area) => area.group === name).map((area) => html`<li key=${area.name}><${Entry} area=${area} /></li>`)}</ul>
  </div>`;
}

/** @param {{area: Area}} props */
function Entry({ area }) {
  const here = routeOf(useSignal(place).path)?.route.area === area.name;
  const known = useSignal(status);
  const word = wordFor(area);
  return html`<a class="nav-link" href=${`#/${area.name}`} aria-current=${here ? "page" : undefined} title=${word} onClick=${() => unfolded.set(false)}>
    <${Icon} name=${area.name} /><span>${word}</span><${Badge} area=${area} known=${known} />
  </a>`;
}

/** @param {{area: Area, known: any}} props */
function Badge({ area, known }) {
  if (!known) return null;
  const counts = { home: known.attention?.length, notifications: known.unread_notifications, runs: known.runs?.active };
  const amount = counts[/** @type {keyof typeof counts} */ (area.name)];
  if (amount) return html`<span class="badge">${amount > 99 ? "99+" : amount}</span>`;
  const state = area.subsystem && known.subsystems?.[area.subsystem]?.status;
  const tone = state === "error" ? "bad" : state === "degraded" ? "warn" : "";
  return tone && html`<span class="nav-link__state"><${Shape} tone=${tone} /><span class="visually-hidden">${SHELL.toneNames[tone]}</span></span>`;
}

export function BottomBar() {
  const here = routeOf(useSignal(place).path)?.route.area;
  const over = useSignal(unfolded);
  const areas = BOTTOM.map((name) => AREAS.find((area) => area.name === name)).filter((area) => area !== undefined);
  return html`<nav class="bottom-bar" aria-label=${SHELL.often}>
    ${areas.map((area) => html`<a href=${`#/${area.name}`} aria-current=${here === area.name ? "page" : undefined}>
      <${Icon} name=${area.name} size=${22} />${wordFor(area)}</a>`)}
    <button type="button" aria-expanded=${over} aria-current=${here && !BOTTOM.includes(here) ? "true" : undefined} onClick=${() => unfolded.set(!over)}><${Icon} name="more" size=${22} />${SHELL.more}</button>
  </nav>`;
}

/** @param {Area} area */
function wordFor(area) {
  return SHELL.pages[/** @type {keyof typeof SHELL.pages} */ (area.name)];
}
