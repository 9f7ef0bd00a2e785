// All addresses and their modules, from the manifest.
import { MANIFEST } from "../lib/manifest.js";
import { match } from "../lib/router.js";

/**
 * @typedef {object} Route
 * @property {string} pattern
 * @property {string} file  The module, without its ending.
 * @property {string} area  The page of the menu that is marked.
 */

/** @type {Route[]} */
const ROUTES = MANIFEST.pages.flatMap(({ name, routes }) => Object.entries(routes).map(([path, file]) => ({ pattern: `/${name}${path}`, file, area: name })));

/**
 * @param {string} path
 * @returns {{route: Route, params: Record<string, string>} | null}
 */
export function routeOf(path) {
  for (const route of ROUTES) {
    const params = match(route.pattern, path);
    if (params) return { route, params };
  }
  return null;
}
