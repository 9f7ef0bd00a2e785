// One watcher: its rule, and the newest changes that it detected.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { link } from "tocsin/lib/router.js";
import { PageHead, fact } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Shape, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { WATCHERS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").WatcherRule} Rule */
/** @typedef {import("tocsin/types/records.js").WatcherEvent} Seen */

export const page = definePage({
  title: ({ params }) => params.name,
  /** @returns {Promise<Rule>} */
  load: ({ params, signal }) => api.get(url`/api/watchers/rules/${params.name}`, {}, { signal }),
  View: One,
  events: "run.updated status.changed",
});

/** @param {import("tocsin/lib/page.js").PageProps<Rule>} props */
function One({ data }) {
  const recent = data.recent ?? [];
  const back = { href: "#/watchers", label: WATCHERS.back };
  const empty = html`<${Empty} icon="watchers" text=${WATCHERS.recentNone} />`;
  return html`<${PageHead} title=${data.name} note=${html`<${Status} state=${data.state} />`} back=${back} />
    ${data.error && html`<p class="delivery__error" role="alert"><${Shape} tone="bad" /> <span dir="auto">${data.error}</span></p>`}
    <dl class="facts panel facts--panel">
      ${fact(WATCHERS.path, html`<code class="wraps">${data.path}</code>`)}
      ${fact(WATCHERS.recursive, data.recursive ? WATCHERS.yes : WATCHERS.no)}
      ${fact(WATCHERS.patterns, data.patterns.join(", ") || WATCHERS.allFiles)}
      ${data.exclude_patterns.length > 0 && fact(WATCHERS.excluded, data.exclude_patterns.join(", "))}
      ${fact(WATCHERS.events, data.events.map((type) => WATCHERS.types[type] ?? type).join(", "))}
      ${fact(WATCHERS.action, html`${data.action} <code class="wraps">${data.command}</code>`)}
      ${fact(WATCHERS.debounce, duration(data.debounce_ms))}
      ${data.cooldown_seconds > 0 && fact(WATCHERS.cooldown, duration(data.cooldown_seconds * 1000))}
      ${data.output && fact(WATCHERS.output, data.output)}
      ${fact(WATCHERS.backend, WATCHERS.backends[data.backend ?? ""] ?? "–")}
    </dl>
    <section class="stack" aria-labelledby="recent"><h2 id="recent">${WATCHERS.recent}</h2>
      <${Table} label=${WATCHERS.recent} rows=${recent} columns=${COLUMNS} rowKey=${(/** @type {Seen} */ seen) => `${seen.at} ${seen.path} ${seen.type}`} empty=${empty} /></section>`;
}

/** @type {import("tocsin/parts/table.js").Column<Seen>[]} */
const COLUMNS = [
  { name: "when", title: WATCHERS.when, value: (seen) => seen.at, cell: (seen) => html`<${Time} at=${seen.at} />` },
  { name: "what", title: WATCHERS.what, value: (seen) => WATCHERS.types[seen.type] ?? seen.type },
  { name: "file", title: WATCHERS.file, primary: true, value: (seen) => seen.path, cell: (seen) => html`<code class="wraps">${seen.path}</code>` },
  { name: "run", title: WATCHERS.run, value: (seen) => seen.run_id, cell: (seen) => (seen.run_id ? html`<a href=${link("runs", seen.run_id)}>${WATCHERS.showRun}</a>` : "–") },
];
