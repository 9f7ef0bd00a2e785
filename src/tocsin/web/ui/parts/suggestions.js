// Completions for a text field: a list below the cursor, used by keys or mouse.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { CODE } from "../strings/states.js";

/** @typedef {{word: string, says: string, after: string}} Suggestion  `after` is typed behind the word. */
/** @typedef {{from: number, options: Suggestion[]}} Suggestions  `from` is where the word begins that they replace. */
/** @typedef {(text: string, at: number) => Suggestions | null | Promise<Suggestions | null>} Complete */

const LINE = 20;
const WIDTH = 320;
const MOST = 50;
const LIST = "suggestions";

/**
 * @param {{current: HTMLTextAreaElement | null}} field
 * @param {Complete | undefined} complete
 * @param {(text: string) => void} onInput
 */
export function useSuggestions(field, complete, onInput) {
  const [found, setFound] = useState(/** @type {Suggestions | null} */ (null));
  const [active, setActive] = useState(0);
  const close = () => setFound(null);
  const look = () => {
    const area = field.current;
    setActive(0);
    if (!area || !complete || area.selectionStart !== area.selectionEnd) return setFound(null);
    const { value, selectionStart } = area;
    const options = complete(value, selectionStart);
    if (!(options instanceof Promise)) return setFound(options);
    // The completions arrived later: by now, the text may have changed.
    return void options.then((late) => area.value === value && area.selectionStart === selectionStart && setFound(late), () => undefined);
  };
  /** @param {Suggestion} option */
  const take = ({ word, after }) => {
    const area = field.current;
    if (!area || !found) return;
    const rest = area.value.slice(area.selectionEnd);
    const added = after && rest.startsWith(after.trimEnd()) ? "" : after;
    area.focus();
    area.setRangeText(word + added, found.from, area.selectionEnd, "end");
    close();
    onInput(area.value);
  };
  /** @param {KeyboardEvent} event @returns {boolean}  Whether it was for the list. */
  const onKey = (event) => {
    if (event.key === " " && event.ctrlKey) look();
    else if (!found || event.ctrlKey || event.altKey || event.metaKey) return false;
    else if (event.key === "ArrowDown") setActive((active + 1) % found.options.length);
    else if (event.key === "ArrowUp") setActive((active + found.options.length - 1) % found.options.length);
    else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) take(found.options[active]);
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const attributes = complete && {
    "aria-autocomplete": "list", "aria-haspopup": "listbox", "aria-controls": found ? LIST : undefined,
    "aria-activedescendant": found ? `${LIST}-${active}` : undefined,
  };
  const list = complete && html`<${List} found=${found} active=${active} field=${field} take=${take} />`;
  return { look, close, onKey, attributes, list };
}

/** @param {{found: Suggestions | null, active: number, field: {current: HTMLTextAreaElement | null}, take: (one: Suggestion) => void}} props */
function List({ found, active, field, take }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (list.current && field.current && found) place(list.current, field.current, found.from);
  }, [found]);
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [found, active]);
  const told = html`<span class="visually-hidden" role="status">${found ? CODE.suggestions(found.options.length) : ""}</span>`;
  if (!found) return told;
  const hold = (/** @type {MouseEvent} */ event) => event.preventDefault(); // the field keeps the focus
  return html`${told}<ul ref=${list} id=${LIST} class="suggestions" role="listbox" aria-label=${CODE.suggestionsLabel} onMouseDown=${hold}>
    ${found.options.slice(0, MOST).map((one, index) => html`<li key=${one.word} id=${`${LIST}-${index}`} role="option" aria-selected=${index === active} onClick=${() => take(one)}>
      <code>${one.word}</code><span class="suggestions__says">${one.says}</span></li>`)}</ul>`;
}

/** Place the list below the line of the cursor, or above it if there is no room. @param {HTMLElement} list @param {HTMLTextAreaElement} area @param {number} at */
function place(list, area, at) {
  const before = area.value.slice(0, at).split("\n");
  const style = getComputedStyle(area);
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  pen.font = style.font;
  const left = area.offsetLeft + Number.parseFloat(style.paddingLeft) + pen.measureText(before[before.length - 1]).width - area.scrollLeft;
  const top = area.offsetTop + Number.parseFloat(style.paddingTop) + before.length * LINE - area.scrollTop;
  const width = Math.min(WIDTH, area.clientWidth);
  list.style.width = `${width}px`;
  list.style.left = `${Math.max(0, Math.min(left, area.offsetLeft + area.clientWidth - width))}px`;
  const above = top + list.offsetHeight > area.offsetTop + area.offsetHeight && top - LINE > list.offsetHeight;
  list.style.top = `${above ? top - LINE - list.offsetHeight : top}px`;
}
