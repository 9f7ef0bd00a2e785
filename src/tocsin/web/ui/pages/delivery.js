// One delivery: its text, its state, and the reason.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { channelName, readChannels } from "../lib/channels.js";
import { definePage } from "../lib/page.js";
import { PageHead } from "../parts/page_head.js";
import { Duration, Time } from "../parts/time.js";
import { Actions, State, Target } from "../pages/deliveries_actions.js";
import { DELIVERIES } from "../strings/deliveries.js";

/** @typedef {import("../pages/deliveries_actions.js").Delivery} Delivery */

export const page = definePage({
  title: ({ data }) => (data ? `${channelName(data.channel)} ${data.target}` : DELIVERIES.title),
  /** @returns {Promise<Delivery>} */
  load: async ({ params, signal }) => {
    const [found] = await Promise.all([api.get(url`/api/deliveries/${params.id}`, {}, { signal }), readChannels(signal)]);
    return found;
  },
  View: One,
  events: "delivery.updated delivery.resync",
  onEvent: (data, { type, data: record }) => (type === "delivery.resync" || record.id === data.id ? undefined : data),
});

/** @param {import("../lib/page.js").PageProps<Delivery>} props */
function One({ data, change }) {
  /** @param {Delivery} after */
  const show = (after) => change(() => after);
  const back = { href: "#/deliveries", label: DELIVERIES.back };
  const actions = html`<${Actions} delivery=${data} show=${show} />`;
  return html`<${PageHead} title=${html`<${Target} to=${data} />`} note=${html`<${State} delivery=${data} />`} actions=${actions} back=${back} />
    ${data.error && html`<p class="delivery__error" dir="auto">${data.error}</p>`}
    <section class="panel delivery__message"><h2 class="visually-hidden">${DELIVERIES.message}</h2><pre class="delivery__pre" dir="auto" tabindex="0" aria-label=${DELIVERIES.message}>${data.message}</pre></section>
    <dl class="facts panel facts--panel">
      ${fact(DELIVERIES.attempts, data.attempts)}
      ${fact(DELIVERIES.parts, DELIVERIES.partsOf(data.parts_sent, data.parts_total))}
      ${fact(DELIVERIES.next, html`<${Time} at=${data.next_attempt_at} none="–" />`)}
      ${fact(DELIVERIES.created, html`<${Time} at=${data.created_at} />`)}
      ${fact(DELIVERIES.finished, html`<${Time} at=${data.finished_at} none="–" />`)}
      ${fact(DELIVERIES.took, html`<${Duration} ms=${data.duration_ms} />`)}
      ${fact(DELIVERIES.source, data.source)}
      ${fact(DELIVERIES.policy, DELIVERIES.policies[data.policy] ?? data.policy)}
      ${data.provider_id && fact(DELIVERIES.provider, html`<code>${data.provider_id}</code>`)}
      ${data.not_before && fact(DELIVERIES.notBefore, html`<${Time} at=${data.not_before} />`)}
      ${data.expires_at && fact(DELIVERIES.expires, html`<${Time} at=${data.expires_at} />`)}
    </dl>`;
}

/** @param {string} name @param {import("../vendor/preact.js").Child} value */
function fact(name, value) {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}
