// The log of a run: loaded once, then followed by the stream; a missed line is loaded again.
import { useEffect, useMemo } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { createLog } from "../lib/log.js";
import { listen } from "../lib/stream.js";

/** @typedef {import("../lib/log.js").Log} Log */

/** Longer logs are loaded as text, in one response instead of hundreds. */
const MOST_PAGES = 4;
const LINE = /^(\S+) (\S+) (.*)$/s;

/**
 * @param {string} id
 * @param {{lines?: number, failed?: (error: unknown) => void}} [options]  `lines`: how many the run has, where that is known.
 * @returns {Log}
 */
export function useRunLog(id, { lines = 0, failed } = {}) {
  const log = useMemo(() => createLog(), [id]);
  useEffect(() => {
    const stop = new AbortController();
    const report = (/** @type {unknown} */ error) => {
      if (!stop.signal.aborted) failed?.(error);
    };
    let reading = readLog(id, log, lines, stop.signal).catch(report);
    const again = () => {
      reading = reading.then(() => readPages(id, log, stop.signal)).then(() => undefined, report);
    };
    const end = listen("run.log run.updated", ({ type, data }) => {
      if (type === "resync") again();
      else if (type === "run.updated" && data.id === id && data.finished_at) again();
      else if (type === "run.log" && data.run_id === id) {
        const last = log.lines.at(-1)?.n ?? 0;
        if (data.lines.length && data.lines[0].n <= last + 1) log.append(data.lines);
        else again();
      }
    });
    return () => {
      stop.abort();
      end();
    };
  }, [id]);
  return log;
}

/**
 * @param {string} id
 * @param {Log} log
 * @param {number} lines
 * @param {AbortSignal} signal
 */
async function readLog(id, log, lines, signal) {
  if (!(await readPages(id, log, signal, lines > 1000 ? 1 : MOST_PAGES))) await readText(id, log, signal);
}

/**
 * @param {string} id
 * @param {Log} log
 * @param {AbortSignal} signal
 * @param {number} [most]
 * @returns {Promise<boolean>}  Whether all lines that there are were read.
 */
async function readPages(id, log, signal, most = MOST_PAGES) {
  for (let count = 0; count < most; count += 1) {
    const from = (log.lines.at(-1)?.n ?? 0) + 1;
    const page = (await api.get(url`/api/runs/${id}`, { log: "all", from_line: from, ansi: true }, { signal })).log;
    log.append(page.lines);
    log.end(page.complete);
    if (page.complete || page.lines.length < 1000) return true;
  }
  return false;
}

/**
 * @param {string} id
 * @param {Log} log
 * @param {AbortSignal} signal
 */
async function readText(id, log, signal) {
  const text = await api.get(url`/api/runs/${id}`, { ansi: true }, { signal, accept: "text/plain", timeout: 120_000 });
  const rows = /** @type {string} */ (text).split("\n");
  if (rows.at(-1) === "") rows.pop();
  const parts = rows.map((row) => LINE.exec(row) ?? [row, "", "", row]);
  // If lines were dropped, a line of Tocsin's own reports it: the numbers after it are counted from the end.
  const status = await api.get(url`/api/runs/${id}`, {}, { signal });
  const total = Math.max(status.output.lines, rows.length);
  const gap = parts.findIndex((part) => part[2] === "system");
  const dropped = gap < 0 ? 0 : total - rows.length;
  log.append(parts.map(([, ts, stream, line], index) => ({ n: index + 1 + (gap >= 0 && index >= gap ? dropped : 0), ts, stream, text: line })));
  log.end(status.finished_at !== null);
}
