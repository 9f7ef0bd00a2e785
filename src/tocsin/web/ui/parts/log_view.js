// A log of any length: only visible lines exist as elements.
import { html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { place, setQuery } from "../lib/router.js";
import { remembered, useSignal } from "../lib/store.js";
import { Icon } from "../parts/icon.js";
import { LogLineRow, lineLink } from "../parts/log_line.js";
import { LogBar } from "../parts/log_bar.js";
import { LOG } from "../strings/states.js";

/** @typedef {import("../lib/log.js").Log} Log */

const ROW = 20;
const MARGIN_ROWS = 20;
const NEAR_END = 24;
const wrapped = remembered("log-wrap", true);

/**
 * @param {{log: Log, name?: string, download?: string, running?: boolean, label?: string, height?: "page" | "short"}} props
 *   `name` is that of the file, `download` the address of the whole log; a line in the address (`?line=12`) is shown.
 */
export function LogView({ log, name = "log.txt", download, running = false, label = LOG.label, height = "page" }) {
  const version = useSignal(log.version);
  const wrap = useSignal(wrapped);
  const { query } = useSignal(place);
  const [, redraw] = useReducer((/** @type {number} */ count, /** @type {void} */ _) => count + 1, 0);
  const [follow, setFollow] = useState(running && !query.line);
  const [hits, setHits] = useState(/** @type {{words: string, at: number}} */ ({ words: "", at: 0 }));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const field = useRef({ width: 0, cell: 8, ours: 0 });
  const rows = useMemo(() => rowsOf(log, wrap, field.current), [version, wrap, field.current.width, log]);
  const found = useMemo(() => matchesIn(log, hits.words), [version, hits.words, log]);

  useLayoutEffect(() => watchSize(box.current, field.current, redraw), []);
  useLayoutEffect(() => {
    if (follow && box.current && !selectionIn(box.current)) scrollBox(box.current, field.current, box.current.scrollHeight);
  }, [version, follow, rows]);
  /** @param {number} index */
  const show = (index) => {
    if (!box.current || index < 0) return;
    setFollow(false);
    scrollBox(box.current, field.current, rows.top(index) * ROW - box.current.clientHeight / 3);
    redraw();
  };
  const wanted = Number(query.line) || 0;
  const reached = wanted > 0 && (log.lines.at(-1)?.n ?? 0) >= wanted;
  useEffect(() => void (reached && show(log.indexOf(wanted))), [wanted, reached, rows.total > 0]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    // Scrolling by the program does not reflect the person's intention.
    const own = Math.abs(element.scrollTop - field.current.ours) < 2;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    if (!own && follow && !atEnd) setFollow(false);
    else if (!own && running && atEnd && !follow) setFollow(true);
    redraw();
  };
  /** @param {number} step */
  const jump = (step) => {
    if (!found.length) return;
    const at = (hits.at + step + found.length) % found.length;
    setHits({ words: hits.words, at });
    show(found[at]);
  };
  /** @param {string} words */
  const search = (words) => {
    setHits({ words, at: 0 });
    const first = words ? matchesIn(log, words)[0] : undefined;
    if (first !== undefined) show(first);
  };
  const top = box.current?.scrollTop ?? 0;
  const seen = box.current?.clientHeight ?? 600;
  const first = rows.at(Math.max(0, Math.floor(top / ROW) - MARGIN_ROWS));
  const last = Math.min(log.lines.length, rows.at(Math.ceil((top + seen) / ROW) + MARGIN_ROWS) + 1);
  const shown = log.lines.slice(first, last);
  const drawn = useMemo(() => new WeakMap(), [log, place.get().path]);
  return html`<div class=${`log log--${height}${!running && log.complete() ? " log--ended" : ""}`}>
    <${LogBar} log=${log} name=${name} download=${download} words=${hits.words} at=${found.length ? hits.at + 1 : 0} all=${found.length}
      search=${search} jump=${jump} wrap=${wrap} setWrap=${() => wrapped.set(!wrap)} />
    <div class=${`log__box${wrap ? " log__box--wrap" : ""}`} ref=${box} tabindex="0" role="region" aria-label=${label} onScroll=${onScroll}>
      ${!log.lines.length && html`<p class="log__none">${running || !log.complete() ? LOG.waiting : LOG.empty}</p>`}
      <div class="log__all" style=${{ height: `${rows.total * ROW}px` }}><div class="log__seen" style=${{ transform: `translateY(${rows.top(first) * ROW}px)` }}>
        ${shown.map((line, index) => lineOnce(drawn, line, hits.words, found[hits.at] === first + index, line.n === wanted))}
      </div></div>
    </div>
    ${running && !follow && html`<button type="button" class="button button--primary log__follow" onClick=${() => setFollow(true)}><${Icon} name="down" size=${15} />${LOG.follow}</button>`}
  </div>`;
}

/**
 * Reusing the same node signals that a line has not changed.
 * @param {WeakMap<object, {look: string, node: unknown}>} drawn
 * @param {import("../lib/log.js").LogLine} line
 * @param {string} words
 * @param {boolean} current
 * @param {boolean} marked
 */
function lineOnce(drawn, line, words, current, marked) {
  const look = `${current} ${marked} ${words}`;
  const known = drawn.get(line);
  if (known?.look === look) return known.node;
  const node = html`<${LogLineRow} key=${line.n} line=${line} words=${words} current=${current} marked=${marked} href=${lineLink(line.n)}
    mark=${() => setQuery({ line: marked ? "" : String(line.n) })} />`;
  drawn.set(line, { look, node });
  return node;
}

/**
 * @typedef {object} Rows
 * @property {number} total
 * @property {(index: number) => number} top  The first row of a line.
 * @property {(row: number) => number} at  The line that a row belongs to.
 */

/**
 * Count the rows of each line: the font is monospaced.
 * @param {Log} log
 * @param {boolean} wrap
 * @param {{width: number, cell: number}} field
 * @returns {Rows}
 */
function rowsOf(log, wrap, field) {
  const count = log.lines.length;
  const fit = Math.floor(field.width / field.cell);
  if (!wrap || fit < 8) return { total: count, top: (index) => index, at: (row) => Math.min(row, Math.max(count - 1, 0)) };
  const tops = new Uint32Array(count + 1);
  for (let index = 0; index < count; index += 1) {
    const { text } = log.lines[index];
    tops[index + 1] = tops[index] + (text.length <= fit ? 1 : Math.ceil(cellsOf(text) / fit) || 1);
  }
  /** @param {number} row */
  const at = (row) => {
    let low = 0;
    let high = Math.max(count - 1, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (tops[middle] <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return { total: tops[count], top: (index) => tops[index], at };
}

/** @param {string} text */
function cellsOf(text) {
  if (!/[^\x20-\x7e]/.test(text)) return text.length;
  const bare = text.replace(/\x1b\[[0-?]*[ -/]*[@-~]/g, "").replace(/\t/g, "    ");
  // East Asian characters and emoji are twice as wide.
  return bare.length + (bare.match(/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/g)?.length ?? 0);
}

/** @param {Log} log @param {string} words @returns {number[]}  Indexes of the lines that hold them. */
function matchesIn(log, words) {
  const wanted = words.toLowerCase();
  if (!wanted) return [];
  return log.lines.flatMap((line, index) => (line.text.toLowerCase().includes(wanted) ? index : []));
}

/** @param {HTMLElement} box */
function selectionIn(box) {
  const selection = getSelection();
  if (!selection?.anchorNode || !box.contains(selection.anchorNode)) return false;
  // `isCollapsed` would force a layout ten times a second.
  return selection.anchorNode !== selection.focusNode || selection.anchorOffset !== selection.focusOffset;
}

/** @param {HTMLElement} box @param {{ours: number}} field @param {number} top */
function scrollBox(box, field, top) {
  box.scrollTop = top;
  field.ours = box.scrollTop;
}

/**
 * @param {HTMLElement | null} box
 * @param {{width: number, cell: number}} field
 * @param {() => void} redraw
 */
function watchSize(box, field, redraw) {
  if (!box) return undefined;
  const probe = document.createElement("span");
  probe.className = "log__probe";
  probe.textContent = "0".repeat(100);
  const measure = () => {
    box.append(probe);
    field.cell = probe.scrollWidth / 100 || 8;
    probe.remove();
    field.width = box.clientWidth - parseFloat(getComputedStyle(box).getPropertyValue("--log-gutter")) - 24;
    redraw();
  };
  const watcher = new ResizeObserver(measure);
  watcher.observe(box);
  measure();
  return () => watcher.disconnect();
}
