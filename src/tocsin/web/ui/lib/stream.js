// One stream for all tabs of a browser: the tab that holds the lock reads it and forwards events to the others.
import { call, reach, session } from "../lib/api.js";
import { MANIFEST } from "../lib/manifest.js";
import { readEvents, StreamRefused } from "../lib/sse.js";
import { signal, useSignal } from "../lib/store.js";

/** @typedef {import("../lib/sse.js").ServerEvent} ServerEvent */
/**
 * @typedef {object} Liveness
 * @property {"connecting" | "live" | "retrying"} state
 * @property {number} since  When this state began, by the browser's clock.
 * @property {number} [retryAt]
 * @property {boolean} [draining]  The server said that it is about to stop; it may be back within seconds.
 * @property {boolean} [away]  It did not take the last connection.
 */

const PATH = "/api/jobs/stream/updates?topics=";
const TOPICS = ["runs", "status", "deliveries", "received", ...MANIFEST.topics].join(",");
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
const POLL_MS = 30_000;
const STALE_MS = 30_000;
const HIDDEN_MS = 60_000;
/** Changes that affect counts of the status, such as today's runs, but no state. */
const COUNTED = new RegExp(`^(run\\.(updated|deleted)|(${MANIFEST.events.join("|")})\\.)`);
const REFRESH_MS = 10_000;
/** A page that shows the status loads it immediately; during many events, this many times and then at this interval. */
const URGENT_MOST = 4;
const URGENT_EVERY_MS = 5000;
const URGENT_GATHER_MS = 300;
/** Events arrive in bursts: load the affected data once per burst. */
const GATHER_MS = 250;
/** The last event of a stopping server, and how often a browser then checks whether it is back. */
const DRAINING = "status.draining";
const BACK_RETRY_MS = 2000;
const BACK_FOR_MS = 60_000;
/** The event after which a page must load its data again: events may have been lost. */
const RESYNC = "resync";

/** Whether updates arrive. */
export const liveness = signal(/** @type {Liveness} */ ({ state: "connecting", since: Date.now() }));
/** Whether the page may be outdated: no updates for half a minute. */
export const stale = signal(false);
/** Why the status could not be loaded, until it was loaded once. */
export const startProblem = signal(/** @type {unknown} */ (null));
/** The last response of GET /api/status. */
export const status = signal(/** @type {any} */ (null));

/** @type {Set<{types: string, hear: (event: ServerEvent) => void}>} */
const listeners = new Set();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("tocsin") : null;
let leading = false;
let retryMs = FIRST_RETRY_MS;
let lastId = "";
let draining = false;
let started = false;

/**
 * Receive events of the server in this tab.
 * @param {string} types  Separated by spaces; `run.*` is all that begin so. `resync` always comes.
 * @param {(event: ServerEvent) => void} hear
 * @returns {() => void}  What ends it.
 */
export function listen(types, hear) {
  const listener = { types: ` ${types} ${RESYNC} `, hear };
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Receive events, and load the affected data once per burst.
 * @param {string} types  As `listen` takes them.
 * @param {(event: ServerEvent) => boolean} concerns  Whether an event makes it necessary to read; `resync` always does.
 * @param {() => unknown} read
 * @param {number} [pauseMs]
 * @returns {() => void}  What ends it.
 */
export function follow(types, concerns, read, pauseMs = GATHER_MS) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const end = listen(types, (event) => {
    if (event.type !== RESYNC && !concerns(event)) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void read();
    }, pauseMs);
  });
  return () => {
    clearTimeout(timer);
    end();
  };
}

/** @param {ServerEvent} event */
function tell(event) {
  if (event.type === "status.changed") status.set(event.data);
  else if (COUNTED.test(event.type)) refreshSoon();
  const family = event.type.split(".")[0];
  for (const { types, hear } of [...listeners]) {
    if (types.includes(` ${event.type} `) || types.includes(` ${family}.* `)) hear(event);
  }
}

// A server that sends events is reachable, whatever the last request returned.
liveness.watch(({ state }) => state === "live" && reach.get().state === "offline" && reach.set({ state: "ok" }));

/** Start receiving updates; called once, by the shell. */
export function startStream() {
  if (started) return;
  started = true;
  channel?.addEventListener("message", onMessage);
  watchVisibility();
  setInterval(checkStale, 5000);
  // Web Locks need HTTPS or localhost. Elsewhere each tab reads its own stream.
  if (navigator.locks && channel) {
    void navigator.locks.request("tocsin-stream", lead);
    if (!leading) channel.postMessage({ kind: "hello" });
  } else void lead();
}

/** @returns {Promise<never>} */
async function lead() {
  leading = true;
  for (;;) {
    await signedIn();
    const away = !(await readOnce());
    const since = sinceOf("retrying");
    // A service that stops cleanly usually restarts.
    draining &&= Date.now() - since < BACK_FOR_MS;
    if (draining) retryMs = Math.min(retryMs, BACK_RETRY_MS);
    setLiveness({ state: "retrying", since, retryAt: Date.now() + retryMs, draining, away });
    await new Promise((done) => {
      setTimeout(done, retryMs);
      addEventListener("online", done, { once: true });
    });
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  }
}

