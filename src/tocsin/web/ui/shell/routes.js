// Every page: its address, its module in `pages/`, where the menu shows it, and the key that goes there.
import { match } from "../lib/router.js";

/**
 * @typedef {object} Route
 * @property {string} pattern
 * @property {string} file  The module: `pages/<file>.js`.
 * @property {string} area  The entry of the menu that is marked.
 */
/**
 * @typedef {object} Area
 * @property {string} name  Of its address, its icon and its word in the catalogue.
 * @property {"operate" | "talk" | "knowledge" | "secure" | "system"} group
 * @property {string} key  After `g`.
 * @property {string} [subsystem]  Whose state the menu shows.
 */

/** @type {Area[]} In the order of the menu. */
export const AREAS = [
  { name: "home", group: "operate", key: "h" },
  { name: "cron", group: "operate", key: "c", subsystem: "cron" },
  { name: "workflows", group: "operate", key: "w", subsystem: "workflows" },
  { name: "runs", group: "operate", key: "r" },
  { name: "ssh", group: "operate", key: "s", subsystem: "ssh" },
  { name: "jobs", group: "operate", key: "j" },
  { name: "msg", group: "talk", key: "m", subsystem: "messaging" },
  { name: "deliveries", group: "talk", key: "d" },
  { name: "chat", group: "talk", key: "t" },
  { name: "notifications", group: "talk", key: "n" },
  { name: "triggers", group: "talk", key: "i" },
  { name: "access", group: "talk", key: "p" },
  { name: "memory", group: "knowledge", key: "y", subsystem: "memory" },
  { name: "skills", group: "knowledge", key: "k", subsystem: "skills" },
  { name: "audit", group: "secure", key: "a", subsystem: "audit" },
  { name: "vault", group: "secure", key: "v", subsystem: "vault" },
  { name: "watchers", group: "system", key: "e", subsystem: "watchers" },
  { name: "browser", group: "system", key: "b", subsystem: "browser" },
  { name: "settings", group: "system", key: "o" },
];

/** What the bar at the bottom of a small screen shows beside "More". */
export const BOTTOM = ["home", "cron", "msg", "chat"];

/** Pages for one record: pattern and module. */
const DETAILS = [
  ["/cron/new", "cron_edit"],
  ["/cron/:id", "cron_job"],
  ["/cron/:id/edit", "cron_edit"],
  ["/workflows/:name", "workflow"],
  ["/runs/:id", "run"],
  ["/ssh/:name", "ssh_host"],
  ["/jobs/:id", "job"],
  ["/deliveries/:id", "delivery"],
  ["/chat/:id", "chat"],
  ["/memory/:key", "memory"],
  ["/skills/:name", "skill"],
  ["/watchers/:name", "watcher"],
  ["/docs", "docs"],
  ["/docs/:name", "docs"],
];

/** @type {Route[]} */
export const ROUTES = [
  ...AREAS.map(({ name }) => ({ pattern: `/${name}`, file: name, area: name })),
  ...DETAILS.map(([pattern, file]) => ({ pattern, file, area: pattern.split("/")[1] })),
];

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
