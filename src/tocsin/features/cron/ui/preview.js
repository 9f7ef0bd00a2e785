// The meaning of a schedule while it is typed: in words, and the next five times.
import { html } from "tocsin/vendor/preact.js";
import { api, ApiProblem } from "tocsin/lib/api.js";
import { absolute } from "tocsin/lib/format.js";
import { signal, useSignal } from "tocsin/lib/store.js";
import { Shape } from "tocsin/parts/status.js";
import { Time } from "tocsin/parts/time.js";
import { isAtStart } from "./actions.js";
import { EDIT_JOB } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Instant} Instant */
/** @typedef {{words: string, zone: string, next: Instant[], warnings: string[], atStart: boolean}} Told */
/** @typedef {{told?: Told, wrong?: string, waiting?: boolean}} Preview */
/** @typedef {{shown: import("tocsin/lib/store.js").Signal<Preview>, ask: (record: Record<string, any>) => void}} Asking */

const PAUSE_MS = 200;
const DRY_RUN = "/api/cron/jobs?dry_run=true";
const UNNAMED = "preview";
/** What the next runs depend on. */
const TIMES = ["schedule", "timezone", "start_at", "end_at", "jitter_seconds"];
const SCHEDULES = ["every 15m", "*/5 * * * *", "@hourly", "@daily", "0 9 * * 1-5", "30 2 * * *", "0 8 1 * *", "@weekly", "@monthly", "at start"];

/**
 * @param {boolean} stored  The job is there already: that its name is taken says nothing.
 * @returns {Asking}
 */
export function previewOf(stored) {
  const shown = signal(/** @type {Preview} */ ({}));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let stop = new AbortController();
  /** @param {Record<string, any>} record */
  const read = async (record) => {
    stop.abort();
    const mine = (stop = new AbortController());
    const whole = Boolean(!stored && record.name && record.command);
    try {
      const answer = await tryOut({ ...record, name: stored || !record.name ? UNNAMED : record.name, command: record.command || "…" }, mine.signal);
      const warnings = whole ? answer.warnings : [];
      shown.set({ told: { words: answer.schedule_text, zone: answer.timezone, next: answer.next_runs, warnings, atStart: isAtStart(record.schedule) } });
    } catch (error) {
      if (mine.signal.aborted) return;
      const fields = error instanceof ApiProblem ? error.fields : {};
      const wrong = TIMES.map((name) => fields[name]).find(Boolean);
      shown.set({ wrong: wrong ?? (error instanceof ApiProblem && Object.keys(fields).length ? "" : String(error instanceof Error ? error.message : error)) });
    }
  };
  return {
    shown,
    ask(record) {
      clearTimeout(timer);
      if (record.schedule) timer = setTimeout(read, PAUSE_MS, record);
      else shown.set({});
    },
  };
}

/**
 * Return the job that would be stored. Errors of fields other than the times are shown when the form is submitted: here the times are tried alone then.
 * @param {Record<string, any>} record
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
async function tryOut(record, signal) {
  try {
    return await api.post(DRY_RUN, record, { signal });
  } catch (error) {
    const wrong = error instanceof ApiProblem ? Object.keys(error.fields) : [];
    if (!wrong.length || wrong.some((name) => TIMES.includes(name))) throw error;
    const times = Object.fromEntries(TIMES.filter((name) => name in record).map((name) => [name, record[name]]));
    return { ...(await api.post(DRY_RUN, { ...times, name: UNNAMED, command: "…" }, { signal })), warnings: [] };
  }
}

/** @param {{asking: Asking, told: boolean}} props  `told`: the field says already what is wrong. */
export function SchedulePreview({ asking, told: known }) {
  const { told, wrong } = useSignal(asking.shown);
  return html`<div class="preview" id="field-preview" role="status" tabindex="-1">
    ${wrong && !known && html`<p class="field__problem"><${Shape} tone="bad" />${wrong}</p>`}
    ${told ? html`<p><strong>${told.words}</strong></p>
        ${told.next.length ? html`<ol class="preview__list">${told.next.map(({ at, note }) => html`<li key=${at}><span class="numbers">${absolute(at, told.zone)}</span>
          <span class="muted"><${Time} at=${at} /></span>${note && html`<span class="preview__note"><${Shape} tone="warn" />${note}</span>`}</li>`)}</ol>` : !told.atStart && html`<p class="muted">${EDIT_JOB.previewOver}</p>`}
        ${told.warnings.map((warning) => html`<p class="preview__note" dir="auto"><${Shape} tone="warn" />${warning}</p>`)}`
      : (!wrong || known) && html`<p class="muted">${wrong ? EDIT_JOB.previewWrong : EDIT_JOB.previewNone}</p>`}
  </div>`;
}

/** @param {import("tocsin/parts/field.js").ControlProps} control @param {Asking} preview */
export function drawSchedule({ id, value, set, aria }, preview) {
  return html`<input id=${id} class="input input--mono" list=${`${id}-list`} placeholder="0 9 * * 1-5" value=${value ?? ""} autocomplete="off" spellcheck=${false} ...${aria}
      onInput=${(/** @type {any} */ event) => set(event.currentTarget.value)} />
    <datalist id=${`${id}-list`}>${SCHEDULES.map((one) => html`<option value=${one}></option>`)}</datalist>
    <${SchedulePreview} asking=${preview} told=${Boolean(aria["aria-invalid"])} />`;
}
