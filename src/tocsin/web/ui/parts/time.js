// Times and durations as elements: relative as text, absolute with the zone on hover and for machines.
import { html, useEffect, useState } from "../vendor/preact.js";
import { absolute, clockTime, duration, minute, now, relative } from "../lib/format.js";
import { useSignal } from "../lib/store.js";
import { PARTS } from "../strings/states.js";

const SECOND_MS = 1000;

/**
 * @param {{at: string | number | null | undefined, zone?: string, clock?: boolean, none?: string}} props
 *   `clock` shows the time of day and not the distance; `none` is shown where there is no time.
 */
export function Time({ at, zone, clock = false, none = PARTS.never }) {
  useSignal(minute); // the distance changes over time
  if (at === null || at === undefined || at === "") return html`<span class="muted">${none}</span>`;
  const iso = new Date(at).toJSON();
  if (!iso) return html`<span>${String(at)}</span>`;
  const whole = absolute(at, zone);
  return html`<time class="time" datetime=${iso} title=${whole}>${clock ? clockTime(at, zone) : relative(at, now())}</time>`;
}

/**
 * The duration of a process, or the time since its start.
 * @param {{ms?: number | null, since?: string | null}} props
 */
export function Duration({ ms, since }) {
  const runs = ms == null && since != null;
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!runs) return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), SECOND_MS);
    return () => clearInterval(timer);
  }, [runs]);
  const seconds = runs ? Math.max(0, Math.floor((now() - new Date(since ?? 0).getTime()) / SECOND_MS)) : 0;
  return html`<span class="time">${!runs ? duration(ms) : seconds < 60 ? `${seconds} s` : duration(seconds * SECOND_MS)}</span>`;
}
