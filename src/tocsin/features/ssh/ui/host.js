// One host: its state, its key, its login, and a command for it alone.
import { html } from "tocsin/vendor/preact.js";
import { api, ApiProblem } from "tocsin/lib/api.js";
import { allPages } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { link, setQuery } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CopyButton } from "tocsin/parts/copy.js";
import { PageHead, fact } from "tocsin/parts/page_head.js";
import { Status } from "tocsin/parts/status.js";
import { Time } from "tocsin/parts/time.js";
import { CommandBar } from "./command.js";
import { HostGrid } from "./grid.js";
import { Reach } from "./health.js";
import { SSH, SSH_HOST } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Host} Host */
/** @typedef {import("tocsin/types/records.js").HostHealth} Health */
/** @typedef {{host: Host, health: Health | undefined}} Data */

export const page = definePage({
  title: ({ params }) => params.name,
  /** @returns {Promise<Data>} */
  load: async ({ params, signal }) => {
    const hosts = /** @type {Host[]} */ (await allPages("/api/ssh/hosts", { q: params.name }, { signal }));
    const host = hosts.find(({ name }) => name === params.name);
    if (!host) throw new ApiProblem({ status: 404, code: "not-found" });
    return { host, health: host.enabled ? await healthOf(host.name, false, signal) : undefined };
  },
  View: One,
  events: "",
});

/** @param {string} host @param {boolean} refresh @param {AbortSignal} [signal] @returns {Promise<Health>} */
async function healthOf(host, refresh, signal) {
  return (await api.get("/api/ssh/health", { host, refresh: refresh || undefined }, { signal, timeout: 60_000 })).items[0];
}

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function One({ data, query, change }) {
  const { host, health } = data;
  const key = health?.host_key ?? host.host_key;
  const refresh = async () => {
    const found = await healthOf(host.name, true);
    change((now) => ({ ...now, health: found }));
  };
  const trust = `tocsin ssh trust ${host.name}`;
  const actions = host.enabled && html`<${ActionButton} icon="retry" run=${refresh}>${SSH_HOST.refresh}<//>`;
  return html`<${PageHead} title=${host.name} note=${html`<${Status} state=${host.enabled ? (health?.status ?? host.status) : "disabled"} />${host.description && html`<p dir="auto">${host.description}</p>`}`}
      back=${{ href: "#/ssh", label: SSH.back }} actions=${actions} />
    ${!host.enabled && html`<p class="notice notice--warn">${SSH_HOST.disabled}</p>`}
    ${key.status === "changed" && html`<p class="notice notice--bad" role="alert">${SSH_HOST.changed}</p>`}
    ${key.status !== "trusted" && html`<p class="notice notice--warn">${SSH_HOST.trust} <code>${trust}</code> <${CopyButton} text=${trust} /></p>`}
    ${host.enabled && html`<${CommandBar} hosts=${[host]} groups=${[]} chosen=${{ hosts: [host.name], groups: [] }} choose=${() => undefined} fixed started=${(/** @type {any} */ run) => setQuery({ run: run.id })} />`}
    ${query.run && html`<${HostGrid} key=${query.run} id=${query.run} again=${() => undefined} close=${() => setQuery({ run: "" })} />`}
    <dl class="facts panel panel__body">
      ${fact(SSH.address, html`<code class="wraps">${host.user ? `${host.user}@` : ""}${host.hostname}:${host.port}</code>`)}
      ${fact(SSH.ping, html`<${Reach} seen=${health?.ping} ms=${health?.ping.rtt_ms} whole />`)}
      ${fact(SSH.login, html`<${Reach} seen=${health?.ssh} ms=${health?.ssh.latency_ms} whole />`)}
      ${fact(SSH.checked, html`<${Time} at=${health?.checked_at ?? host.last_checked_at} />`)}
      ${fact(SSH.key, html`<${Status} state=${key.status} quiet />`)}
      ${key.fingerprint && fact(SSH_HOST.fingerprint, html`<code class="wraps">${key.fingerprint}</code> <${CopyButton} text=${key.fingerprint} />`)}
      ${fact(SSH.groups, host.groups.join(", ") || SSH.noGroup)}
      ${host.tags.length > 0 && fact(SSH_HOST.tags, host.tags.join(", "))}
      ${host.jump_host && fact(SSH_HOST.jump, html`<a href=${link("ssh", host.jump_host)}>${host.jump_host}</a>`)}
      ${fact(SSH_HOST.identity, html`${SSH_HOST.identities[host.identity.kind] ?? host.identity.kind} ${host.identity.ref && html`<code class="wraps">${host.identity.ref}</code>`}`)}
      ${fact(SSH_HOST.source, SSH_HOST.sources[host.source] ?? host.source)}
    </dl>`;
}
