// Loads the page of the address, renders it, and keeps it up to date.
import { html, useEffect, useErrorBoundary, useRef, useState } from "../vendor/preact.js";
import { ApiProblem, call } from "../lib/api.js";
import { place } from "../lib/router.js";
import { signal, useSignal } from "../lib/store.js";
import { follow, liveness, stale } from "../lib/stream.js";
import { Empty, Failure, failureTitle, Loading } from "../parts/states.js";
import { routeOf } from "../shell/routes.js";
import { SHELL } from "../strings/shell.js";

/** @typedef {import("../lib/page.js").Page<any>} AnyPage */

/** @type {Record<string, AnyPage>} */
const modules = {};
let missed = 0;
/** The name of the page, for screen readers. */
export const pageName = signal("");

/** @param {string} file @returns {Promise<AnyPage>} */
async function moduleOf(file) {
  if (modules[file]) return modules[file];
  try {
    // A browser may cache a failed load: use another address then.
    modules[file] = (await import(`../${file}.js${missed ? `?${missed}` : ""}`)).page;
  } catch (error) {
    missed += 1;
    // An updated server has other files. If the server is unreachable, this request reports it.
    await call("GET", "/api/status");
    throw new ApiProblem({ code: "page-missing", title: SHELL.pageMissing, detail: SHELL.pageMissingText(String(error)) });
  }
  return modules[file];
}

export function PageHost() {
  const here = useSignal(place);
  const found = routeOf(here.path);
  if (!found) return html`<${NotFound} />`;
  return html`<${Boundary} key=${here.path}><${Host} key=${here.path} file=${found.route.file} area=${found.route.area} params=${found.params} query=${here.query} /><//>`;
}

/** @param {{file: string, area: string, params: Record<string, string>, query: Record<string, string>}} props */
function Host({ file, area, params, query }) {
  const [page, setPage] = useState(/** @type {AnyPage | undefined} */ (modules[file]));
  const [data, setData] = useState(/** @type {any} */ (undefined));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const [busy, setBusy] = useState(true);
  const current = useRef({ query, data, stop: new AbortController() });
  current.current.query = query;
  current.current.data = data;

  const reload = async () => {
    current.current.stop.abort();
    const stop = new AbortController();
    current.current.stop = stop;
    setBusy(true);
    try {
      const known = await moduleOf(file);
      if (stop.signal.aborted) return;
      setPage(known);
      const loaded = await known.load({ params, query: current.current.query, signal: stop.signal });
      if (stop.signal.aborted) return;
      setData(loaded);
      setError(undefined);
    } catch (problem) {
      if (stop.signal.aborted) return;
      setError(problem);
    }
    setBusy(false);
  };
  useEffect(() => () => current.current.stop.abort(), []);
  useEffect(() => void reload(), [JSON.stringify((page?.reloadOn ?? []).map((name) => query[name] ?? ""))]);
  // Data that could not be loaded while the server was unreachable are loaded when it is back.
  useEffect(() => (error instanceof ApiProblem && error.status === 0 ? liveness.watch(({ state }) => void (state === "live" && reload())) : undefined), [error]);
  useEffect(() => (page ? followPage(page, params, current, setData, reload) : undefined), [page]);
  const failed = error !== undefined && data === undefined;
  useTitle(failed ? failureTitle(error) : typeof page?.title === "function" ? page.title({ params, data }) : page?.title);
  /** @param {(data: any) => any} change */
  const change = (change) => setData(change(current.current.data));

  const old = useSignal(stale) || (error !== undefined && data !== undefined);
  if (failed) return html`<${Failure} error=${error} retry=${reload} back=${area} page />`;
  if (!page || data === undefined) return html`<${Loading} lines=${6} />`;
  return html`<div class=${`page${page.wide ? " page--wide" : ""}${old ? " page--stale" : ""}`} aria-busy=${busy}>
    ${error !== undefined && html`<${Failure} error=${error} retry=${reload} compact />`}
    <${page.View} data=${data} params=${params} query=${query} reload=${reload} change=${change} />
  </div>`;
}

/**
 * Update the page when the server reports changes.
 * @param {AnyPage} page
 * @param {Record<string, string>} params
 * @param {{current: {data: any}}} current
 * @param {(data: any) => void} setData
 * @param {() => Promise<void>} reload
 */
function followPage(page, params, current, setData, reload) {
  return follow(page.events ?? "", (event) => {
    const changed = current.current.data !== undefined && page.onEvent?.(current.current.data, event, params);
    if (!changed) return true;
    current.current.data = changed;
    setData(changed);
    return false;
  }, reload);
}

/** @param {string | undefined} title */
function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · ${SHELL.product}` : SHELL.product;
    pageName.set(title ?? "");
  }, [title]);
}

/** @param {{children: import("../vendor/preact.js").Child}} props */
function Boundary({ children }) {
  const [error, reset] = useErrorBoundary((problem) => console.error(problem));
  return error ? html`<${Failure} error=${error} retry=${reset} page />` : children;
}

function NotFound() {
  useTitle(SHELL.notFound);
  return html`<${Empty} icon="search" text=${html`<h1>${SHELL.notFound}</h1>${SHELL.notFoundText}`}
    action=${html`<a class="button" href="#/home">${SHELL.toHome}</a>`} />`;
}
