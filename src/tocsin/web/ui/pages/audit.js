// The audit log: its newest entries, search, export, and verification of the chain.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { api, call } from "../lib/api.js";
import { useKeys } from "../lib/keys.js";
import { featureEvents, MANIFEST } from "../lib/manifest.js";
import { definePage } from "../lib/page.js";
import { listen } from "../lib/stream.js";
import { ActionButton } from "../parts/action.js";
import { PageHead } from "../parts/page_head.js";
import { Empty } from "../parts/states.js";
import { Status } from "../parts/status.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { Choice, FilterBox, Toolbar } from "../parts/toolbar.js";
import { AUDIT } from "../strings/audit.js";

/** @typedef {import("../types/records.js").AuditEntry} AuditEntry */
/** @typedef {import("../types/records.js").AuditPage} AuditPage */
/** @typedef {import("../types/records.js").ChainVerification} Verification */

const SOON_MS = 2500;
const SELDOM_MS = 45_000;
const MOST_HEARD = 500;
/** Events that are followed by audit entries. */
const EVENTS = `run.* delivery.* received.* status.changed ${featureEvents("*")}`;
const LIMIT = 100;

export const page = definePage({
  title: AUDIT.title,
  reloadOn: ["q", "action", "source"],
  /** @returns {Promise<AuditPage>} */
  load: ({ query, signal }) => api.get("/api/audit/search", asked(query), { signal }),
  View: Audit,
});

/** @param {Record<string, string>} query */
function asked({ q, action, source }) {
  return { query: q || undefined, action: action ? `${action}.*` : undefined, source: source || undefined, limit: LIMIT };
}

/** @param {import("../lib/page.js").PageProps<AuditPage>} props */
function Audit({ data, query, change, reload }) {
  const [open, setOpen] = useState("");
  const [checked, setChecked] = useState(/** @type {Verification | null} */ (null));
  useFollowed(data, query, change, reload);
  const verify = async () => setChecked(await api.get("/api/audit/verify"));
  useKeys([{ keys: "r", label: AUDIT.verify, run: () => void verify().catch(toast.problem) }]);
  const more = data.next_cursor
    ? async () => {
        const next = await api.get("/api/audit/search", { ...asked(query), cursor: data.next_cursor ?? undefined });
        change((now) => ({ ...next, items: [...now.items, ...next.items] }));
      }
    : undefined;
  const actions = html`<${ActionButton} run=${() => save("text/csv", "audit.csv", query)}>${AUDIT.exportAs} CSV<//>
    <${ActionButton} run=${() => save("application/x-ndjson", "audit.jsonl", query)}>${AUDIT.exportAs} JSON<//>
    <${ActionButton} kind="primary" run=${verify}>${AUDIT.verify}<//>`;
  const empty = html`<${Empty} icon="audit" text=${AUDIT.empty} command=${AUDIT.command} />`;
  return html`<${PageHead} title=${AUDIT.title} note=${AUDIT.note} actions=${actions} />
    ${checked && html`<${Outcome} found=${checked} />`}
    <${Toolbar}>
      <${FilterBox} value=${query.q} label=${AUDIT.search} />
      <${Choice} name="action" label=${AUDIT.action} value=${query.action} options=${choices(MANIFEST.audit.families)} />
      <${Choice} name="source" label=${AUDIT.source} value=${query.source} options=${choices(MANIFEST.audit.sources)} />
    <//>
    <${Table} label=${AUDIT.title} rows=${data.items} columns=${columns(open, setOpen)} rowKey=${(/** @type {AuditEntry} */ entry) => entry.id}
      brief toggle=${(/** @type {AuditEntry} */ entry) => setOpen(entry.id === open ? "" : entry.id)} empty=${query.q || query.action || query.source ? undefined : empty} more=${more}
      below=${(/** @type {AuditEntry} */ entry) => entry.id === open && html`<${Details} entry=${entry} />`} />`;
}

/**
 * Ask for entries that came since while the newest are shown: soon after the stream reports a change, and else ever
 * more seldom, as not every entry has an event.
 * @param {AuditPage} data
 * @param {Record<string, string>} query
 * @param {(change: (data: AuditPage) => AuditPage) => void} change
 * @param {() => Promise<void>} reload
 */
