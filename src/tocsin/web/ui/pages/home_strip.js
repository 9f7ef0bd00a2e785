// One day back and one day ahead, by hour: finished runs with their results, and due runs.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { browserZone, clockTime, now } from "../lib/format.js";
import { MANIFEST } from "../lib/manifest.js";
import { toneOf } from "../parts/status.js";
import { HOME } from "../strings/home.js";

const HOUR_MS = 3_600_000;
const SPAN = 24;
const MOST_PAGES = 10;
const PAGE = 200;
const WIDTH = 20;
const HEIGHT = 44;
/** This many runs per hour fill the height unless an hour has more; above that, bars grow with the square root. */
const FULL = 12;

/** @typedef {{at: number, good: number, bad: number, due: number, unknown: boolean}} Hour  `unknown`: later than what was read. */

/** @param {{seen: string}} props  Read again when `seen` changes. */
export function Strip({ seen }) {
  const known = useRef(/** @type {Known} */ ({ runs: new Map(), due: [], hour: 0 }));
  const [hours, setHours] = useState(/** @type {Hour[] | null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    readHours(known.current, stop.signal).then(setHours, () => undefined); // the rest of the page works without it
    return () => stop.abort();
  }, [seen]);
  if (!hours) return html`<div class="strip strip--waiting"></div>`;
  const all = (/** @type {"good" | "bad" | "due"} */ what) => hours.reduce((sum, hour) => sum + hour[what], 0);
  const most = Math.max(FULL, ...hours.map(({ good, bad, due }) => good + bad + due));
  const middle = ((now() - hours[0].at) / HOUR_MS) * WIDTH;
  return html`<section class="panel strip"><div class="panel__head"><h2>${HOME.strip} <span class="strip__zone">${browserZone()}</span></h2>
      <span class="strip__legend"><span><i class="strip__ok"></i>${HOME.stripOk}</span><span><i class="strip__bad"></i>${HOME.stripBad}</span><span><i class="strip__due"></i>${HOME.stripDue}</span>
        ${hours.at(-1)?.unknown && html`<span><i class="strip__unknown"></i>${HOME.stripCut(MOST_PAGES * PAGE)}</span>`}</span></div>
    <svg viewBox=${`0 0 ${2 * SPAN * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${HOME.stripSummary(all("good"), all("bad"), all("due"))}>
      ${hours.map((hour, index) => html`<${Column} hour=${hour} x=${index * WIDTH} most=${most} />`)}
      <line class="strip__now" x1=${middle} x2=${middle} y1="0" y2=${HEIGHT} />
    </svg>
    <div class="strip__scale" aria-hidden="true"><span>${clockTime(hours[0].at)}</span><span>${HOME.stripNow}</span><span>${clockTime(hours[2 * SPAN - 1].at + HOUR_MS)}</span></div>
  </section>`;
}

/** @param {{hour: Hour, x: number, most: number}} props */
function Column({ hour, x, most }) {
  const { good, bad, due } = hour;
  const total = good + bad + due;
  const height = total ? Math.sqrt(total / most) * (HEIGHT - 8) + 4 : 2;
  const part = total ? height / total : 0;
  let top = HEIGHT;
  /** @param {string} name @param {number} amount */
  const block = (name, amount) => {
    top -= part * amount;
    return amount > 0 && html`<rect class=${name} x=${x + 2} y=${top} width=${WIDTH - 4} height=${part * amount} />`;
  };
  return html`<g><title>${HOME.stripHour(clockTime(hour.at), good, bad, due)}</title>
    <rect class="strip__field" x=${x} y="0" width=${WIDTH} height=${HEIGHT} />
    ${hour.unknown && html`<rect class="strip__unknown" x=${x} y="0" width=${WIDTH} height=${HEIGHT} />`}
    ${total ? [block("strip__ok", good), block("strip__due", due), block("strip__bad", bad)] : html`<rect class="strip__none" x=${x + 2} y=${HEIGHT - 2} width=${WIDTH - 4} height="2" />`}
  </g>`;
}

/** @typedef {import("../types/records.js").Run} Run */
/** @typedef {import("../types/records.js").DueRun} DueRun */
/** What was read before: runs by ID, and what is due, read in `hour`. @typedef {{runs: Map<string, Run>, due: DueRun[], hour: number}} Known */

/** Load new data: runs since the oldest unfinished one. @param {Known} known @param {number} first @param {AbortSignal} signal */
async function readRuns({ runs }, first, signal) {
  const open = [...runs.values()].filter((run) => !run.finished_at && run.status !== "skipped" && run.status !== "missed");
  const newest = [...runs.keys()].sort().at(-1);
  const since = open.map(({ id }) => id).sort()[0] ?? newest;
  const from = (since && runs.get(since)?.queued_at) || new Date(first).toISOString();
  for (const run of await pagesOf("/api/runs", { since: from }, signal)) runs.set(run.id, run);
  for (const run of runs.values()) if (timeOf(run) < first) runs.delete(run.id);
}

/**
 * Load at most a few pages.
 * @param {string} path
 * @param {Record<string, string | number>} query
 * @param {AbortSignal} signal
 */
async function pagesOf(path, query, signal) {
  const found = [];
  let cursor = "";
  for (let count = 0; count < MOST_PAGES; count += 1) {
    const more = await api.get(path, { ...query, limit: PAGE, cursor }, { signal });
    found.push(...more.items);
    cursor = more.next_cursor ?? "";
    if (!cursor) break;
  }
  return found;
}

/** @param {Run} run */
function timeOf(run) {
  return Date.parse(run.started_at ?? run.scheduled_for ?? run.queued_at ?? "");
}

/** @param {Known} known @param {AbortSignal} signal @returns {Promise<Hour[]>} */
async function readHours(known, signal) {
  const hour = Math.floor(now() / HOUR_MS) * HOUR_MS;
  const first = hour - (SPAN - 1) * HOUR_MS;
  const due = known.hour === hour ? known.due : MANIFEST.upcoming ? pagesOf(MANIFEST.upcoming.path, { hours: SPAN }, signal) : [];
  const [coming] = await Promise.all([due, readRuns(known, first, signal)]);
  Object.assign(known, { due: coming, hour });
  const hours = Array.from({ length: 2 * SPAN }, (_, index) => ({ at: first + index * HOUR_MS, good: 0, bad: 0, due: 0, unknown: false }));
  for (const run of known.runs.values()) {
    const place = hours[Math.floor((timeOf(run) - first) / HOUR_MS)];
    const tone = toneOf(run.status);
    if (place && tone === "ok") place.good += 1;
    else if (place && (tone === "bad" || tone === "warn")) place.bad += 1;
  }
  for (const run of known.due) {
    const place = hours[Math.floor((Date.parse(run.at) - first) / HOUR_MS)];
    if (place && Date.parse(run.at) > now()) place.due += 1;
  }
  const last = known.due.length === MOST_PAGES * PAGE ? Date.parse(known.due[known.due.length - 1].at) : Infinity;
  for (const one of hours) one.unknown = one.at + HOUR_MS > last;
  return hours;
}
