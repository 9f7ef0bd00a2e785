// Observable values, and values in the browser's storage.
import { useLayoutEffect, useReducer } from "../vendor/preact.js";

/**
 * A value that tells its watchers when it changes.
 * @template T
 * @typedef {object} Signal
 * @property {() => T} get
 * @property {(next: T) => void} set
 * @property {(change: (old: T) => T) => void} update
 * @property {(watcher: (value: T) => void) => () => void} watch  Returns what ends the watching.
 */

/**
 * @template T
 * @param {T} initial
 * @returns {Signal<T>}
 */
export function signal(initial) {
  let value = initial;
  /** @type {Set<(value: T) => void>} */
  const watchers = new Set();
  /** @param {T} next */
  function set(next) {
    if (Object.is(next, value)) return;
    value = next;
    for (const watcher of [...watchers]) watcher(value);
  }
  return {
    get: () => value,
    set,
    update: (change) => set(change(value)),
    watch(watcher) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

/**
 * Return the value, and render the component again when it changes.
 * @template T
 * @param {Signal<T>} source
 * @returns {T}
 */
export function useSignal(source) {
  const [, redraw] = useReducer((/** @type {number} */ count, /** @type {void} */ _) => count + 1, 0);
  const seen = source.get();
  useLayoutEffect(() => {
    if (source.get() !== seen) redraw();
    return source.watch(() => redraw());
  }, [source]);
  return seen;
}

/**
 * A signal that is stored in the browser; it also works if storage is unavailable.
 * @template T
 * @param {string} name
 * @param {T} initial
 * @param {(value: unknown) => boolean} [accepts]  Whether a stored value may be used.
 * @returns {Signal<T>}
 */
export function remembered(name, initial, accepts = (value) => typeof value === typeof initial) {
  const key = `tocsin.${name}`;
  const kept = recall("local", key);
  const source = signal(kept !== undefined && accepts(kept) ? /** @type {T} */ (kept) : initial);
  source.watch((value) => store("local", key, value));
  return source;
}

/** @typedef {"local" | "session"} Area  Kept for ever, or until the tab is closed. */

/**
 * @param {Area} area
 * @param {string} key
 * @returns {unknown}  `undefined` where there is none, or storage is refused.
 */
export function recall(area, key) {
  try {
    const text = storageOf(area).getItem(key);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined; // unavailable, or written by other code
  }
}

/**
 * @param {Area} area
 * @param {string} key
 * @param {unknown} value  `undefined` removes it.
 * @returns {boolean}  Whether it was stored.
 */
export function store(area, key, value) {
  try {
    if (value === undefined) storageOf(area).removeItem(key);
    else storageOf(area).setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false; // unavailable or full
  }
}

/** @param {Area} area */
function storageOf(area) {
  return area === "local" ? localStorage : sessionStorage;
}
