// The form of a cron job, which explains the typed schedule in words and times.
import { html, useMemo } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { profileNames } from "tocsin/lib/channels.js";
import { browserZone, zones } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { go, link } from "tocsin/lib/router.js";
import { Form } from "tocsin/parts/form.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { toast } from "tocsin/parts/toast.js";
import { drawSchedule, previewOf } from "./preview.js";
import { CRON, EDIT_JOB } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").CronJob} CronJob */
/** @typedef {import("tocsin/parts/field.js").FieldSpec} FieldSpec */
/** @typedef {{job: CronJob | null, copy: boolean, profiles: string[], path: string, version: string}} Data */

const NEW = {
  name: "", description: "", schedule: "", timezone: "", type: "shell", command: "", output: "", output_on: "always", enabled: true,
  working_dir: "", params: {}, env: {}, timeout_seconds: 3600, overlap: "skip", max_queued: 1, max_parallel: 1, catchup: "latest", catchup_window_seconds: 3600,
  jitter_seconds: 0, retry: { max_attempts: 1, delay_seconds: 60, backoff: 2, max_delay_seconds: 3600, on_exit_codes: [] }, success_exit_codes: [0],
  history_limit: 200, history_days: 30, log_max_bytes: 1_048_576, start_at: null, end_at: null, auto_disable_after: 0, tags: [],
};
const MORE = "all_settings"; // a value of the form, not a field of a job

export const page = definePage({
  title: ({ data, params }) => (params.id ? EDIT_JOB.editTitle(data?.job?.name ?? "…") : EDIT_JOB.title),
  reloadOn: ["from"],
  /** @returns {Promise<Data>} */
  load: async ({ params, query, signal }) => {
    const id = params.id ?? query.from;
    const path = id ? url`/api/cron/jobs/${id}` : "";
    const [job, profiles] = await Promise.all([path ? api.get(path, {}, { signal }) : null, profileNames(signal)]);
    return { job, profiles, path, copy: !params.id, version: path ? api.etagOf(path) : "" };
  },
  View: Edit,
});

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Edit({ data }) {
  const { job, copy, path, version } = data;
  const first = useMemo(() => firstValues(job, copy), [job]);
  const preview = useMemo(() => previewOf(!copy), [job]);
  const fields = useMemo(() => fieldsOf(preview, data.profiles), [preview]);
  const back = job && !copy ? { href: link("cron", job.id), label: job.name } : { href: "#/cron", label: CRON.title };
  /** @param {Record<string, any>} record @param {Record<string, any>} changed */
  const submit = async (record, changed) => {
    const stored = copy ? await api.post("/api/cron/jobs", sent(record)) : await api.patch(path, sent(changed), { ifMatch: version });
    toast.ok(EDIT_JOB.created(stored.name));
    go(link("cron", stored.id));
  };
  const title = job && !copy ? EDIT_JOB.editTitle(job.name) : EDIT_JOB.title;
  return html`<${PageHead} title=${title} back=${back} />
    <${Form} label=${title} fields=${fields} values=${first} submit=${submit} submitLabel=${copy ? EDIT_JOB.create : EDIT_JOB.save} cancel=${back.href}
      draft=${`cron.${job?.id ?? "new"}${copy ? ".copy" : ""}`} onChange=${(/** @type {any} */ record) => preview.ask(sent(record))} />`;
}

/** @param {CronJob | null} job @param {boolean} copy */
function firstValues(job, copy) {
  if (!job) return NEW;
  const known = /** @type {Record<string, any>} */ (job);
  const values = Object.fromEntries(Object.entries(NEW).map(([name, usual]) => [name, known[name] ?? usual]));
  return copy ? { ...values, name: "" } : values;
}

/** Convert the form to the fields of the API. @param {Record<string, any>} record */
function sent(record) {
  const { [MORE]: _, ...fields } = record;
  for (const name of ["timezone", "output"]) {
    if (fields[name] === "") fields[name] = null;
  }
  for (const name of ["success_exit_codes"]) {
    if (fields[name]) fields[name] = numbers(fields[name]);
  }
  if (fields.retry?.on_exit_codes) fields.retry = { ...fields.retry, on_exit_codes: numbers(fields.retry.on_exit_codes) };
  return fields;
}

