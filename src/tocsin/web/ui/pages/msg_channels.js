// One card per channel: whether it works, its missing settings, and a test of its credentials.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { number } from "../lib/format.js";
import { ActionButton } from "../parts/action.js";
import { ChannelMark } from "../parts/channel_mark.js";
import { Said } from "../parts/said.js";
import { Status, toneOf } from "../parts/status.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../types/records.js").Channel & {state: string}} Channel */

/** @param {{channels: Channel[], about: Record<string, string>, reload: () => Promise<void>}} props */
export function ChannelCards({ channels, about, reload }) {
  return html`<section aria-labelledby="channels"><h2 id="channels">${MSG.channels}</h2>
    <ul class="cards channels">${channels.map((channel) => html`<li key=${channel.channel}><${Card} channel=${channel} about=${about} reload=${reload} /></li>`)}</ul></section>`;
}

/** Whether what is missing is an entry of targets.yaml, and not a setting. @param {string} name */
const isTarget = (name) => name.endsWith(" in targets.yaml");

/** @param {{channel: Channel, about: Record<string, string>, reload: () => Promise<void>}} props */
function Card({ channel, about, reload }) {
  const [state, word] = MSG.states[channel.state] ?? [channel.state, channel.state];
  const test = async () => {
    const result = await api.post(url`/api/msg/test/${channel.channel}`);
    await reload();
    if (result.ok) toast.ok(`${channel.label}: ${result.message}`);
    else toast.problem(new Error(result.error), `${channel.label}: ${word}`);
  };
  return html`<div class=${`card card--${toneOf(state)} channel`}>
    <span class="card__head"><strong class="channel__name"><${ChannelMark} channel=${channel.channel} label=${channel.label} /> ${channel.label}</strong><${Status} state=${state} label=${channel.available ? word : MSG.unavailable} /></span>
    ${channel.missing.length > 0 && channel.available && html`<div class="channel__missing"><dl>${channel.missing.map((name) => html`<dt><code>${name}</code></dt><dd class="muted"><${Said} text=${about[name] ?? (isTarget(name) ? MSG.missingTarget : MSG.missing)} /></dd>`)}</dl>
      <p class="muted">${channel.missing.every(isTarget) ? MSG.missingTargetHint : MSG.missingHint}</p></div>`}
    ${channel.available ? html`<${Facts} channel=${channel} />` : html`<p class="muted channel__missing">${MSG.unavailableText}</p>`}
    ${channel.configured && html`<span class="channel__foot"><${LastTest} channel=${channel} /><${ActionButton} small about=${channel.label} run=${test}>${MSG.test}<//></span>`}
  </div>`;
}

/** @param {{channel: Channel}} props */
function Facts({ channel }) {
  return html`<dl class="channel__facts">
      <dt>${MSG.sent}</dt><dd>${number(channel.sent_24h)}</dd>
      <dt>${MSG.failed}</dt><dd>${number(channel.failed_24h)}</dd>
      <dt>${MSG.receives}</dt><dd>${MSG.inbound[channel.capabilities.inbound]}</dd>
      <dt>${MSG.limit}</dt><dd>${channel.capabilities.max_length ? MSG.length(channel.capabilities.max_length, channel.capabilities.unit) : MSG.noLimit}</dd>
      ${channel.retry_after_until && html`<dt>${MSG.throttled}</dt><dd><${Time} at=${channel.retry_after_until} clock /></dd>`}
    </dl>`;
}

/** @param {{channel: Channel}} props */
function LastTest({ channel }) {
  const test = channel.last_test;
  if (!test) return html`<span class="muted">${channel.state === "configured" ? MSG.never : ""}</span>`;
  return html`<span class="channel__test" title=${test.ok ? test.message : test.error}><${Status} state=${test.ok ? "ok" : "failed"} quiet /><${Time} at=${test.at} />
    ${!test.ok && html`<span class="channel__error" dir="auto">${test.error}</span>`}</span>`;
}
