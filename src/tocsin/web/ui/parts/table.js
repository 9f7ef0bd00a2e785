// A table of records: sorted, filtered, paged; cards on small screens; a thousand rows without waiting.
// Its roles are written out: Safari forgets them where the style makes cards of rows.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { remembered, signal, useSignal } from "../lib/store.js";
import { go } from "../lib/router.js";
import { ActionButton } from "../parts/action.js";
import { Icon } from "../parts/icon.js";
import { Empty } from "../parts/states.js";
import { TABLE } from "../strings/states.js";

/** @typedef {import("../vendor/preact.js").Child} Child */
/**
 * @template T
 * @typedef {object} Column
 * @property {string} name
 * @property {string} title
 * @property {(row: T) => string | number | boolean | null | undefined} [value]  What is sorted, filtered, and drawn without `cell`.
 * @property {(row: T) => Child} [cell]
 * @property {boolean} [sort]  `false` where an order says nothing.
 * @property {"end"} [align]  For numbers.
 * @property {boolean} [primary]  What the record is called: it holds the link, and heads the card on a small screen.
 * @property {boolean} [hideSmall]  Not on cards.
 * @property {"short" | "wide" | "line" | "aside"} [card]  On cards a third of the width, or all of it; else half of it. Where
 *   cards are `brief`: the second line, and what stands at the end of the first.
 * @property {boolean | "icons"} [bare]  On cards without its title, such as a row of buttons; `icons` stand beside its name.
 */
/** @typedef {{name: string, down: boolean}} Order */
/**
 * @template T
 * @typedef {object} TableProps
 * @property {string} label  What is listed, for screen readers.
 * @property {T[]} rows
 * @property {Column<T>[]} columns
 * @property {(row: T) => string} rowKey
 * @property {(row: T) => string | undefined} [href]  Where a row leads.
 * @property {(row: T) => void} [toggle]  What a click on a row does that leads nowhere.
 * @property {boolean} [brief]  On small screens two lines a row: only its name, its state and the columns `line` and `aside`.
 * @property {string} [filter]  Only rows that hold all these words.
 * @property {(() => Promise<unknown>) | undefined} [more]  Reads the next page; see `nextPage`.
 * @property {number | null} [total]
 * @property {Child} [empty]  Shown where there is no row at all.
 * @property {Order} [sort]  The order at first; without it, the server's.
 * @property {string} [remember]  A name under which the order outlives the page.
 * @property {Record<string, (row: T) => unknown>} [keys]  What a key does with the row that has the focus.
 * @property {(row: T) => string | undefined} [rowClass]
 * @property {boolean} [steady]  What is drawn depends on the row alone, so that an unchanged row is not drawn again.
 * @property {(row: T) => Child} [below]  A second row with more about the first, such as details that were opened.
 */

/** Enough for a large screen: each further row delays the first paint. */
const FIRST = 32;
const STEP = 48;
/** @type {Map<string, import("../lib/store.js").Signal<Order>>} */
const orders = new Map();
const NONE = { name: "", down: false };
/** Words that no column needs to keep on one line. */
const LONG = /\S{25}/;
/** Columns that are shown beside the name on a card. */
const STATE = new Set(["state", "status", "level", "outcome"]);
/** Longer text takes the whole width of a card. */
const NARROW = 24;

/**
 * @template T
 * @param {TableProps<T>} props
 */
