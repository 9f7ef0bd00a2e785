// Server-sent events with `fetch`: unlike EventSource, it reports rejections and receives events of any name.

/**
 * @typedef {object} ServerEvent
 * @property {string} type
 * @property {string} id
 * @property {any} data  Parsed JSON, or the text where it is not JSON.
 */
/**
 * @typedef {object} Reading
 * @property {string} [lastId]  Where to go on.
 * @property {(event: ServerEvent) => void} onEvent
 * @property {(id: string) => void} [onId]  Where to go on, also where no event came with it.
 * @property {(retryMs: number) => void} [onRetry]  The server says how long to wait before the next try.
 * @property {() => void} [onOpen]
 * @property {AbortSignal} signal
 */

/** The server sends a comment every 15 s: after three missing ones, the connection is dead. */
const SILENCE_MS = 50_000;

/** The server rejected the stream. */
export class StreamRefused extends Error {
  /** @param {Response} response */
  constructor(response) {
    super(`The stream was refused with ${response.status}.`);
    this.status = response.status;
    this.retryAfter = Number(response.headers.get("Retry-After")) || 0;
  }
}

/**
 * Read a stream until it ends, breaks or is aborted.
 * @param {string} path
 * @param {Reading} reading
 * @returns {Promise<void>}  Rejects when it breaks or is refused.
 */
export async function readEvents(path, reading) {
  const stop = new AbortController();
  const cancel = () => stop.abort();
  reading.signal.addEventListener("abort", cancel, { once: true });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let silence;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(cancel, SILENCE_MS);
  };
  try {
    if (reading.signal.aborted) return;
    heard();
    /** @type {Record<string, string>} */
    const headers = { Accept: "text/event-stream", "X-Requested-With": "dashboard" };
    if (reading.lastId) headers["Last-Event-ID"] = reading.lastId;
    const response = await fetch(path, { headers, signal: stop.signal, cache: "no-store", credentials: "same-origin" });
    if (!response.ok || !response.body) throw new StreamRefused(response);
    reading.onOpen?.();
    const parse = eventParser(reading);
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      parse(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(silence);
    reading.signal.removeEventListener("abort", cancel);
  }
}

/**
 * @param {Pick<Reading, "onEvent" | "onId" | "onRetry" | "lastId">} reading
 * @returns {(text: string) => void}  Takes the text piece by piece, cut anywhere.
 */
export function eventParser(reading) {
  let rest = "";
  let type = "";
  let id = reading.lastId ?? "";
  /** @type {string[]} */
  let data = [];
  /** @param {string} line */
  function takeLine(line) {
    if (line === "") {
      reading.onId?.(id);
      if (data.length) reading.onEvent({ type: type || "message", id, data: valueOf(data.join("\n")) });
      type = "";
      data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") type = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
    else if (field === "retry" && /^\d+$/.test(value)) reading.onRetry?.(Number(value));
  }
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) takeLine(line);
  };
}

/** @param {string} text */
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
