// The lines of a log in memory, and search in them.
import { signal } from "../lib/store.js";

/** @typedef {import("../types/records.js").LogLine} LogLine */
/**
 * @typedef {object} Log
 * @property {LogLine[]} lines  In order; numbers may jump where lines were dropped.
 * @property {import("../lib/store.js").Signal<number>} version  Counts changes, at most one a frame.
 * @property {(more: LogLine[]) => void} append  Lines that are there already are left out.
 * @property {(complete: boolean) => void} end
 * @property {() => boolean} complete  Whether no line follows.
 * @property {(n: number) => number} indexOf  Where the line with that number is, or the first after it.
 * @property {() => string} text  All lines, without escape sequences.
 */

/** @param {LogLine[]} [first] @returns {Log} */
export function createLog(first = []) {
  /** @type {LogLine[]} */
  const lines = [];
  const version = signal(0);
  let complete = false;
  let waiting = false;
  function tell() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      version.update((count) => count + 1);
    });
  }
  /** @param {LogLine[]} more */
  function append(more) {
    let last = lines.at(-1)?.n ?? 0;
    for (const line of more) {
      if (line.n <= last) continue;
      lines.push(line);
      last = line.n;
    }
    if (more.length) tell();
  }
  append(first);
  return {
    lines, version, append,
    end(ended) {
      complete = ended;
      tell();
    },
    complete: () => complete,
    indexOf(n) {
      let low = 0;
      let high = lines.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (lines[middle].n < n) low = middle + 1;
        else high = middle;
      }
      return low;
    },
    text: () => lines.map((line) => plainText(line.text)).join("\n"),
  };
}

// Escape sequences, such as colours; then invisible control characters.
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f]/g;
const COLOUR = /\x1b\[([\d;]*)m/g;

/**
 * @param {string} text
 * @returns {string}  Without escape sequences; other controls as visible signs.
 */
export function plainText(text) {
  if (!/[\x00-\x1f\x7f]/.test(text)) return text;
  return text.replace(ESCAPES, "").replace(CONTROLS, (control) => (control === "\x7f" ? "␡" : String.fromCharCode(0x2400 + control.charCodeAt(0)))).replace(/\t/g, "    ");
}

/** @typedef {{text: string, name: string}} Piece  `name` are the classes: `ansi-1 ansi-bold`. */

/**
 * @param {string} text
 * @returns {Piece[]}  The text in pieces of one look.
 */
export function ansiPieces(text) {
  if (!text.includes("\x1b[")) return [{ text: plainText(text), name: "" }];
  /** @type {Piece[]} */
  const pieces = [];
  /** @type {{colour: string, bold: boolean, dim: boolean}} */
  let look = { colour: "", bold: false, dim: false };
  let from = 0;
  /** @param {string} part */
  const add = (part) => {
    const shown = plainText(part);
    const name = [look.colour, look.bold && "ansi-bold", look.dim && "ansi-dim"].filter(Boolean).join(" ");
    if (shown) pieces.push({ text: shown, name });
  };
  for (const found of text.matchAll(COLOUR)) {
    add(text.slice(from, found.index));
    from = found.index + found[0].length;
    look = changedLook(look, found[1].split(";").map(Number));
  }
  add(text.slice(from));
  return pieces;
}

/**
 * @param {{colour: string, bold: boolean, dim: boolean}} look
 * @param {number[]} codes  Of a sequence "Select Graphic Rendition" (ECMA-48, 8.3.117).
 */
function changedLook(look, codes) {
  let next = { ...look };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index];
    if (code === 0) next = { colour: "", bold: false, dim: false };
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code >= 30 && code <= 37) next.colour = `ansi-${code - 30}`;
    else if (code >= 90 && code <= 97) next.colour = `ansi-${code === 90 ? 8 : code - 90}`;
    else if (code === 39) next.colour = "";
    else if (code === 38 || code === 48) {
      // An indexed colour, or red, green and blue: use the nearest of the first sixteen, else the text's own colour.
      if (codes[index + 1] === 5 && code === 38 && codes[index + 2] < 16) next.colour = `ansi-${codes[index + 2] === 8 ? 8 : codes[index + 2] % 8}`;
      index += codes[index + 1] === 5 ? 2 : 4;
    }
  }
  return next;
}
