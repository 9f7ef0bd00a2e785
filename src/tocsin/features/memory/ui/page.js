// Memory: searching stored entries, their strength, and removing faded ones.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { bytes, number } from "tocsin/lib/format.js";
import { useKeys } from "tocsin/lib/keys.js";
import { nextPage } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Dialog, confirm } from "tocsin/parts/dialog.js";
import { Form } from "tocsin/parts/form.js";
import { Icon } from "tocsin/parts/icon.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { MEMORY } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").MemoryEntry} Entry */
/** @typedef {{entries: import("tocsin/types/records.js").List<Entry>, stats: import("tocsin/types/records.js").MemoryStats, chosen: Entry | null}} Memory */

const PATH = "/api/memory";

export const page = definePage({
  title: MEMORY.title,
  reloadOn: ["q", "type"],
  /** @returns {Promise<Memory>} */
  load: async ({ params, query, signal }) => {
    const [entries, stats, chosen] = await Promise.all([
      api.get(PATH, asked(query), { signal }),
      api.get("/api/memory/stats", {}, { signal }),
      params.key ? api.get(url`/api/memory/${params.key}`, {}, { signal }) : null,
    ]);
    return { entries, stats, chosen };
  },
  View: Memories,
});

/** @param {Record<string, string>} query */
function asked({ q, type }) {
  return { q: q || undefined, type: type || undefined };
}