/** Keep invalid numbers as typed: the server reports the error. @param {(string | number)[]} list */
function numbers(list) {
  return list.map((one) => (/^\d+$/.test(String(one)) ? Number(one) : one));
}

/**
 * @param {import("./preview.js").Asking} preview
 * @param {string[]} profiles
 * @returns {FieldSpec[]}
 */
function fieldsOf(preview, profiles) {
  const E = EDIT_JOB;
  /** @type {FieldSpec[]} */
  const main = [
    { name: "name", label: E.name, hint: E.nameHint, required: true, focus: true },
    { name: "description", label: E.description },
    { name: "schedule", label: E.schedule, hint: E.scheduleHint, required: true, type: "custom", draw: (control) => drawSchedule(control, preview) },
    { name: "timezone", label: E.timezone, hint: E.timezoneHint, suggestions: zones(), placeholder: browserZone() },
    { name: "type", label: E.type, type: "select", required: true, options: E.types },
    ...E.types.map(([type]) => /** @type {FieldSpec} */ ({ name: "command", label: E.commands[type], type: ["workflow", "skill"].includes(type) ? "text" : type === "shell" ? "code" : "area", required: true, when: (values) => values.type === type })),
    { name: "output", label: E.output, hint: E.outputHint, suggestions: profiles, placeholder: E.outputExample },
    { name: "output_on", label: E.outputOn, type: "select", required: true, options: E.outputWords, when: (values) => Boolean(values.output) },
    { name: "enabled", label: E.enabled, type: "check" },
    { name: MORE, label: E.more, type: "check" },
  ];
  return [...main, ...furtherFields().map((field) => ({ ...field, when: (/** @type {any} */ values) => values[MORE] && (field.when?.(values) ?? true) }))];
}

/** @returns {FieldSpec[]} */
function furtherFields() {
  const E = EDIT_JOB;
  return [
    { name: "params", label: E.params, type: "map" },
    { name: "env", label: E.env, type: "map", hint: E.envHint, when: (values) => values.type === "shell" },
    { name: "working_dir", label: E.working, hint: E.workingHint, when: (values) => values.type === "shell" },
    { name: "timeout_seconds", label: E.timeout, type: "number", min: 0, max: 86_400, hint: E.timeoutHint },
    { name: "overlap", label: E.overlap, type: "select", options: E.overlaps },
    { name: "max_queued", label: E.maxQueued, type: "number", min: 1, when: (values) => values.overlap === "queue" },
    { name: "max_parallel", label: E.maxParallel, type: "number", min: 1, when: (values) => values.overlap === "parallel" },
    { name: "catchup", label: E.catchup, type: "select", options: E.catchups },
    { name: "catchup_window_seconds", label: E.catchupWindow, type: "number", min: 0, when: (values) => values.catchup !== "none" },
    { name: "jitter_seconds", label: E.jitter, type: "number", min: 0, max: 3600 },
    { name: "retry/max_attempts", label: E.tries, type: "number", min: 1, max: 100 },
    { name: "retry/delay_seconds", label: E.delay, type: "number", min: 0, when: (values) => values["retry/max_attempts"] > 1 },
    { name: "retry/backoff", label: E.backoff, type: "number", min: 1, max: 10, when: (values) => values["retry/max_attempts"] > 1 },
    { name: "retry/max_delay_seconds", label: E.maxDelay, type: "number", min: 0, when: (values) => values["retry/max_attempts"] > 1 },
    { name: "retry/on_exit_codes", label: E.retryCodes, type: "list", when: (values) => values["retry/max_attempts"] > 1 },
    { name: "success_exit_codes", label: E.okCodes, type: "list" },
    { name: "auto_disable_after", label: E.autoDisable, type: "number", min: 0, hint: E.autoDisableHint },
    { name: "start_at", label: E.startAt, type: "time" },
    { name: "end_at", label: E.endAt, type: "time" },
    { name: "history_limit", label: E.historyLimit, type: "number", min: 1 },
    { name: "history_days", label: E.historyDays, type: "number", min: 1 },
    { name: "log_max_bytes", label: E.logBytes, type: "number", min: 1 },
    { name: "tags", label: E.tags, type: "list" },
  ];
}
