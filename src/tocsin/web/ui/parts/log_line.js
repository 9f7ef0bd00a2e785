// One line of a log: its number as a link, its coloured text, and highlighted search results.
import { html } from "../vendor/preact.js";
import { absolute } from "../lib/format.js";
import { ansiPieces } from "../lib/log.js";
import { place } from "../lib/router.js";
import { LOG } from "../strings/states.js";

/** @typedef {import("../lib/log.js").Piece} Piece */

/** Return the address of a line on the current page. @param {number} n */
export function lineLink(n) {
  const { path, query } = place.get();
  return `#${path}?${new URLSearchParams({ ...query, line: String(n) })}`;
}

/**
 * @param {{line: import("../types/records.js").LogLine, words: string, current: boolean, marked: boolean, href: string, mark: () => void}} props
 */
export function LogLineRow({ line, words, current, marked, href, mark }) {
  const { n, ts, stream, text } = line;
  const name = ["log__line", stream === "stderr" && "log__line--err", stream === "system" && "log__line--system", (current || marked) && "log__line--marked"];
  /** @param {Event} event */
  const onClick = (event) => {
    event.preventDefault(); // keep the address and the scroll position
    mark();
  };
  // Formatted on hover: dates of hundreds of lines per second would take most of the time.
  const say = (/** @type {any} */ event) => void (ts && (event.currentTarget.title = absolute(ts)));
  return html`<div class=${name.filter(Boolean).join(" ")}>
    <a class="log__number" href=${href} aria-label=${LOG.line(n)} data-n=${n} tabindex="-1" onClick=${onClick} onMouseEnter=${say}></a>
    <span class="log__text">${ansiPieces(text).map((piece) => (piece.name || words ? html`<span class=${piece.name || undefined}>${marks(piece.text, words)}</span>` : piece.text))}</span>
  </div>`;
}

/** @param {string} text @param {string} words */
function marks(text, words) {
  if (!words) return text;
  const lower = text.toLowerCase();
  const wanted = words.toLowerCase();
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + wanted.length)}</mark>`);
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}
