// The menu: all pages in groups, with their counts; on small screens a bar with four of them.
import { html } from "../vendor/preact.js";
import { MANIFEST } from "../lib/manifest.js";
import { place } from "../lib/router.js";
import { remembered, signal, useSignal } from "../lib/store.js";
import { status } from "../lib/stream.js";
import { Icon } from "../parts/icon.js";
import { Mark } from "../parts/mark.js";
import { Shape } from "../parts/status.js";
import { routeOf } from "../shell/routes.js";
import { SHELL } from "../strings/shell.js";

/** @typedef {import("../lib/manifest.js").PageEntry} PageEntry */

/** Whether the menu shows only icons. */
export const collapsed = remembered("sidebar", false);
/** Whether the whole menu covers the page on a small screen. */
const unfolded = signal(false);
place.watch(() => unfolded.set(false));

export function Sidebar() {
  const small = useSignal(collapsed);
  const over = useSignal(unfolded);
  const groups = [...new Set(MANIFEST.pages.map((page) => page.group))];
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

/** @param {{name: PageEntry["group"]}} props */
function Group({ name }) {
  return html`<div class="nav-group">
    <h2>${SHELL.groups[name]}</h2>
    <ul>${MANIFEST.pages.filter((page) => page.group === name).map((page) => html`<li key=${page.name}><${Entry} page=${page} /></li>`)}</ul>
  </div>`;
}

/** @param {{page: PageEntry}} props */
function Entry({ page }) {
  const here = routeOf(useSignal(place).path)?.route.area === page.name;
  const known = useSignal(status);
  return html`<a class="nav-link" href=${`#/${page.name}`} aria-current=${here ? "page" : undefined} title=${page.title} onClick=${() => unfolded.set(false)}>
    <${Icon} name=${page.name} /><span>${page.title}</span><${Badge} page=${page} known=${known} />
  </a>`;
}

/** @param {{page: PageEntry, known: any}} props */
function Badge({ page, known }) {
  if (!known) return null;
  const counted = page.badge && page.badge.split(".").reduce((part, name) => part?.[name], known);
  const amount = Array.isArray(counted) ? counted.length : counted;
  if (amount) return html`<span class="badge">${amount > 99 ? "99+" : amount}</span>`;
  const state = page.subsystem && known.subsystems?.[page.subsystem]?.status;
  const tone = state === "error" ? "bad" : state === "degraded" ? "warn" : "";
  return tone && html`<span class="nav-link__state"><${Shape} tone=${tone} /><span class="visually-hidden">${SHELL.toneNames[tone]}</span></span>`;
}

export function BottomBar() {
  const here = routeOf(useSignal(place).path)?.route.area;
  const over = useSignal(unfolded);
  const pages = MANIFEST.pages.filter((page) => page.often);
  return html`<nav class="bottom-bar" aria-label=${SHELL.often}>
    ${pages.map(({ name, title }) => html`<a href=${`#/${name}`} aria-current=${here === name ? "page" : undefined}>
      <${Icon} name=${name} size=${22} />${title}</a>`)}
    <button type="button" aria-expanded=${over} aria-current=${here && !pages.some(({ name }) => name === here) ? "true" : undefined} onClick=${() => unfolded.set(!over)}><${Icon} name="more" size=${22} />${SHELL.more}</button>
  </nav>`;
}
