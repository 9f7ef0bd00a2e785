// The form of a heartbeat: a new one, or the fields of one that is there.
import { html, useMemo } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { profileNames } from "tocsin/lib/channels.js";
import { browserZone, zones } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { Form } from "tocsin/parts/form.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { toast } from "tocsin/parts/toast.js";
import { EDIT_HEARTBEAT, HEARTBEATS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Heartbeat} Heartbeat */
/** @typedef {import("tocsin/parts/field.js").FieldSpec} FieldSpec */
/** @typedef {{heartbeat: Heartbeat | null, profiles: string[], version: string}} Data */

const BY = "expected_by"; // a value of the form, not a field of a heartbeat
const DURATIONS = ["period", "grace", "max_run"];
const UNITS = /** @type {[string, number][]} */ ([["d", 86_400], ["h", 3_600], ["m", 60], ["s", 1]]);
const FIELDS = ["name", "description", "period", "schedule", "timezone", "grace", "max_run", "misses", "severity", "notify", "after_downtime", "tags"];
const NEW = { name: "", description: "", [BY]: "period", period: "", schedule: "", timezone: "", grace: "", max_run: "", misses: 1, severity: "critical", notify: "", after_downtime: "unknown", tags: [] };

export const page = definePage({
  title: ({ params }) => (params.id ? EDIT_HEARTBEAT.editTitle(params.id) : EDIT_HEARTBEAT.title),
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const path = params.id ? url`/api/heartbeats/${params.id}` : "";
    const [heartbeat, profiles] = await Promise.all([path ? api.get(path, {}, { signal }) : null, profileNames(signal)]);
    return { heartbeat, profiles, version: path ? api.etagOf(path) : "" };
  },
  View: Edit,
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Edit({ data: { heartbeat, profiles, version } }) {
  const first = useMemo(() => firstValues(heartbeat), [heartbeat]);
  const fields = useMemo(() => fieldsOf(profiles), [profiles]);
  const back = heartbeat ? { href: link("heartbeats", heartbeat.name), label: heartbeat.name } : { href: "#/heartbeats", label: HEARTBEATS.back };
  /** @param {Record<string, any>} record */
  const submit = async (record) => {
    const body = sent(record);
    const stored = heartbeat
      ? await api.patch(url`/api/heartbeats/${heartbeat.id}`, body, { ifMatch: version })
      : await api.post("/api/heartbeats", Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)));
    toast.ok(EDIT_HEARTBEAT.stored(stored.name));
    go(link("heartbeats", stored.name));
  };
  const title = heartbeat ? EDIT_HEARTBEAT.editTitle(heartbeat.name) : EDIT_HEARTBEAT.title;
  return html`<${PageHead} title=${title} back=${back} />
    <${Form} label=${title} fields=${fields} values=${first} submit=${submit} submitLabel=${heartbeat ? EDIT_HEARTBEAT.save : EDIT_HEARTBEAT.create}
      cancel=${back.href} draft=${`heartbeat.${heartbeat?.id ?? "new"}`} />`;
}

/** @param {Heartbeat | null} heartbeat */
function firstValues(heartbeat) {
  if (!heartbeat) return NEW;
  const known = /** @type {Record<string, any>} */ (heartbeat);
  const values = FIELDS.map((name) => [name, (DURATIONS.includes(name) ? written(known[name]) : known[name]) ?? ""]);
  return { ...Object.fromEntries(values), [BY]: heartbeat.schedule ? "schedule" : "period" };
}

/** Seconds as people write them: `1h30m`. @param {number | null | undefined} seconds */
function written(seconds) {
  let left = seconds ?? 0;
  const parts = UNITS.map(([unit, size]) => {
    const count = unit === "s" ? left : Math.floor(left / size);
    left -= count * size;
    return count ? `${count}${unit}` : "";
  });
  return parts.join("");
}

/** The fields as the API takes them; null selects the default. @param {Record<string, any>} record */
function sent({ [BY]: by, ...record }) {
  const unused = by === "schedule" ? ["period"] : ["schedule", "timezone"];
  const fields = { ...record, ...Object.fromEntries(unused.map((name) => [name, null])) };
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value === "" ? null : value]));
}

/** @param {string[]} profiles @returns {FieldSpec[]} */
function fieldsOf(profiles) {
  const E = EDIT_HEARTBEAT;
  const isCron = (/** @type {Record<string, any>} */ values) => values[BY] === "schedule";
  return [
    { name: "name", label: E.name, hint: E.nameHint, required: true, focus: true, placeholder: "nightly-backup" },
    { name: "description", label: E.description },
    { name: BY, label: E.by, type: "select", options: E.kinds },
    { name: "period", label: E.period, hint: E.periodHint, required: true, placeholder: "5m", when: (values) => !isCron(values) },
    { name: "schedule", label: E.schedule, hint: E.scheduleHint, required: true, placeholder: "0 3 * * *", when: isCron },
    { name: "timezone", label: E.timezone, hint: E.timezoneHint, suggestions: zones(), placeholder: browserZone(), when: isCron },
    { name: "grace", label: E.grace, hint: E.graceHint, placeholder: "10m" },
    { name: "notify", label: E.notify, hint: E.notifyHint, suggestions: profiles, placeholder: profiles[0] ?? "slack:#ops" },
    { name: "severity", label: E.severity, type: "select", options: E.severities },
    { name: "misses", label: E.misses, hint: E.missesHint, type: "number", min: 1, max: 10, step: 1 },
    { name: "max_run", label: E.maxRun, hint: E.maxRunHint, placeholder: "1h" },
    { name: "after_downtime", label: E.afterDowntime, type: "select", options: E.afterDowntimes },
    { name: "tags", label: E.tags, type: "list", hint: E.tagsHint, placeholder: "backup, nightly" },
  ];
}