export function Table(props) {
  const { label, rows, columns, filter = "", more, total, empty, keys, rowKey } = props;
  const order = useMemo(() => orderOf(props.remember, props.sort), []);
  const { name, down } = useSignal(order);
  const known = useMemo(() => ({ drawn: new WeakMap(), texts: new WeakMap() }), []);
  const sorted = useMemo(() => sortRows(matching(rows, columns, filter, props.steady ? known.texts : new WeakMap()), columns, name, down), [rows, filter, name, down]);
  const [shown, setShown] = useState(FIRST);
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => setShown(FIRST), [filter, name, down]);
  useEffect(() => {
    if (shown >= sorted.length || !end.current) return undefined;
    const near = new IntersectionObserver((seen) => {
      if (seen.some((entry) => entry.isIntersecting)) setShown((count) => count + STEP);
    }, { rootMargin: "400px" });
    near.observe(end.current);
    return () => near.disconnect();
  }, [shown, sorted.length]);
  /** @param {KeyboardEvent} event */
  const onKey = (event) => onRowKey(event, sorted, rowKey, keys);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const hold = useHeldFocus(root, rows.length);
  if (!rows.length && empty) return empty;
  return html`<div class=${`table${props.brief ? " table--brief" : ""}`} ref=${root} onKeyDown=${onKey} onfocusin=${hold}>
    <table role="table"><caption class="visually-hidden">${label}</caption>
      <thead role="rowgroup"><tr role="row">${columns.map((column) => html`<${Head} column=${column} name=${name} down=${down} order=${order} />`)}</tr></thead>
      <tbody role="rowgroup">${sorted.slice(0, shown).map((row) => drawnOnce(row, props, known.drawn))}</tbody>
    </table>
    ${shown < sorted.length && html`<div ref=${end} class="table__end"></div>`}
    ${!sorted.length && html`<${Empty} icon="search" text=${rows.length ? TABLE.noMatch(filter) : TABLE.none} />`}
    ${(more || total != null) && html`<div class="table__foot"><span class="muted">${TABLE.count(sorted.length, rows.length, total ?? null)}</span>
      ${more && html`<${ActionButton} small run=${more}>${TABLE.more}<//>`}</div>`}
  </div>`;
}

/**
 * If the focused row was removed, for example after "Delete", focus the row in its place.
 * @param {{current: HTMLElement | null}} root
 * @param {number} count
 */
function useHeldFocus(root, count) {
  const held = useRef({ row: /** @type {Element | null} */ (null), at: 0 });
  const rows = () => [...(root.current?.querySelectorAll("tr[data-key]") ?? [])];
  useLayoutEffect(() => {
    const { row, at } = held.current;
    if (!row || row.isConnected || document.activeElement !== document.body) return;
    const next = rows()[at] ?? rows()[at - 1];
    /** @type {HTMLElement | null} */ (next?.querySelector("a, button") ?? document.getElementById("content"))?.focus();
  }, [count]);
  return (/** @type {any} */ event) => {
    const row = event.target.closest("tr[data-key]");
    held.current = { row, at: rows().indexOf(row) };
  };
}

/** @param {{column: Column<any>, name: string, down: boolean, order: import("../lib/store.js").Signal<Order>}} props */
function Head({ column, name, down, order }) {
  const here = column.name === name;
  const align = column.align === "end" ? "table__end-align" : undefined;
  if (column.sort === false || !column.value) return html`<th scope="col" role="columnheader" class=${align}>${column.title || html`<span class="visually-hidden">${TABLE.actions}</span>`}</th>`;
  const turn = () => order.set(here && down ? NONE : { name: column.name, down: here });
  return html`<th scope="col" role="columnheader" class=${align} aria-sort=${here ? (down ? "descending" : "ascending") : undefined}>
    <button type="button" class=${`table__sort${here ? " table__sort--on" : ""}`} onClick=${turn}>${column.title}
      <span class=${down ? "" : "table__up"}><${Icon} name="down" size=${12} /></span></button></th>`;
}

/** Reusing the same node signals that nothing has changed. @param {any} row @param {TableProps<any>} props @param {WeakMap<object, unknown>} drawn */
function drawnOnce(row, props, drawn) {
  const known = props.steady && drawn.get(row);
  if (known) return known;
  const node = html`<${Row} key=${props.rowKey(row)} row=${row} props=${props} />`;
  drawn.set(row, node);
  return node;
}

/** @param {{row: any, props: TableProps<any>}} props */
function Row({ row, props }) {
  const { columns, rowKey, href, toggle, rowClass, below, keys } = props;
  const target = href?.(row);
  const further = below?.(row);
  const cells = columns.map((column) => {
    const value = column.value?.(row);
    const inner = column.cell ? column.cell(row) : text(value);
    const name = `table__cell ${fixedNames(column)}${namesOf(value)}${column.value && isNothing(value) ? " table__nothing" : ""}`;
    if (!column.primary) return html`<td role="cell" class=${name} data-title=${column.title}>${inner}</td>`;
    const linked = target ? html`<a class="table__link" href=${target} dir="auto">${inner}</a>` : html`<span dir="auto">${inner}</span>`;
    return html`<th scope="row" role="rowheader" class=${`${name} table__primary`}>${linked}</th>`;
  });
  const open = (target || toggle) && ((/** @type {MouseEvent} */ event) => onRowClick(event, target, () => toggle?.(row)));
  return [
    html`<tr role="row" class=${[rowClass?.(row), open && "table__row--link"].filter(Boolean).join(" ")} data-key=${rowKey(row)}
      tabindex=${keys && !target ? 0 : undefined} onClick=${open || undefined}>${cells}</tr>`,
    further && html`<tr role="row" class="table__below"><td role="cell" colspan=${columns.length}>${further}</td></tr>`,
  ];
}

