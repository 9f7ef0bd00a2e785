// The runs due within a day: the number per quarter of an hour, and times when many jobs coincide.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { browserZone, clockTime, now, number } from "tocsin/lib/format.js";
import { link } from "tocsin/lib/router.js";
import { Empty, Failure, Loading } from "tocsin/parts/states.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { CRON, TIMELINE } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").DueRun} Due */
/** @typedef {{at: string, jobs: Due[]}} Together */

const QUARTER_MS = 900_000;
const QUARTERS = 96;
const DUE_LIMIT = 200;
const MOST_PAGES = 10;
const MANY = 3;
const [WIDTH, HEIGHT] = [10, 120];

export function Timeline() {
  const [found, setFound] = useState(/** @type {{items: Due[], cut: boolean} | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    readDue(stop.signal).then(setFound, (problem) => stop.signal.aborted || setError(problem));
    return () => stop.abort();
  }, []);
  if (error) return html`<${Failure} error=${error} />`;
  if (!found) return html`<${Loading} />`;
  if (!found.items.length) return html`<${Empty} icon="cron" text=${TIMELINE.none} command=${CRON.noneCommand} />`;
  const together = byMinute(found.items);
  return html`<${Chart} due=${found.items} together=${together} />
    ${found.cut && html`<p class="notice notice--info">${TIMELINE.cut}</p>`}
    <${PileUps} together=${together} /><${ByJob} due=${found.items} />`;
}

/** @param {AbortSignal} signal */
async function readDue(signal) {
  /** @type {Due[]} */
  const items = [];
  let cursor = "";
  for (let count = 0; count < MOST_PAGES; count += 1) {
    const more = await api.get("/api/cron/upcoming", { hours: 24, limit: DUE_LIMIT, cursor }, { signal });
    items.push(...more.items);
    cursor = more.next_cursor ?? "";
    if (!cursor) break;
  }
  return { items, cut: Boolean(cursor) };
}

/** @param {Due[]} items @returns {Together[]}  The fullest first. */
function byMinute(items) {
  /** @type {Map<string, Due[]>} */
  const minutes = new Map();
  for (const due of items) {
    const minute = due.at.slice(0, 16);
    minutes.set(minute, [...(minutes.get(minute) ?? []), due]);
  }
  return [...minutes.values()].map((jobs) => ({ at: jobs[0].at, jobs })).sort((one, other) => other.jobs.length - one.jobs.length);
}

/** @param {{due: Due[], together: Together[]}} props */
function Chart({ due, together }) {
  const first = Math.floor(now() / QUARTER_MS) * QUARTER_MS;
  const quarters = Array.from({ length: QUARTERS }, () => ({ count: 0, many: false }));
  const placeOf = (/** @type {string} */ at) => quarters[Math.floor((Date.parse(at) - first) / QUARTER_MS)];
  for (const { at } of due) {
    const quarter = placeOf(at);
    if (quarter) quarter.count += 1;
  }
  for (const { at, jobs } of together) {
    const quarter = jobs.length >= MANY && placeOf(at);
    if (quarter) quarter.many = true;
  }
  const full = Math.max(...quarters.map(({ count }) => count), 4);
  const [most] = together;
  const summary = TIMELINE.summary(number(due.length), most.jobs.length, clockTime(most.at));
  const hours = Array.from({ length: 9 }, (_, index) => clockTime(first + index * 3 * 3_600_000).split(", ").at(-1));
  return html`<figure class="panel timeline"><svg viewBox=${`0 0 ${QUARTERS * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
      aria-label=${`${TIMELINE.label}: ${summary}`}>
      ${quarters.map(({ count, many }, index) => {
        const height = count ? 4 + (count / full) * (HEIGHT - 12) : 1;
        const from = first + index * QUARTER_MS;
        return html`<g><title>${TIMELINE.span(clockTime(from), clockTime(from + QUARTER_MS), count)}</title>
          <rect class="strip__field" x=${index * WIDTH} y="0" width=${WIDTH} height=${HEIGHT} />
          <rect class=${!count ? "strip__none" : many ? "timeline__many" : "timeline__due"} x=${index * WIDTH + 1} y=${HEIGHT - height} width=${WIDTH - 2} height=${height} />
          ${many && html`<rect class="timeline__mark" x=${index * WIDTH + 1} y=${HEIGHT - height - 6} width=${WIDTH - 2} height="3" />`}</g>`;
      })}</svg>
    <div class="strip__scale" aria-hidden="true">${hours.map((hour, index) => html`<span class=${index % 2 ? "timeline__odd" : ""}>${hour}</span>`)}</div>
    <figcaption class="timeline__legend"><span class="strip__legend"><i class="timeline__due"></i>${TIMELINE.legendDue}<i class="timeline__many"></i>${TIMELINE.legendMany}</span>
      <span class="muted">${summary} ${TIMELINE.zone(browserZone())}</span></figcaption></figure>`;
}

/** @param {{together: Together[]}} props */
function PileUps({ together }) {
  const many = together.filter(({ jobs }) => jobs.length >= MANY).slice(0, 10);
  if (!many.length) return html`<p class="muted">${TIMELINE.noPileUps}</p>`;
  return html`<section class="panel"><div class="panel__head"><h2>${TIMELINE.pileUps}</h2><span class="muted">${TIMELINE.pileUpHint}</span></div>
    <ul class="lines">${many.map(({ at, jobs }) => html`<li class="line" key=${at}><${Time} at=${at} clock /><strong class="numbers">${jobs.length}</strong>
      <span class="timeline__names">${jobs.slice(0, 12).map((due) => html`<a href=${link("cron", due.job_id)} dir="auto">${due.name}</a>`)}${jobs.length > 12 && "…"}</span></li>`)}</ul></section>`;
}

/** @param {{due: Due[]}} props */
function ByJob({ due }) {
  /** @type {Map<string, {id: string, name: string, first: string, count: number}>} */
  const jobs = new Map();
  for (const { job_id: id, name, at } of due) {
    const known = jobs.get(id);
    if (known) known.count += 1;
    else jobs.set(id, { id, name, first: at, count: 1 });
  }
  return html`<${Table} label=${TIMELINE.list} rows=${[...jobs.values()]} rowKey=${(/** @type {any} */ row) => row.id} href=${(/** @type {any} */ row) => link("cron", row.id)} remember="ahead"
    columns=${[
      { name: "name", title: CRON.job, primary: true, value: (/** @type {any} */ row) => row.name },
      { name: "first", title: TIMELINE.first, value: (/** @type {any} */ row) => row.first, cell: (/** @type {any} */ row) => html`<${Time} at=${row.first} />` },
      { name: "count", title: TIMELINE.count, align: "end", value: (/** @type {any} */ row) => row.count, cell: (/** @type {any} */ row) => number(row.count) },
    ]} />`;
}
