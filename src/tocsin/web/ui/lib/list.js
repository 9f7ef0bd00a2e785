// Lists that are loaded in pages.
import { api } from "../lib/api.js";

/**
 * @template T
 * @typedef {import("../types/records.js").List<T>} List
 */

/**
 * Return the function that `Table` calls to load more; undefined on the last page.
 * @template T
 * @param {List<T>} data
 * @param {(change: (data: List<T>) => List<T>) => void} change
 * @param {string} path
 * @param {import("../lib/api.js").CallOptions["query"]} [query]  The one that the first page was read with.
 */
export function nextPage(data, change, path, query) {
  const cursor = data.next_cursor;
  if (!cursor) return undefined;
  return async () => {
    const more = await api.get(path, { ...query, cursor });
    change((now) => ({ ...more, items: [...now.items, ...more.items] }));
  };
}

/**
 * Replace the record with the same key; a new one is added at the start.
 * @template {object} T
 * @template {{items: T[]}} L
 * @param {L} data
 * @param {T} record
 * @param {keyof T} key
 * @returns {L}
 */
export function withRecord(data, record, key) {
  const known = data.items.some((item) => item[key] === record[key]);
  const items = known ? data.items.map((item) => (item[key] === record[key] ? record : item)) : [record, ...data.items];
  return { ...data, items };
}

/** At most this many records of the stream are added to a loaded list. */
const MOST_HEARD = 200;

/**
 * As `withRecord`, for changes of the stream: `undefined`, which reads the list again, before a page that is left
 * open for days holds too much.
 * @template {object} T
 * @template {{items: T[], heard?: number}} L
 * @param {L} data
 * @param {T} record
 * @param {keyof T} key
 * @returns {L | undefined}
 */
export function withHeard(data, record, key) {
  const found = withRecord(data, record, key);
  if (found.items.length === data.items.length) return found;
  const heard = (data.heard ?? 0) + 1;
  return heard > MOST_HEARD ? undefined : { ...found, heard };
}

/**
 * @template {object} T
 * @template {{items: T[]}} L
 * @param {L} data
 * @param {T[keyof T]} value
 * @param {keyof T} key
 * @returns {L}
 */
export function withoutRecord(data, value, key) {
  return { ...data, items: data.items.filter((item) => item[key] !== value) };
}

/**
 * Load every page of a list that a page needs completely, for example for a selection.
 * @param {string} path
 * @param {import("../lib/api.js").CallOptions["query"]} [query]
 * @param {import("../lib/api.js").CallOptions} [options]
 * @returns {Promise<any[]>}
 */
export async function allPages(path, query, options) {
  const found = [];
  let cursor = undefined;
  do {
    const next = /** @type {List<any>} */ (await api.get(path, { ...query, limit: 200, cursor }, options));
    found.push(...next.items);
    cursor = next.next_cursor ?? undefined;
  } while (cursor);
  return found;
}