/**
 * A click on a row follows its link, or opens it, but not while text is selected or a control in it is used.
 * @param {MouseEvent} event
 * @param {string | undefined} target
 * @param {() => void} toggle
 */
function onRowClick(event, target, toggle) {
  const inside = event.target instanceof Element && event.target.closest("a, button, input, select, label, summary");
  if (event.defaultPrevented || inside || event.button !== 0 || String(getSelection())) return;
  if (!target) toggle();
  else if (event.ctrlKey || event.metaKey) open(target, "_blank", "noopener");
  else go(target);
}

/**
 * @template T
 * @param {KeyboardEvent} event
 * @param {T[]} rows
 * @param {(row: T) => string} rowKey
 * @param {Record<string, (row: T) => unknown>} [keys]
 */
function onRowKey(event, rows, rowKey, keys) {
  if (!(event.target instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
  const here = event.target.closest("tr");
  if (!here?.dataset.key || event.target.matches("input, select, textarea")) return;
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  if (step) {
    const all = [...(here.parentElement?.querySelectorAll("tr[data-key]") ?? [])];
    const next = all[all.indexOf(here) + step];
    /** @type {HTMLElement | null | undefined} */ (next?.querySelector("a, button") ?? next)?.focus();
  } else if (keys?.[event.key]) {
    const row = rows.find((one) => rowKey(one) === here.dataset.key);
    if (row) keys[event.key](row);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {string} [name] @param {Order} [first] */
function orderOf(name, first = NONE) {
  if (!name) return signal(first);
  const known = orders.get(name) ?? remembered(`order.${name}`, first);
  orders.set(name, known);
  return known;
}

/** @type {WeakMap<object, string>} */
const fixed = new WeakMap();

/** Return the class names that all cells of a column have. @param {Column<any>} column */
function fixedNames(column) {
  let names = fixed.get(column);
  if (names === undefined) {
    names = [column.align === "end" && "table__end-align", column.hideSmall && "table__hide-small", column.bare && "table__bare", column.bare === "icons" && "table__bare--icons", column.card && `table__${column.card}`, STATE.has(column.name) && "table__state"].filter(Boolean).join(" ");
    fixed.set(column, names);
  }
  return names;
}

/** Return the class names that depend on the content of a cell. @param {unknown} value */
function namesOf(value) {
  if (typeof value !== "string" || value.length <= NARROW) return "";
  return LONG.test(value) ? " table__long table__wide" : " table__wide";
}

/** @param {unknown} value */
function isNothing(value) {
  return value === null || value === undefined || value === "";
}

/** @param {unknown} value */
function text(value) {
  return isNothing(value) ? "–" : String(value);
}

/**
 * @template T
 * @param {T[]} rows
 * @param {Column<T>[]} columns
 * @param {string} filter
 * @param {WeakMap<object, string>} texts  What a row says, once it was looked through.
 * @returns {T[]}
 */
function matching(rows, columns, filter, texts) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return rows;
  return rows.filter((row) => {
    const held = /** @type {any} */ (row);
    const all = texts.get(held) ?? columns.map((column) => column.value?.(row) ?? "").join("\n").toLowerCase();
    texts.set(held, all);
    return words.every((word) => all.includes(word));
  });
}

/**
 * @template T
 * @param {T[]} rows
 * @param {Column<T>[]} columns
 * @param {string} name
 * @param {boolean} down
 * @returns {T[]}
 */
function sortRows(rows, columns, name, down) {
  const value = columns.find((column) => column.name === name)?.value;
  if (!value) return rows;
  const found = rows.map((row) => ({ row, by: value(row) }));
  found.sort((one, other) => {
    const missing = Number(one.by == null || one.by === "") - Number(other.by == null || other.by === "");
    return missing || compare(one.by, other.by) * (down ? -1 : 1); // rows without a value are last in both directions
  });
  return found.map(({ row }) => row);
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** @param {any} one @param {any} other */
function compare(one, other) {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(String(one ?? ""), String(other ?? ""));
}
