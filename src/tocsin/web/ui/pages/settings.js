// Settings: values with their sources, integrations, tokens, and this browser.
import { html } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { bytes, duration, number } from "../lib/format.js";
import { pageOfSubsystem } from "../lib/manifest.js";
import { definePage } from "../lib/page.js";
import { go } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { PageHead } from "../parts/page_head.js";
import { Shape, Status } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { Tabs } from "../parts/tabs.js";
import { Choice, FilterBox, Toolbar } from "../parts/toolbar.js";
import { ThisBrowser } from "../pages/settings_look.js";
import { Tokens } from "../pages/settings_tokens.js";
import { Said } from "../parts/said.js";
import { SETTINGS } from "../strings/settings.js";

/** @typedef {import("../types/records.js").Setting} Setting */
/** @typedef {import("../types/records.js").Overview} Overview */
/** @typedef {import("../types/records.js").Integration} Integration */
/** @typedef {{overview: Overview, integrations: Integration[]}} Settings */

export const page = definePage({
  title: SETTINGS.title,
  /** @returns {Promise<Settings>} */
  load: async ({ signal }) => {
    const [overview, connected] = await Promise.all([
      api.get("/api/settings/overview", {}, { signal }),
      api.get("/api/settings/integrations", {}, { signal }),
    ]);
    return { overview, integrations: connected.items };
  },
  View: View,
});

/** @param {import("../lib/page.js").PageProps<Settings>} props */
function View({ data, query, change }) {
  const { overview, integrations } = data;
  const warnings = overview.security.warnings.length;
  const recheck = async () => {
    const found = await api.get("/api/settings/integrations", { refresh: true });
    change((now) => ({ ...now, integrations: found.items }));
  };
  const tabs = [
    { name: "overview", label: SETTINGS.tabs.overview, count: warnings || null, view: () => html`<${OverviewTab} data=${overview} />` },
    { name: "values", label: SETTINGS.tabs.values, view: () => html`<${Values} values=${overview.values} query=${query} />` },
    { name: "integrations", label: SETTINGS.tabs.integrations, view: () => html`<${Integrations} items=${integrations} recheck=${recheck} />` },
    { name: "tokens", label: SETTINGS.tabs.tokens, view: () => html`<${Tokens} />` },
    { name: "look", label: SETTINGS.tabs.look, view: () => html`<${ThisBrowser} />` },
  ];
  return html`<${PageHead} title=${SETTINGS.title} note=${SETTINGS.note} actions=${html`<${ActionButton} run=${showFirstSteps}>${SETTINGS.firstSteps}<//><a class="button" href="/docs/">${SETTINGS.docs}</a><a class="button" href="/docs/api.html">${SETTINGS.api}</a>
      <a class="button" href=${`${overview.base_url}/docs/api.html`}>${SETTINGS.gatewayApi}</a>`} /><${Tabs} tabs=${tabs} label=${SETTINGS.title} />`;
}

async function showFirstSteps() {
  await api.post("/api/settings/first-steps", { dismissed: false });
  go("#/home");
}