/** @param {import("tocsin/lib/page.js").PageProps<Memory>} props */
function Memories({ data, query, change, reload }) {
  const [adding, setAdding] = useState(false);
  useKeys([{ keys: "n", label: MEMORY.add, run: () => setAdding(true) }]);
  const { entries, stats, chosen } = data;
  /** @param {Entry} entry */
  const remove = async (entry) => {
    await api.remove(url`/api/memory/${entry.key}`);
    await reload();
    toast.undo(MEMORY.removed(entry.key), async () => {
      await api.post(url`/api/memory/${entry.key}/restore`);
      await reload();
    });
  };
  /** @param {Record<string, any>} record */
  const save = async (record) => {
    await api.post(PATH, { ...record, importance: Number(record.importance) });
    setAdding(false);
    if (chosen) go("#/memory");
    await reload();
  };
  const close = () => (chosen ? go("#/memory") : setAdding(false));
  const decay = async () => {
    const plan = await api.post("/api/memory/decay", { dry_run: true });
    if (!plan.removed) return toast.info(MEMORY.decayNone);
    const text = html`<p>${MEMORY.decayText(plan.evaluated, plan.removed)}</p><ul class="targets">${plan.removed_keys.slice(0, 20).map((/** @type {string} */ key) => html`<li><code>${key}</code></li>`)}</ul>`;
    if (!(await confirm({ title: MEMORY.decayTitle, text, action: MEMORY.decayDo, danger: true }))) return undefined;
    const done = await api.post("/api/memory/decay", { dry_run: false });
    await reload();
    return toast.ok(MEMORY.decayed(done.removed));
  };
  const add = html`<button type="button" class="button button--primary" onClick=${() => setAdding(true)}><${Icon} name="plus" />${MEMORY.add}</button>`;
  const empty = html`<${Empty} icon="memory" text=${MEMORY.empty} action=${add} command=${MEMORY.command} />`;
  const more = nextPage(entries, (turn) => change((now) => ({ ...now, entries: turn(now.entries) })), PATH, asked(query));
  return html`<${PageHead} title=${MEMORY.title} note=${MEMORY.note} actions=${html`<${ActionButton} run=${decay}>${MEMORY.decay}<//>${add}`} />
    <${Toolbar}><${FilterBox} value=${query.q} label=${MEMORY.search} />
      <${Choice} name="type" label=${MEMORY.type} value=${query.type} options=${[["", MEMORY.all], ...Object.entries(MEMORY.types)]} /><//>
    <${Table} label=${MEMORY.title} rows=${entries.items} columns=${columns(remove)} rowKey=${(/** @type {Entry} */ entry) => entry.key} total=${entries.total}
      href=${(/** @type {Entry} */ entry) => link("memory", entry.key)} empty=${query.q || query.type ? undefined : empty} more=${more} />
    <dl class="facts panel facts--panel">
      <div><dt>${MEMORY.stats}</dt><dd>${number(stats.count)}</dd></div>
      <div><dt>${MEMORY.fading}</dt><dd>${number(stats.fading)}</dd></div>
      <div><dt>${MEMORY.pin}</dt><dd>${number(stats.pinned)}</dd></div>
      <div><dt>${MEMORY.size}</dt><dd>${bytes(stats.bytes)}</dd></div>
    </dl>
    ${(adding || chosen) && html`<${Dialog} title=${chosen?.key ?? MEMORY.add} close=${close}>
      <${Form} fields=${chosen ? FIELDS.slice(1) : FIELDS} values=${valuesOf(chosen)} submitLabel=${MEMORY.save} cancel=${close}
        submit=${(/** @type {Record<string, any>} */ record) => save(chosen ? { key: chosen.key, ...record } : record)} /><//>`}`;
}

/** @param {Entry | null} entry */
function valuesOf(entry) {
  const { key = "", value = "", type = "note", tags = [], importance = 0.5, pinned = false } = entry ?? {};
  return { key, value, type, tags, importance, pinned };
}

/** @type {import("tocsin/parts/field.js").FieldSpec[]} */
const FIELDS = [
  { name: "key", label: MEMORY.key, required: true, focus: true, hint: MEMORY.keyHint, placeholder: "oncall.phone" },
  { name: "value", label: MEMORY.value, type: "area", required: true },
  { name: "type", label: MEMORY.type, type: "select", required: true, options: Object.entries(MEMORY.types) },
  { name: "tags", label: MEMORY.tags, type: "list", hint: MEMORY.tagsHint },
  { name: "importance", label: MEMORY.importance, type: "number", min: 0, max: 1, step: 0.1, hint: MEMORY.importanceHint },
  { name: "pinned", label: MEMORY.pin, type: "check" },
];

/**
 * @param {(entry: Entry) => Promise<void>} remove
 * @returns {import("tocsin/parts/table.js").Column<Entry>[]}
 */
function columns(remove) {
  return [
    { name: "key", title: MEMORY.key, primary: true, value: (entry) => entry.key, cell: (entry) => html`<code>${entry.key}</code>` },
    { name: "value", title: MEMORY.value, value: (entry) => entry.value, cell: (entry) => html`<span class="delivery__text" dir="auto">${entry.value}</span>` },
    { name: "type", title: MEMORY.type, card: "short", value: (entry) => MEMORY.types[entry.type] ?? entry.type },
    { name: "scope", title: MEMORY.scope, value: (entry) => entry.scope, hideSmall: true },
    { name: "strength", title: MEMORY.strength, card: "short", value: (entry) => entry.strength, cell: (entry) => html`<${Strength} entry=${entry} />` },
    { name: "updated", title: MEMORY.updated, card: "short", value: (entry) => entry.updated_at, cell: (entry) => html`<${Time} at=${entry.updated_at} />` },
    { name: "do", title: "", sort: false, bare: "icons", cell: (entry) => html`<${ActionButton} icon="trash" label=${`${MEMORY.remove}: ${entry.key}`} run=${() => remove(entry)} />` },
  ];
}

/** @param {{entry: Entry}} props */
function Strength({ entry }) {
  const percent = Math.round(entry.strength * 100);
  const state = entry.strength >= 0.5 ? "ok" : entry.strength >= 0.05 ? "warning" : "expired";
  return html`<span class="age"><progress class=${`age__bar age__bar--${state}`} max="100" value=${percent} aria-hidden="true"></progress>
    <span class="muted">${entry.pinned ? MEMORY.pinned : MEMORY.percent(percent)}</span></span>`;
}