/** @returns {Promise<boolean>}  Whether the server took the connection. */
async function readOnce() {
  const had = lastId;
  let reached = false;
  try {
    await readEvents(PATH + TOPICS, {
      lastId,
      signal: new AbortController().signal,
      onOpen() {
        const wasDown = liveness.get().state === "retrying";
        draining = false;
        reached = true;
        setLiveness({ state: "live", since: Date.now() });
        if (wasDown && !had) spread({ type: RESYNC, id: "", data: null }); // no event to continue from
        if (wasDown) void refreshStatus(); // it has no number, so it is not sent again
        retryMs = FIRST_RETRY_MS;
      },
      onEvent(event) {
        if (event.type === DRAINING) draining = true;
        else spread(event);
      },
      onId: (id) => (lastId = id),
      onRetry: (ms) => (retryMs = Math.min(Math.max(ms, 250), LAST_RETRY_MS)),
    });
  } catch (error) {
    if (error instanceof StreamRefused) {
      reached = true;
      if (error.status === 401) await call("GET", "/api/status").then(keepStatus, () => undefined); // shows the login
      if (error.retryAfter) retryMs = error.retryAfter * 1000;
    }
  }
  return reached;
}

/** Whether the server is unreachable, so that the page may be outdated. */
export function useAway() {
  const { state } = useSignal(reach);
  const { away } = useSignal(liveness);
  return state === "offline" || Boolean(away);
}

/** @param {ServerEvent} event */
function spread(event) {
  channel?.postMessage({ kind: "event", event });
  tell(event);
}

/** @param {MessageEvent} message */
function onMessage({ data }) {
  if (data.kind === "event") tell(data.event);
  else if (data.kind === "liveness") liveness.set(data.liveness);
  else if (data.kind === "status") status.set(data.status);
  else if (data.kind === "refresh" && leading) refreshNow();
  else if (data.kind === "hello" && leading) {
    channel?.postMessage({ kind: "liveness", liveness: liveness.get() });
    if (status.get()) channel?.postMessage({ kind: "status", status: status.get() });
  }
}

/** @param {Liveness} next */
function setLiveness(next) {
  liveness.set(next);
  channel?.postMessage({ kind: "liveness", liveness: next });
  checkStale();
}

/** @param {Liveness["state"]} state */
function sinceOf(state) {
  const known = liveness.get();
  return known.state === state ? known.since : Date.now();
}

let polled = 0;
function checkStale() {
  const { state, since } = liveness.get();
  const down = state !== "live" && Date.now() - since > STALE_MS;
  stale.set(down);
  // Without a stream, the page loads changes twice a minute.
  if (down && leading && !document.hidden && Date.now() - polled > POLL_MS && session.get() === "in") {
    polled = Date.now();
    void refreshStatus(true);
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let refreshing;
function refreshSoon() {
  if (!leading) return;
  refreshing ??= setTimeout(() => {
    refreshing = undefined;
    void refreshStatus();
  }, REFRESH_MS);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let urgent;
let saved = { count: URGENT_MOST, at: 0 };

/** Load the status within a second, for a page that shows its counts. */
export function refreshNow() {
  if (!leading) return channel?.postMessage({ kind: "refresh" });
  if (urgent) return;
  saved = { count: Math.min(URGENT_MOST, saved.count + (Date.now() - saved.at) / URGENT_EVERY_MS) - 1, at: Date.now() };
  urgent = setTimeout(() => {
    urgent = undefined;
    void refreshStatus(false, true);
  }, URGENT_GATHER_MS + Math.max(0, -saved.count) * URGENT_EVERY_MS);
}

/**
 * Load the status again; only the tab that reads the stream does, for all tabs.
 * @param {boolean} [asPoll]
 * @param {boolean} [anew]  Not what the server said a few seconds ago.
 */
export async function refreshStatus(asPoll = false, anew = false) {
  if (!leading && status.get()) return;
  try {
    keepStatus(await call("GET", `/api/status${anew ? "?refresh=true" : ""}`));
    if (asPoll) spread({ type: RESYNC, id: "", data: null });
  } catch (error) {
    // If a page is shown, the header reports that the server is unreachable, and the last data stay.
    if (!status.get()) startProblem.set(error);
  }
}

/** @param {import("../lib/api.js").Answer} answer */
function keepStatus(answer) {
  startProblem.set(null);
  status.set(answer.data);
  channel?.postMessage({ kind: "status", status: answer.data });
}

/** @returns {Promise<void>} */
function signedIn() {
  return new Promise((done) => {
    if (session.get() === "in") return done();
    const end = session.watch((state) => {
      if (state !== "in") return;
      end();
      done();
    });
  });
}

/** A tab that was hidden for long may have been suspended and have missed events. */
function watchVisibility() {
  let hiddenAt = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hiddenAt = Date.now();
    else if (hiddenAt && Date.now() - hiddenAt > HIDDEN_MS) tell({ type: RESYNC, id: "", data: null });
  });
}