function useFollowed(data, query, change, reload) {
  const newest = data.items[0]?.id ?? "";
  const filtered = Boolean(query.q || query.action || query.source);
  const heard = useRef(0);
  useEffect(() => {
    if (filtered) return undefined;
    let pause = SOON_MS;
    let due = Infinity;
    let ended = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const next = (/** @type {number} */ ms) => {
      if (ended || Date.now() + ms >= due) return; // consecutive events must not postpone it
      due = Date.now() + ms;
      clearTimeout(timer);
      timer = setTimeout(look, ms);
    };
    const look = async () => {
      due = Infinity;
      const found = document.hidden ? null : await api.get("/api/audit/tail", newest ? { after: newest, limit: LIMIT } : { limit: LIMIT }).catch(() => null);
      if (ended) return;
      pause = Math.min(pause * 2, SELDOM_MS);
      next(pause);
      if (!found?.items.length) return;
      heard.current += found.items.length;
      if (heard.current <= MOST_HEARD) return change((now) => ({ ...now, items: [...found.items, ...now.items] }));
      heard.current = 0; // a page that is open for days must not keep all of them
      void reload();
    };
    next(pause);
    const end = listen(EVENTS, () => next(SOON_MS));
    return () => {
      ended = true;
      clearTimeout(timer);
      end();
    };
  }, [newest, filtered]);
}

/**
 * @param {string} open
 * @param {(id: string) => void} setOpen
 * @returns {import("../parts/table.js").Column<AuditEntry>[]}
 */
function columns(open, setOpen) {
  return [
    { name: "when", title: AUDIT.when, card: "aside", value: (entry) => entry.ts, cell: (entry) => html`<${Time} at=${entry.ts} />` },
    {
      name: "action",
      title: AUDIT.what,
      primary: true,
      value: (entry) => entry.action,
      cell: (entry) => html`<button type="button" class="link-button" aria-expanded=${entry.id === open}
        onClick=${() => setOpen(entry.id === open ? "" : entry.id)}><code>${entry.action}</code></button>`,
    },
    { name: "detail", title: AUDIT.detail, card: "line", value: (entry) => entry.detail, cell: (entry) => html`<span class="audit__detail" dir="auto">${entry.detail}</span>` },
    { name: "actor", title: AUDIT.actor, value: (entry) => entry.actor ?? entry.source, cell: (entry) => html`<span dir="auto">${entry.actor ?? entry.source}</span>` },
    { name: "from", title: AUDIT.from, value: (entry) => entry.ip ?? entry.source, hideSmall: true },
    {
      name: "outcome",
      title: AUDIT.outcome,
      value: (entry) => entry.outcome,
      cell: (entry) => html`<${Status} state=${entry.outcome} label=${AUDIT.outcomes[entry.outcome]} quiet />`,
    },
  ];
}

/** @param {{entry: AuditEntry}} props */
function Details({ entry }) {
  const { metadata, prev_hash, hash, ...fields } = /** @type {Record<string, any>} */ (entry);
  const told = Object.entries({ ...fields, ...metadata, prev_hash, hash }).filter(([, value]) => value !== null && value !== "");
  return html`<dl class="audit__entry" aria-label=${AUDIT.entry(entry.id)}>
    ${told.map(([name, value]) => html`<dt>${name}</dt><dd dir="auto">${typeof value === "object" ? html`<code>${JSON.stringify(value)}</code>` : String(value)}</dd>`)}
  </dl>`;
}

/** @param {{found: Verification}} props */
function Outcome({ found }) {
  if (found.ok) return html`<p class="all-well" role="status"><${Status} state="ok" />${AUDIT.verified(found.lines, found.files)}</p>`;
  return html`<div class="failure" role="alert"><p class="failure__title"><${Status} state="error" label=${AUDIT.broken} /></p><p>${AUDIT.brokenText}</p>
    <ul>${found.problems.map((one) => html`<li dir="auto">${AUDIT.place(one.file, one.line, one.reason)}</li>`)}</ul></div>`;
}

/** @param {string} media @param {string} name @param {Record<string, string>} query */
async function save(media, name, query) {
  const { data: text } = await call("GET", "/api/audit/search", undefined, { query: { ...asked(query), limit: 1000 }, accept: media });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: media }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** @param {string[]} names @returns {[string, string][]} */
function choices(names) {
  return [["", AUDIT.all], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))];
}
