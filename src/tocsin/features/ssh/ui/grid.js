// The live output of each host of a run.
import { html, useEffect, useRef, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { plainText } from "tocsin/lib/log.js";
import { link } from "tocsin/lib/router.js";
import { useRunLog } from "tocsin/lib/run_log.js";
import { useSignal } from "tocsin/lib/store.js";
import { follow } from "tocsin/lib/stream.js";
import { ActionButton } from "tocsin/parts/action.js";
import { Icon } from "tocsin/parts/icon.js";
import { Failure, Loading } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { toast } from "tocsin/parts/toast.js";
import { SSH_GRID } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {import("tocsin/types/records.js").HostResult} HostResult */
/** @typedef {{text: string, error: boolean}} Printed */

const LINES = 200;
const STEP = 48;
const PAUSE_MS = 150;
const FINE = ["succeeded", "queued", "running"];

/** @param {{id: string, again: (hosts: string[]) => void, close: () => void}} props */
export function HostGrid({ id, again, close }) {
  const { run, error } = useRun(id);
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [shown, setShown] = useState(STEP);
  const printed = usePrinted(id);
  if (error) return html`<${Failure} error=${error} compact />`;
  if (!run) return html`<${Loading} lines=${3} />`;
  const hosts = run.hosts ?? [];
  const failed = hosts.filter(({ status }) => !FINE.includes(status));
  const rows = onlyFailed ? failed : hosts;
  return html`<section class="hostgrid" aria-label=${SSH_GRID.label}>
    <div class="hostgrid__head"><${Status} state=${run.status} /><strong class="hostgrid__what" dir="auto">${run.subject_name}</strong><span class="muted numbers">${duration(run.duration_ms)}</span>
      ${failed.length > 0 && html`<label class="check"><input type="checkbox" checked=${onlyFailed} onChange=${(/** @type {any} */ event) => setOnlyFailed(event.currentTarget.checked)} /> ${SSH_GRID.failed} (${failed.length})</label>
        ${run.finished_at && html`<button type="button" class="button button--small" onClick=${() => again(failed.map(({ host }) => host))}>${SSH_GRID.again}</button>`}`}
      ${!run.finished_at && html`<${ActionButton} small run=${() => api.post(url`/api/runs/${id}/cancel`)}>${SSH_GRID.cancel}<//>`}
      <a href=${link("runs", id)}>${SSH_GRID.whole}</a>
      <button type="button" class="icon-button" aria-label=${SSH_GRID.close} onClick=${close}><${Icon} name="close" /></button></div>
    ${run.reason && html`<p class="visually-hidden" role="status">${run.reason}</p>`}
    ${onlyFailed && !failed.length && html`<p class="muted">${SSH_GRID.noFailures}</p>`}
    <ul class="hostgrid__cells">${rows.slice(0, shown).map((one) => html`<${Cell} key=${one.host} result=${one} lines=${printed.get(one.host)} />`)}</ul>
    ${rows.length > shown && html`<button type="button" class="button" onClick=${() => setShown(shown + STEP)}>${SSH_GRID.more(Math.min(STEP, rows.length - shown))}</button>`}
  </section>`;
}

/** @param {{result: HostResult, lines?: Printed[]}} props */
function Cell({ result, lines = [] }) {
  const last = lines.slice(-LINES);
  const hidden = lines.length - last.length;
  const open = ["queued", "running"].includes(result.status);
  const field = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  useEffect(() => {
    if (field.current && atEnd.current) field.current.scrollTop = field.current.scrollHeight;
  }, [lines.length]);
  const onScroll = (/** @type {any} */ { currentTarget: seen }) => void (atEnd.current = seen.scrollHeight - seen.scrollTop - seen.clientHeight < 24);
  return html`<li class=${`panel hostcell hostcell--${result.status}`}>
    <div class="hostcell__head"><a href=${link("ssh", result.host)} dir="auto">${result.host}</a><${Status} state=${result.status} quiet />
      <span class="muted numbers">${result.exit_code ? `${SSH_GRID.exit(result.exit_code)} · ` : ""}${result.duration_ms === null ? "" : duration(result.duration_ms)}</span></div>
    ${result.error && html`<p class="hostcell__error" dir="auto">${result.error}</p>`}
    ${last.length > 0 ? html`<pre ref=${field} class="hostcell__text" tabindex="0" aria-label=${result.host} onScroll=${onScroll}>${hidden > 0 && html`<span class="muted">${SSH_GRID.earlier(hidden)}\n</span>`}${last.map(({ text, error }) =>
        error ? html`<span class="hostcell__stderr">${text}\n</span>` : `${text}\n`)}</pre>`
      : !result.error && html`<p class="muted hostcell__none">${open ? SSH_GRID.none : SSH_GRID.silent}</p>`}</li>`;
}

/** The record of a run with its hosts, loaded again when the stream reports a change. @param {string} id */
function useRun(id) {
  const [run, setRun] = useState(/** @type {Run | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    const read = () => api.get(url`/api/runs/${id}`, {}, { signal: stop.signal }).then(setRun);
    const again = () => read().catch((problem) => stop.signal.aborted || toast.problem(problem));
    const end = follow("run.updated", ({ data }) => data.id === id, again, PAUSE_MS);
    read().catch((problem) => stop.signal.aborted || setError(problem));
    return () => {
      stop.abort();
      end();
    };
  }, [id]);
  return { run, error };
}

/** The lines of the log by host. @param {string} id */
function usePrinted(id) {
  const log = useRunLog(id, { failed: (error) => toast.problem(error) });
  useSignal(log.version);
  const sorted = useRef({ count: 0, hosts: /** @type {Map<string, Printed[]>} */ (new Map()) });
  for (const line of log.lines.slice(sorted.current.count)) {
    const at = line.stream.lastIndexOf("/");
    const [host, stream] = [line.stream.slice(0, at), line.stream.slice(at + 1)];
    if (at < 0 || stream === "system") continue; // the result of the host shows the same
    const known = sorted.current.hosts.get(host) ?? [];
    known.push({ text: plainText(line.text), error: stream === "stderr" });
    sorted.current.hosts.set(host, known);
  }
  sorted.current.count = log.lines.length;
  return sorted.current.hosts;
}
