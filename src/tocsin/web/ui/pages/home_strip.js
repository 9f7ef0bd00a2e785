// A day back and a day ahead, hour by hour: what ran, how it ended, and what is due.
import { html, useEffect, useState } from "../vendor/preact.js";
import { api } from "../lib/api.js";
import { clockTime, now } from "../lib/format.js";
import { toneOf } from "../parts/status.js";
import { HOME } from "../strings/home.js";

const HOUR_MS = 3_600_000;
const SPAN = 24;
const MOST_PAGES = 10;
const WIDTH = 20;
const HEIGHT = 44;
/** A bar grows with each run, and stops where more of them could not be told apart. */
const FULL = 12;

/** @typedef {{at: number, good: number, bad: number, due: number}} Hour */

/** @param {{seen: string}} props  Read again when `seen` changes. */
export function Strip({ seen }) {
  const [hours, setHours] = useState(/** @type {Hour[] | null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    readHours(stop.signal).then(setHours, () => undefined); // the page says more than this; it can be missing
    return () => stop.abort();
  }, [seen]);
  if (!hours) return html`<div class="strip strip--waiting"></div>`;
  const all = (/** @type {"good" | "bad" | "due"} */ what) => hours.reduce((sum, hour) => sum + hour[what], 0);
  const middle = ((now() - hours[0].at) / HOUR_MS) * WIDTH;
  return html`<section class="panel strip"><div class="panel__head"><h2>${HOME.strip}</h2>
      <span class="strip__legend"><i class="strip__ok"></i>${HOME.stripOk}<i class="strip__bad"></i>${HOME.stripBad}<i class="strip__due"></i>${HOME.stripDue}</span></div>
    <svg viewBox=${`0 0 ${2 * SPAN * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${HOME.stripSummary(all("good"), all("bad"), all("due"))}>
      ${hours.map((hour, index) => html`<${Column} hour=${hour} x=${index * WIDTH} />`)}
      <line class="strip__now" x1=${middle} x2=${middle} y1="0" y2=${HEIGHT} />
    </svg>
    <div class="strip__scale" aria-hidden="true"><span>${clockTime(hours[0].at)}</span><span>${HOME.stripNow}</span><span>${clockTime(hours[2 * SPAN - 1].at + HOUR_MS)}</span></div>
  </section>`;
}

/** @param {{hour: Hour, x: number}} props */
function Column({ hour, x }) {
  const { good, bad, due } = hour;
  const total = good + bad + due;
  const height = total ? (Math.min(total, FULL) / FULL) * (HEIGHT - 8) + 4 : 2;
  const part = total ? height / total : 0;
  let top = HEIGHT;
  /** @param {string} name @param {number} amount */
  const block = (name, amount) => {
    top -= part * amount;
    return amount > 0 && html`<rect class=${name} x=${x + 2} y=${top} width=${WIDTH - 4} height=${part * amount} />`;
  };
  return html`<g><title>${HOME.stripHour(clockTime(hour.at), good, bad, due)}</title>
    <rect class="strip__field" x=${x} y="0" width=${WIDTH} height=${HEIGHT} />
    ${total ? [block("strip__ok", good), block("strip__due", due), block("strip__bad", bad)] : html`<rect class="strip__none" x=${x + 2} y=${HEIGHT - 2} width=${WIDTH - 4} height="2" />`}
  </g>`;
}

/** @typedef {import("../types/records.js").Run} Run */

/** Read the runs of a day back, as far as a few answers hold them. @param {number} first @param {AbortSignal} signal */
async function readRuns(first, signal) {
  /** @type {Run[]} */
  const runs = [];
  let cursor = "";
  for (let count = 0; count < MOST_PAGES; count += 1) {
    const more = await api.get("/api/runs", { limit: 200, cursor }, { signal });
    runs.push(...more.items);
    cursor = more.next_cursor ?? "";
    if (!cursor || timeOf(runs[runs.length - 1]) < first) break;
  }
  return runs;
}

/** @param {Run} run */
function timeOf(run) {
  return Date.parse(run.started_at ?? run.scheduled_for ?? run.queued_at ?? "");
}

/** @param {AbortSignal} signal @returns {Promise<Hour[]>} */
async function readHours(signal) {
  const first = Math.floor(now() / HOUR_MS) * HOUR_MS - (SPAN - 1) * HOUR_MS;
  const [ran, coming] = await Promise.all([
    readRuns(first, signal),
    api.get("/api/cron/upcoming", { hours: SPAN }, { signal }),
  ]);
  const hours = Array.from({ length: 2 * SPAN }, (_, index) => ({ at: first + index * HOUR_MS, good: 0, bad: 0, due: 0 }));
  for (const run of ran) {
    const hour = hours[Math.floor((timeOf(run) - first) / HOUR_MS)];
    const tone = toneOf(run.status);
    if (hour && tone === "ok") hour.good += 1;
    else if (hour && (tone === "bad" || tone === "warn")) hour.bad += 1;
  }
  for (const run of coming.items) {
    const hour = hours[Math.floor((Date.parse(run.at) - first) / HOUR_MS)];
    if (hour) hour.due += 1;
  }
  return hours;
}
