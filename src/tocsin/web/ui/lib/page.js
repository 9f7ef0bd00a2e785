// The contract of a page: a module in `pages/` that exports `page`. The shell loads, renders and refreshes it.

/** @typedef {import("../vendor/preact.js").Child} Child */
/** @typedef {import("../lib/sse.js").ServerEvent} ServerEvent */
/**
 * @typedef {object} PageContext
 * @property {Record<string, string>} params  Parts of the address that the route names: `{id: "0199"}`.
 * @property {Record<string, string>} query  What stands after `?` in the address.
 * @property {AbortSignal} signal  Ends when the person goes elsewhere; hand it to `api`.
 */
/**
 * What `View` gets.
 * @template D
 * @typedef {object} PageProps
 * @property {D} data
 * @property {Record<string, string>} params
 * @property {Record<string, string>} query
 * @property {() => Promise<void>} reload  Read everything again; what is shown stays until the answer is there.
 * @property {(change: (data: D) => D) => void} change  Show the record that the server answered with.
 */
/**
 * @template D
 * @typedef {object} Page
 * @property {string | ((context: {params: Record<string, string>, data: D | undefined}) => string)} title
 * @property {(context: PageContext) => Promise<D>} load
 * @property {(props: PageProps<D>) => Child} View
 * @property {string[]} [reloadOn]  Names of the query that `load` reads; others are for `View` alone.
 * @property {string} [events]  What changes this page: `"cron.* run.updated"`.
 * @property {(data: D, event: ServerEvent, params: Record<string, string>) => D | undefined} [onEvent]
 *   Return the changed data, or `undefined` to read everything again. Without it every event does that.
 * @property {boolean} [wide]  Uses the whole width, such as a board.
 */

/**
 * Declare the type of a page's data once: `View` gets what `load` returns.
 * @template D
 * @param {Page<D>} page
 * @returns {Page<D>}
 */
export function definePage(page) {
  return page;
}
