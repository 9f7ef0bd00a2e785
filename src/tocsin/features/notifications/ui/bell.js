// The bell: the number of unread notifications; the newest are loaded when it is opened.
import { html, useEffect, useState } from "tocsin/vendor/preact.js";
import { useSignal } from "tocsin/lib/store.js";
import { listen, refreshNow, status } from "tocsin/lib/stream.js";
import { Icon } from "tocsin/parts/icon.js";
import { Later } from "tocsin/parts/later.js";
import { Popover } from "tocsin/parts/popover.js";
import { BELL } from "./bell_strings.js";

const loadPanel = () => import("./bell_panel.js").then((module) => module.Unread);

export function Bell() {
  const known = useSignal(status);
  const [heard, setHeard] = useState(0);
  useEffect(() => setHeard(0), [known]);
  useEffect(() => listen("notification.*", ({ type }) => {
    if (type === "notification.created") setHeard((count) => count + 1);
    else if (type !== "resync") refreshNow(); // a notification may have been read elsewhere
  }), []);
  const unread = (known?.unread_notifications ?? 0) + heard;
  const label = BELL.label(unread);
  const button = html`<${Icon} name="notifications" />${unread > 0 && html`<span class="badge badge--over">${unread > 99 ? "99+" : unread}</span>`}`;
  return html`<${Popover} label=${label} name=${BELL.title} button=${button}>
    ${(/** @type {() => void} */ close) => html`<${Later} load=${loadPanel} props=${{ close }} />`}
  <//>`;
}
