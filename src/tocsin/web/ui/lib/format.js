// Formatting of times, durations and sizes.
import { signal } from "../lib/store.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** @type {[Intl.RelativeTimeFormatUnit, number, number][]} unit, its length, up to which distance it is used */
const UNITS = [
  ["second", SECOND, MINUTE],
  ["minute", MINUTE, HOUR],
  ["hour", HOUR, DAY],
  ["day", DAY, 100 * DAY], // "in 2 months" would hide a month
  ["month", 30 * DAY, 730 * DAY],
  ["year", 365 * DAY, Infinity],
];
// Distances, not calendar days: 40 hours ahead is not always "tomorrow".
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });
const numberFormat = new Intl.NumberFormat("en");
/** @satisfies {Record<string, Intl.DateTimeFormatOptions>} */
const FORMATS = {
  whole: {
    weekday: "short", day: "numeric", month: "short", year: "numeric",
    hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short",
  },
  day: { day: "numeric", month: "short" },
  clock: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  moment: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
};
/** @type {Map<string, Intl.DateTimeFormat>} */
const dateFormats = new Map();

/** The browser's zone; read again when the page becomes visible: the user may have travelled. */
let ownZone = "";
/** How far the server's clock is ahead of the browser's, in milliseconds, so that a wrong local clock has no effect. */
let ahead = 0;

/** The current time by the server's clock; changes twice a minute. */
export const minute = signal(Date.now());
setInterval(() => {
  if (!document.hidden) minute.set(now());
}, 30 * SECOND);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  ownZone = "";
  minute.set(now());
});

/** @returns {number}  Milliseconds since 1970 by the server's clock. */
export function now() {
  return Date.now() + ahead;
}

/** @param {string | null} date  The header `Date` of an answer. */
export function setServerTime(date) {
  const found = date ? Date.parse(date) - Date.now() : NaN;
  // The header has whole seconds, and the response took time: ignore small differences.
  if (Number.isFinite(found)) ahead = Math.abs(found) > 5 * SECOND ? found : 0;
}

/** @returns {string}  The zone of the browser, such as `Europe/Berlin`. */
export function browserZone() {
  ownZone ||= Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"; // reading it takes longer than formatting a date
  return ownZone;
}

/** @returns {string[]}  The zones that a person may choose, with the likely ones first. */
export function zones() {
  return [...new Set([browserZone(), "UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])])];
}

/**
 * @param {string | number} time
 * @param {string | null} [zone]  That of the browser where there is none.
 * @returns {string}  Such as `Fri 20 Nov 2026, 09:00:05 CET`; empty if it is not a time.
 */
export function absolute(time, zone) {
  return formatted(time, zone ?? browserZone(), "whole");
}

/**
 * @param {string | number} time
 * @param {string} [zone]
 * @returns {string}  Such as `09:00`, and `20 Nov, 09:00` on another day than today.
 */
export function clockTime(time, zone = browserZone()) {
  const today = formatted(time, zone, "day") === formatted(now(), zone, "day");
  return formatted(time, zone, today ? "clock" : "moment");
}

/**
 * @param {string | number} time
 * @param {number} [from]
 * @returns {string}  Such as `in 5 min.` or `2 hr. ago`; `now` within five seconds.
 */
export function relative(time, from = now()) {
  const distance = new Date(time).getTime() - from;
  if (Number.isNaN(distance)) return "";
  if (Math.abs(distance) < 5 * SECOND) return "now";
  const found = UNITS.find(([, , upTo]) => Math.abs(distance) < upTo);
  const [unit, length] = found ?? UNITS[UNITS.length - 1];
  return relativeFormat.format(Math.trunc(distance / length), unit).replace(/\./g, "");
}

/**
 * @param {number | null | undefined} ms
 * @returns {string}  Such as `41 ms`, `1.2 s`, `3 m 05 s`, `2 h 10 m`, and `5 m` for whole minutes; a dash where there is none.
 */
export function duration(ms) {
  if (ms == null || !Number.isFinite(ms)) return "–";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m${rest(ms % MINUTE, SECOND, "s")}`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h${rest(ms % HOUR, MINUTE, "m")}`;
  return `${Math.floor(ms / DAY)} d${rest(ms % DAY, HOUR, "h")}`;
}

/**
 * @param {number | null | undefined} count
 * @returns {string}  Such as `512 B` or `1.4 MiB`.
 */
export function bytes(count) {
  if (count == null || !Number.isFinite(count)) return "–";
  if (count < 1024) return `${count} B`;
  const power = Math.min(Math.floor(Math.log2(count) / 10), 4);
  const amount = count / 1024 ** power;
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${["KiB", "MiB", "GiB", "TiB"][power - 1]}`;
}

/**
 * @param {number | null | undefined} value
 * @returns {string}  With separators: `12,345`.
 */
export function number(value) {
  return value == null ? "–" : numberFormat.format(value);
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 * @returns {string}  Such as `1 job` or `12 jobs`.
 */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Nothing for a round time, such as a limit that a person set. @param {number} ms @param {number} length @param {string} unit */
function rest(ms, length, unit) {
  return ms ? ` ${String(Math.floor(ms / length)).padStart(2, "0")} ${unit}` : "";
}

/**
 * @param {string | number} time
 * @param {string} zone
 * @param {keyof typeof FORMATS} name
 */
function formatted(time, zone, name) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  const options = FORMATS[name];
  const key = `${name} ${zone}`;
  let format = dateFormats.get(key);
  if (!format) {
    try {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
    } catch {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC", timeZoneName: "short" }); // unknown zone
    }
    dateFormats.set(key, format);
  }
  return format.format(date);
}
