// The results of the last runs as a row of bars: colour and shape, a summary in words, and a link per bar.
import { html, useMemo, useRef, useState } from "../vendor/preact.js";
import { absolute, duration, relative } from "../lib/format.js";
import { go } from "../lib/router.js";
import { toneOf, wordOf } from "../parts/status.js";
import { PARTS } from "../strings/states.js";

/** @typedef {import("../types/records.js").RecentRun} RecentRun */

const WIDTH = 8;
const HEIGHT = 24;
/** Those that need a look stand higher or carry a notch: the colour is not all there is. @type {Record<string, string>} */
const BARS = {
  ok: "M1 8h6v16H1z",
  bad: "M1 0h6v24H1z",
  warn: "M1 4h6v9H1zM1 16h6v8H1z",
  busy: "M1.5 8.5h5v15h-5z",
  off: "M1 20h6v4H1z",
  info: "M1 8h6v16H1z",
};

const NO_RUN = "M1 22h6v2H1z";

/**
 * @param {{runs: RecentRun[], size?: number, href?: (run: RecentRun) => string | undefined, label?: string, newestFirst?: boolean}} props
 *   The newest stands at the right.
 */
export function HistoryBar({ runs, size = 30, href, label = "", newestFirst = false }) {
  const [active, setActive] = useState(-1);
  const ordered = newestFirst ? [...runs].reverse() : runs;
  const shown = ordered.slice(-size);
  const empty = size - shown.length;
  const told = shown[active];
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Enter") follow(told);
    else if (step && shown.length) setActive(active < 0 ? shown.length - 1 : Math.min(Math.max(active + step, 0), shown.length - 1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const leads = useRef(href);
  leads.current = href;
  /** @param {RecentRun | undefined} run */
  const follow = (run) => {
    const target = run && leads.current?.(run);
    if (target) go(target);
  };
  // A table of many jobs has thousands of bars: draw all bars of one tone as one path.
  const bars = useMemo(() => Object.entries(shapesOf(shown, empty)).map(([tone, d]) => html`<path class=${`history__${tone} shape--${tone}`} d=${d} />`), [runs, size, newestFirst]);
  /** @param {MouseEvent & {currentTarget: Element}} event @returns {number} */
  const under = (event) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.floor(((event.clientX - left) / width) * size) - empty;
  };
  return html`<span class="history"><svg class=${`history__bar${told ? " history__bar--told" : ""}`} viewBox=${`0 0 ${size * WIDTH} ${HEIGHT}`} width=${size * 5} height="20" preserveAspectRatio="none"
      role="img" tabindex=${shown.length ? 0 : undefined} aria-label=${[label, summaryOf(ordered), told && describe(told)].filter(Boolean).join(": ")}
      onKeyDown=${onKey} onMouseMove=${(/** @type {any} */ event) => setActive(under(event))} onMouseLeave=${() => setActive(-1)} onBlur=${() => setActive(-1)}
      onClick=${(/** @type {any} */ event) => follow(shown[under(event)])}>
      ${told && html`<rect class="history__field" x=${(empty + active) * WIDTH} width=${WIDTH} height=${HEIGHT} />`}
      ${empty > 0 && html`<path class="history__none" d=${placed(NO_RUN, Array.from({ length: empty }, (_, index) => index))} />`}${bars}
    </svg>${told && html`<span class="history__tip" aria-hidden="true">${describe(told)}</span>`}</span>`;
}

/**
 * Return all bars of a tone as one path.
 * @param {RecentRun[]} runs
 * @param {number} empty  How many places are before them.
 */
function shapesOf(runs, empty) {
  /** @type {Record<string, string>} */
  const found = {};
  runs.forEach((run, index) => {
    const tone = toneOf(run.status);
    found[tone] = (found[tone] ?? "") + placed(BARS[tone], [empty + index]);
  });
  return found;
}

/** @param {string} shape  Its points count from the left of its place: `M1 8h6v16H1z`. @param {number[]} places */
function placed(shape, places) {
  return places.map((at) => shape.replace(/([MH])([\d.]+)/g, (_, letter, x) => letter + (Number(x) + at * WIDTH))).join("");
}

/**
 * @param {RecentRun[]} runs  Oldest first.
 * @returns {string}  Such as `28 of 30 ok, last failed 2 hr ago`.
 */
export function summaryOf(runs) {
  const ended = runs.filter((run) => !["busy", "off"].includes(toneOf(run.status)));
  if (!ended.length) return PARTS.summary.none;
  const good = ended.filter((run) => toneOf(run.status) === "ok").length;
  const last = ended.filter((run) => toneOf(run.status) === "bad" && run.started_at).at(-1);
  const ago = last?.started_at ? `, ${PARTS.summary.lastFailed(relative(last.started_at))}` : "";
  return PARTS.summary.runs(good, ended.length) + ago;
}

/** @param {RecentRun} run */
function describe(run) {
  return [wordOf(run.status), run.started_at && absolute(run.started_at), run.duration_ms != null && duration(run.duration_ms)].filter(Boolean).join(", ");
}
