// The result of a command on each host.
import { html } from "../vendor/preact.js";
import { duration } from "../lib/format.js";
import { Status, toneOf } from "../parts/status.js";
import { RUN } from "../strings/runs.js";

/** @typedef {import("../types/records.js").HostResult} HostResult */

/** @param {{hosts: HostResult[]}} props */
export function Hosts({ hosts }) {
  const good = hosts.filter(({ status }) => toneOf(status) === "ok").length;
  return html`<section class="panel"><div class="panel__head"><h2>${RUN.hosts}</h2><span class="muted numbers">${RUN.hostsOk(good, hosts.length)}</span></div>
    <ul class="run__hosts">${hosts.map((host) => html`<li key=${host.host} class=${`run__host run__host--${toneOf(host.status)}`}>
      <div class="row"><strong dir="auto">${host.host}</strong><${Status} state=${host.status} /><span class="muted numbers">${duration(host.duration_ms)}</span>
        ${host.exit_code !== null && html`<span class="muted numbers">${RUN.exit} ${host.exit_code}</span>`}${host.signal && html`<span class="muted">${host.signal}</span>`}</div>
      ${host.error && html`<p class="run__wrong" dir="auto">${host.error}</p>`}
      ${host.stdout || host.stderr ? html`<pre class="run__output" tabindex="0" role="region" aria-label=${host.host}>${host.stdout}${host.stderr && html`<span class="run__wrong">${host.stderr}</span>`}${host.truncated && html`<em>… ${RUN.cut}</em>`}</pre>` : html`<p class="muted">${RUN.noOutput}</p>`}
    </li>`)}</ul></section>`;
}