/** @param {{data: Overview}} props */
function OverviewTab({ data }) {
  const { security, limits, storage } = data;
  const told = /** @type {Record<string, any>} */ (data);
  return html`<section aria-labelledby="warnings"><h2 id="warnings" class="visually-hidden">${SETTINGS.warnings}</h2>
      ${security.warnings.length
        ? html`<ul class="attention">${security.warnings.map(({ message, fix }) => html`<li class="attention__item attention__item--warn settings__warning"><${Shape} tone="warn" size=${16} />
            <span dir="auto">${message}</span>${fix && html`<span class="muted" dir="auto">${fix}</span>`}</li>`)}</ul>`
        : html`<p class="all-well"><${Shape} tone="ok" size=${16} />${SETTINGS.noWarnings}</p>`}</section>
    <dl class="facts panel facts--panel">
      ${Object.entries(SETTINGS.facts).map(([name, word]) => html`<div><dt>${word}</dt><dd dir="auto"><span class=${String(told[name]).length > 18 ? "wraps" : ""}>${String(told[name])}</span></dd></div>`)}
      <div><dt>${SETTINGS.uptime}</dt><dd>${duration(data.uptime_seconds * 1000)}</dd></div>
      <div><dt>${SETTINGS.https}</dt><dd>${security.force_https ? SETTINGS.enforced : SETTINGS.notEnforced}</dd></div>
      <div><dt>${SETTINGS.signatures}</dt><dd>${security.webhook_require_signature ? SETTINGS.checked : SETTINGS.unchecked}</dd></div>
    </dl>
    <div class="columns">
      <section class="panel"><div class="panel__head"><h2>${SETTINGS.limits}</h2></div>
        <dl class="pairs">${Object.entries(limits).map(([name, value]) => html`<dt>${SETTINGS.limitNames[name] ?? name}</dt><dd>${name.endsWith("_bytes") ? bytes(value) : number(value)}</dd>`)}</dl></section>
      <section class="panel"><div class="panel__head"><h2>${SETTINGS.storage}</h2><span class="muted">${bytes(storage.bytes)}</span></div>
        <dl class="pairs">${Object.entries(storage.by_area).map(([name, size]) => html`<dt>${name}</dt><dd>${bytes(size)}</dd>`)}</dl></section>
    </div>`;
}

/** @param {{values: Setting[], query: Record<string, string>}} props */
function Values({ values, query }) {
  const rows = query.set ? values.filter((setting) => setting.source !== "default") : values;
  return html`<${Toolbar}><${FilterBox} value=${query.q} />
      <${Choice} name="set" label=${SETTINGS.onlySet} value=${query.set} options=${[["", SETTINGS.allValues], ["yes", SETTINGS.setValues]]} /><//>
    <${Table} label=${SETTINGS.tabs.values} rows=${rows} columns=${VALUES} rowKey=${(/** @type {Setting} */ setting) => setting.key} filter=${query.q} />`;
}

/** @type {import("../parts/table.js").Column<Setting>[]} */
const VALUES = [
  { name: "key", title: SETTINGS.key, primary: true, value: (setting) => setting.key, cell: (setting) => html`<code>${setting.key}</code>` },
  { name: "value", title: SETTINGS.value, value: (setting) => setting.value, cell: (setting) => (setting.value ? html`<code class="wraps">${setting.value}</code>` : "–") },
  { name: "source", title: SETTINGS.source, value: (setting) => SETTINGS.sources[setting.source] ?? setting.source },
  { name: "about", title: SETTINGS.about, value: (setting) => setting.description, cell: (setting) => html`<span class="muted"><${Said} text=${setting.description} /></span>`, hideSmall: true },
];

/** @param {{items: Integration[], recheck: () => Promise<void>}} props */
function Integrations({ items, recheck }) {
  return html`<${Toolbar}><${ActionButton} icon="retry" run=${recheck}>${SETTINGS.recheck}<//><//>
    <${Table} label=${SETTINGS.tabs.integrations} rows=${items} columns=${INTEGRATIONS} rowKey=${(/** @type {Integration} */ one) => one.id} />`;
}

/** @type {import("../parts/table.js").Column<Integration>[]} */
const INTEGRATIONS = [
  { name: "state", title: SETTINGS.state, value: (one) => one.status, cell: (one) => html`<${Status} state=${one.status} title=${one.error ?? undefined} />` },
  { name: "name", title: SETTINGS.name, primary: true, value: (one) => one.name },
  { name: "kind", title: SETTINGS.kind, value: (one) => SETTINGS.kinds[one.kind] ?? pageOfSubsystem(one.kind)?.title ?? one.kind },
  {
    name: "missing",
    title: SETTINGS.missing,
    value: (one) => one.error ?? one.missing.join(", "),
    cell: (one) => html`<span class="muted"><${Said} text=${one.error ?? (one.missing.join(", ") || "–")} /></span>`,
  },
  { name: "latency", title: SETTINGS.latency, value: (one) => one.latency_ms, cell: (one) => (one.latency_ms === null ? "–" : one.latency_ms < 1 ? SETTINGS.atOnce : duration(one.latency_ms)), align: "end" },
];
