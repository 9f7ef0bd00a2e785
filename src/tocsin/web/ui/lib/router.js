// The address of a page is the part after `#`: it works wherever the document is served from.
import { signal } from "../lib/store.js";

/**
 * @typedef {object} Place
 * @property {string} path  Such as `/cron/0199`.
 * @property {Record<string, string>} query
 * @property {string} hash  The whole, as in the address bar.
 */

const HOME = "/home";

/** The current address. */
export const place = signal(read());
addEventListener("hashchange", () => place.set(read()));

/** @returns {Place} */
function read() {
  return placeOf(location.hash);
}

/**
 * @param {string} hash
 * @returns {Place}
 */
export function placeOf(hash) {
  const [address, query] = hash.replace(/^#?\/?/, "/").split("?", 2);
  const path = address.replace(/\/+$/, "") || HOME;
  return { path, query: Object.fromEntries(new URLSearchParams(query ?? "")), hash };
}

/**
 * @param {string} pattern  Such as `/cron/:id`.
 * @param {string} path
 * @returns {Record<string, string> | null}  The parameters, or null where it does not match.
 */
export function match(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  /** @type {Record<string, string>} */
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = decoded(given[index]);
    else if (part !== given[index]) return null;
  }
  return params;
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray percent sign: keep it as it is
  }
}

/**
 * Return the address of a page: link("cron", job.id) is `#/cron/0199`.
 * @param {...(string | number)} parts  Encoded here.
 */
export function link(...parts) {
  return `#/${parts.map((part) => encodeURIComponent(part)).join("/")}`;
}

/** @param {string} hash */
export function go(hash) {
  location.hash = hash;
}

/**
 * Store filters in the address, so that a reload and a shared link show the same; going back skips them.
 * @param {Record<string, string | null | undefined>} change  Empty values are removed.
 */
export function setQuery(change) {
  const here = place.get();
  const found = Object.entries({ ...here.query, ...change }).filter(([, value]) => value);
  const query = new URLSearchParams(/** @type {[string, string][]} */ (found)).toString();
  const hash = `#${here.path}${query ? `?${query}` : ""}`;
  if (hash === here.hash) return;
  history.replaceState(history.state, "", hash);
  place.set(placeOf(hash));
}
