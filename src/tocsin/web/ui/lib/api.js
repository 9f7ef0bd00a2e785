// The client of the REST API: the common part of all calls.
import { setServerTime } from "../lib/format.js";
import { signal } from "../lib/store.js";
import { API } from "../strings/lib.js";

/**
 * @typedef {object} ProblemEntry
 * @property {string} [pointer]  Where in the request: `#/schedule`.
 * @property {string} [code]
 * @property {string} detail
 * @property {string} [suggestion]
 * @property {number} [line]
 * @property {number} [column]
 * @property {string} [key]
 */
/**
 * @typedef {object} CallOptions
 * @property {Record<string, string | number | boolean | null | undefined>} [query]  Empty values are left out.
 * @property {string} [ifMatch]  The ETag that a change relies on; see `api.etagOf`.
 * @property {boolean} [create]  Replace nothing: the server refuses with 412 where there is a record already.
 * @property {string} [key]  The Idempotency-Key; a POST without one gets a new one.
 * @property {string} [accept]
 * @property {AbortSignal} [signal]
 * @property {number} [timeout]  In milliseconds.
 * @property {string} [type]  Media type of a body that is a string or a Blob.
 * @property {(share: number) => void} [progress]  Gets the share of the body that was sent.
 */
/** @typedef {import("../types/api.js").GetAnswers} GetAnswers */
/**
 * @typedef {object} Answer
 * @property {any} data  The parsed JSON, or the text of anything else.
 * @property {string} etag
 */

/** An error response of the server, or a missing response, with all details. */
export class ApiProblem extends Error {
  /** @param {{status?: number, code: string, title?: string, detail?: string, requestId?: string, retryAfter?: number,
   *   errors?: ProblemEntry[], data?: any}} facts */
  constructor(facts) {
    super(facts.detail || facts.title || facts.code);
    this.name = "ApiProblem";
    this.status = facts.status ?? 0; // 0: no response
    this.code = facts.code;
    this.title = facts.title || API.failed;
    this.detail = facts.detail || "";
    this.requestId = facts.requestId || "";
    this.retryAfter = facts.retryAfter ?? 0; // in seconds
    this.errors = facts.errors ?? [];
    this.data = facts.data; // the whole body, for responses with more fields
  }

  /** Errors by field: `{"schedule": "minute 61 is outside 0-59"}`; nested ones as `retry/delay_seconds`. */
  get fields() {
    /** @type {Record<string, string>} */
    const found = {};
    for (const error of this.errors) {
      if (!error.pointer?.startsWith("#/")) continue;
      const name = error.pointer.slice(2).replace(/~1/g, "/").replace(/~0/g, "~");
      const hint = error.suggestion ? ` ${API.didYouMean(error.suggestion)}` : "";
      found[name] = found[name] ? `${found[name]} ${error.detail}${hint}` : error.detail + hint;
    }
    return found;
  }
}

/** Whether the browser is signed in: `unknown` until the first response; `needed` shows the login. */
export const session = signal(/** @type {"unknown" | "in" | "needed"} */ ("unknown"));
/** The reachability of the server. */
export const reach = signal(/** @type {{state: "ok" | "offline" | "waiting", until?: number, crowded?: boolean}} */ ({ state: "ok" }));

const GET_TIMEOUT = 20_000;
const CHANGE_TIMEOUT = 60_000;
const MAX_WAIT_S = 65;
const TRIES = 3;
/** @type {Map<string, string>} */
const etags = new Map();
/** @type {((signedIn: boolean) => void)[]} */
let waiting = [];

/** Resolve the requests that wait for a login. @param {boolean} signedIn */
export function endLogin(signedIn) {
  const told = waiting;
  waiting = [];
  session.set(signedIn ? "in" : "needed");
  for (const tell of told) tell(signedIn);
}

/** @returns {Promise<boolean>}  Whether the login succeeded. */
function waitForLogin() {
  session.set("needed");
  return new Promise((tell) => waiting.push(tell));
}

