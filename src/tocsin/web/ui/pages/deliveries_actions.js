// The actions of a delivery, in the list and on its own page.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { channelName } from "../lib/channels.js";
import { ActionButton } from "../parts/action.js";
import { confirm } from "../parts/dialog.js";
import { Status } from "../parts/status.js";
import { toast } from "../parts/toast.js";
import { DELIVERIES } from "../strings/deliveries.js";

/** @typedef {import("../types/records.js").Delivery} Delivery */

const WAITING = ["queued", "retry_wait"];
const NEEDING_PERSON = ["dead", "uncertain"];
const REPLAYABLE = ["dead", "uncertain", "cancelled", "expired"];

/** @param {{delivery: Delivery}} props */
export function State({ delivery }) {
  const [state, word] = DELIVERIES.states[delivery.status] ?? [delivery.status, delivery.status];
  return html`<${Status} state=${state} label=${word} title=${delivery.error || undefined} />`;
}

/** The destination, with the channel's display name. @param {{to: {channel: string, target: string}}} props */
export function Target({ to }) {
  return html`<span class="target">${channelName(to.channel)} <span class="target__name" dir="auto">${to.target}</span></span>`;
}

/** @param {{delivery: Delivery, show: (after: Delivery) => void, small?: boolean}} props */
export function Actions({ delivery, show, small = false }) {
  const replay = async () => {
    const sure = delivery.status !== "uncertain" && !delivery.parts_sent;
    const question = { title: DELIVERIES.replayTitle(delivery.target), text: DELIVERIES.replayText, action: DELIVERIES.replay };
    if (!sure && !(await confirm(question))) return;
    show(await api.post(url`/api/deliveries/${delivery.id}/replay`));
    toast.ok(DELIVERIES.replayed);
  };
  const dismiss = async () => {
    show(await api.post(url`/api/deliveries/${delivery.id}/dismiss`));
    toast.ok(DELIVERIES.dismissed);
  };
  const retry = async () => {
    show(await api.post(url`/api/deliveries/${delivery.id}/retry`));
    toast.ok(DELIVERIES.retried);
  };
  const cancel = async () => {
    if (!(await confirm({ title: DELIVERIES.cancelTitle, text: DELIVERIES.cancelText, action: DELIVERIES.cancel, danger: true }))) return;
    show(await api.post(url`/api/deliveries/${delivery.id}/cancel`));
    toast.undo(DELIVERIES.cancelled, async () => show(await api.post(url`/api/deliveries/${delivery.id}/replay`)));
  };
  return html`<span class="row">
    ${REPLAYABLE.includes(delivery.status) && html`<${ActionButton} small=${small} about=${small ? delivery.target : undefined} icon="retry" run=${replay}>${DELIVERIES.replay}<//>`}
    ${NEEDING_PERSON.includes(delivery.status) && !delivery.dismissed && html`<${ActionButton} small=${small} about=${small ? delivery.target : undefined} run=${dismiss}>${DELIVERIES.dismiss}<//>`}
    ${delivery.status === "retry_wait" && html`<${ActionButton} small=${small} about=${small ? delivery.target : undefined} icon="play" run=${retry}>${DELIVERIES.retry}<//>`}
    ${WAITING.includes(delivery.status) && html`<${ActionButton} small=${small} about=${small ? delivery.target : undefined} run=${cancel}>${DELIVERIES.cancel}<//>`}
  </span>`;
}