/**
 * Send one request. Signs in and repeats it after a 401; waits and repeats a GET after a 429 or 503.
 * @param {string} method
 * @param {string} path  Beginning with `/`; encode names in it with `encodeURIComponent`, or use `url`.
 * @param {unknown} [body]
 * @param {CallOptions} [options]
 * @returns {Promise<Answer>}
 */
export async function call(method, path, body, options = {}) {
  const key = options.key ?? (method === "POST" && path.startsWith("/api/") ? newKey() : undefined);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await once(method, path, body, { ...options, key });
      reached();
      return answer;
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      if (error.status === 401 && path !== "/login" && (await waitForLogin())) continue;
      if (await mayRepeat(error, method, attempt, options.signal)) continue;
      if (error.status) reached();
      throw error;
    }
  }
}

/** A response to another request does not end the wait that the server asked for. */
function reached() {
  const { state, until } = reach.get();
  if (state !== "waiting" || Date.now() >= (until ?? 0)) reach.set({ state: "ok" });
}

/**
 * @param {ApiProblem} error
 * @param {string} method
 * @param {number} attempt
 * @param {AbortSignal} [cancel]
 */
async function mayRepeat(error, method, attempt, cancel) {
  if (error.status === 0) reach.set({ state: "offline" });
  const passing = error.status === 429 || error.status === 503 || error.status === 0;
  if (!passing || method !== "GET" || attempt >= TRIES) return false;
  const seconds = error.retryAfter || attempt;
  if (seconds > MAX_WAIT_S || (error.status === 0 && navigator.onLine === false)) return false;
  if (error.status) reach.set({ state: "waiting", until: Date.now() + seconds * 1000, crowded: error.status === 429 });
  await new Promise((done) => setTimeout(done, seconds * 1000));
  return !cancel?.aborted;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {CallOptions} options
 * @returns {Promise<Answer>}
 */
async function once(method, path, body, options) {
  const stop = new AbortController();
  const limit = options.timeout ?? (method === "GET" ? GET_TIMEOUT : CHANGE_TIMEOUT);
  const timer = setTimeout(() => stop.abort(new ApiProblem({ code: "timeout", title: API.timeout })), limit);
  const cancel = () => stop.abort(options.signal?.reason);
  if (options.signal?.aborted) cancel();
  options.signal?.addEventListener("abort", cancel, { once: true });
  try {
    const init = {
      method, signal: stop.signal, headers: headersOf(body, options), credentials: /** @type {const} */ ("same-origin"),
      cache: /** @type {const} */ ("no-store"), redirect: /** @type {const} */ ("follow"), body: encoded(body),
    };
    const address = withQuery(path, options.query);
    const response = options.progress ? await (await import("../lib/upload.js")).upload(address, init, options.progress) : await fetch(address, init);
    setServerTime(response.headers.get("Date"));
    return await answerOf(response, path, method);
  } catch (error) {
    if (options.signal?.aborted) throw new DOMException("The page asked for something else.", "AbortError");
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem({ code: "unreachable", title: API.unreachable, detail: API.unreachableDetail(method !== "GET") });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", cancel);
  }
}

/**
 * @param {unknown} body
 * @param {CallOptions} options
 */
function headersOf(body, options) {
  /** @type {Record<string, string>} */
  const headers = { "X-Requested-With": "dashboard", Accept: options.accept ?? "application/json" };
  if (body !== undefined && !(body instanceof FormData)) headers["Content-Type"] = options.type ?? "application/json";
  if (options.ifMatch) headers["If-Match"] = options.ifMatch;
  if (options.create) headers["If-None-Match"] = "*";
  if (options.key) headers["Idempotency-Key"] = options.key;
  return headers;
}

/** @param {unknown} body @returns {BodyInit | undefined} */
function encoded(body) {
  if (body === undefined) return undefined;
  const ready = typeof body === "string" || body instanceof Blob || body instanceof FormData;
  return ready ? body : JSON.stringify(body);
}

/**
 * @param {Response} response
 * @param {string} path
 * @param {string} method
 * @returns {Promise<Answer>}
 */
async function answerOf(response, path, method) {
  const type = response.headers.get("Content-Type") ?? "";
  const text = response.status === 204 ? "" : await response.text();
  const data = /[/+]json/.test(type) && text ? parsed(text) : text;
  // A failed send is a response, too: the same five fields, with `ok: false`.
  const isResult = data && typeof data === "object" && "ok" in data;
  if (!response.ok && !isResult) throw problemOf(response, data);
  if (path.startsWith("/api/")) session.set("in");
  const etag = response.headers.get("ETag") ?? "";
  if (etag) etags.set(path, etag);
  else if (method === "DELETE") etags.delete(path);
  return { data, etag };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiProblem({ code: "unreadable", title: API.unreadable, detail: API.unreadableDetail });
  }
}

/** @param {Response} response @param {any} data */
function problemOf(response, data) {
  const told = data && typeof data === "object" ? data : {};
  return new ApiProblem({
    status: response.status,
    code: told.code || `http-${response.status}`,
    title: told.title || `${API.failed} (${response.status})`,
    detail: told.detail || "",
    requestId: told.request_id || response.headers.get("X-Request-Id") || "",
    retryAfter: Number(response.headers.get("Retry-After")) || 0,
    errors: Array.isArray(told.errors) ? told.errors : [],
    data,
  });
}

/**
 * @param {string} path
 * @param {CallOptions["query"]} [query]
 */
export function withQuery(path, query) {
  const found = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (!found.length) return path;
  return `${path}?${new URLSearchParams(found.map(([name, value]) => [name, String(value)]))}`;
}

/** Return a path with encoded names: url`/api/cron/jobs/${id}`. @param {TemplateStringsArray} parts @param {...string} names */
export function url(parts, ...names) {
  return parts.reduce((path, part, index) => path + encodeURIComponent(names[index - 1]) + part);
}

/** How long after the last key the server is asked about a text, in milliseconds. */
const ASK_AFTER_MS = 350;

/** Ask after a pause, for an effect that runs at each key: the returned function ends the pause and the call. @param {(signal: AbortSignal) => unknown} ask */
export function afterPause(ask) {
  const stop = new AbortController();
  const timer = setTimeout(ask, ASK_AFTER_MS, stop.signal);
  return () => {
    clearTimeout(timer);
    stop.abort();
  };
}

/** @returns {string}  A value that names one request for ever; `randomUUID` needs HTTPS. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const api = {
  /**
   * @template {string} P
   * @param {P} path
   * @param {CallOptions["query"]} [query]
   * @param {CallOptions} [options]
   * @returns {Promise<P extends keyof GetAnswers ? GetAnswers[P] : any>}  As the API describes it.
   */
  get: async (path, query, options) => (await call("GET", path, undefined, { ...options, query })).data,
  /** @param {string} path @param {unknown} [body] @param {CallOptions} [options] @returns {Promise<any>} */
  post: async (path, body = {}, options) => (await call("POST", path, body, options)).data,
  /** @param {string} path @param {unknown} body @param {CallOptions} [options] @returns {Promise<any>} */
  patch: async (path, body, options) => (await call("PATCH", path, body, options)).data,
  /** @param {string} path @param {unknown} body @param {CallOptions} [options] @returns {Promise<any>} */
  put: async (path, body, options) => (await call("PUT", path, body, options)).data,
  /** @param {string} path @param {CallOptions} [options] @returns {Promise<any>} */
  remove: async (path, options) => (await call("DELETE", path, undefined, options)).data,
  /** Return the ETag of a record as it was last read or returned. @param {string} path */
  etagOf: (path) => etags.get(path) ?? "",
};
