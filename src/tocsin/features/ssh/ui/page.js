// SSH: hosts by group with their state and keys, a command for many of them, and the output of each.
import { html, useEffect, useMemo, useState } from "tocsin/vendor/preact.js";
import { api } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { allPages } from "tocsin/lib/list.js";
import { definePage } from "tocsin/lib/page.js";
import { link, setQuery } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { FileNote } from "tocsin/parts/file_note.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { Choice, FilterBox, Toolbar } from "tocsin/parts/toolbar.js";
import { CommandBar } from "./command.js";
import { HostGrid } from "./grid.js";
import { keyColumn, Reach } from "./health.js";
import { SSH } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Host} Host */
/** @typedef {import("tocsin/types/records.js").HostHealth} Health */
/** @typedef {import("tocsin/types/records.js").Run} Run */
/** @typedef {import("tocsin/types/records.js").HostGroup} Group */
/** @typedef {{hosts: Host[], groups: Group[], runs: Run[]}} Data */
/** @typedef {{hosts: string[], groups: string[]}} Chosen */

export const page = definePage({
  title: SSH.title,
  /** @returns {Promise<Data>} */
  load: async ({ signal }) => {
    const [hosts, groups, runs] = await Promise.all([
      allPages("/api/ssh/hosts", {}, { signal }),
      allPages("/api/ssh/groups", {}, { signal }),
      api.get("/api/runs", { kind: "ssh", limit: 10 }, { signal }),
    ]);
    return { hosts, groups, runs: runs.items };
  },
  View: Hosts,
  events: "run.created run.updated",
  onEvent: changedBy,
});

/** @param {Data} data @param {import("tocsin/lib/sse.js").ServerEvent} event */
function changedBy(data, { data: run }) {
  if (run.kind !== "ssh") return data;
  const others = data.runs.filter(({ id }) => id !== run.id);
  return { ...data, runs: [run, ...others].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, 10) };
}

/** @param {import("tocsin/lib/page.js").PageProps<Data>} props */
function Hosts({ data, query, change }) {
  const [chosen, choose] = useState(/** @type {Chosen} */ ({ hosts: listOf(query.hosts), groups: listOf(query.groups) }));
  const { health, look } = useHealth((found) => change((now) => ({ ...now, hosts: withHealth(now.hosts, found) })));
  if (!data.hosts.length) {
    return html`<${PageHead} title=${SSH.title} note=${SSH.note} /><${Empty} icon="ssh" text=${SSH.empty} example=${SSH.example} command=${SSH.command} /><${FileNote} file="ssh_hosts.yaml" doc="ssh.html#hosts" more=${SSH.fileMore} />`;
  }
  const actions = html`<${ActionButton} icon="retry" run=${() => look(true, undefined)}>${SSH.check}<//>`;
  const failed = (/** @type {string[]} */ hosts) => choose({ hosts, groups: [] });
  return html`<${PageHead} title=${SSH.title} note=${SSH.note} actions=${actions} />
    <${CommandBar} hosts=${data.hosts} groups=${data.groups} chosen=${chosen} choose=${choose} started=${(/** @type {Run} */ run) => setQuery({ run: run.id })} />
    ${query.run && html`<${HostGrid} key=${query.run} id=${query.run} again=${failed} close=${() => setQuery({ run: "" })} />`}
    <section class="stack" aria-labelledby="hosts"><div class="spread"><h2 id="hosts">${SSH.hosts}</h2>
      <p class="muted" role="status">${health ? SSH.summary(health.summary) : SSH.checking}</p></div>
      <${HostTable} data=${data} query=${query} health=${health} chosen=${chosen} choose=${choose} /></section>
    <section class="stack" aria-labelledby="recent"><h2 id="recent">${SSH.recent}</h2><${Recent} runs=${data.runs} /></section>
    <${FileNote} file="ssh_hosts.yaml" doc="ssh.html#hosts" more=${SSH.fileMore} />`;
}

/** The state of the hosts: loaded when the page opens, and on request. @param {(found: any) => void} take */
function useHealth(take) {
  const [health, setHealth] = useState(/** @type {any} */ (null));
  const look = async (/** @type {boolean} */ refresh, /** @type {AbortSignal | undefined} */ signal) => {
    const found = await api.get("/api/ssh/health", refresh ? { refresh } : {}, { signal, timeout: 180_000 });
    setHealth(found);
    take(found);
  };
  useEffect(() => {
    const stop = new AbortController();
    look(false, stop.signal).catch((error) => stop.signal.aborted || toast.problem(error));
    return () => stop.abort();
  }, []);
  return { health, look };
}

/** @param {Host[]} hosts @param {{items: Health[]}} found @returns {Host[]} */
function withHealth(hosts, found) {
  const known = new Map(found.items.map((one) => [one.host, one]));
  return hosts.map((host) => {
    const seen = known.get(host.name);
    return seen ? { ...host, status: seen.status, host_key: seen.host_key, last_checked_at: seen.checked_at } : host;
  });
}

/** @param {{data: Data, query: Record<string, string>, health: any, chosen: Chosen, choose: (next: Chosen) => void}} props */
function HostTable({ data, query, health, chosen, choose }) {
  const rows = data.hosts.filter((host) => !query.group || host.groups.includes(query.group));
  const known = useMemo(() => new Map((health?.items ?? []).map((/** @type {Health} */ one) => [one.host, one])), [health]);
  const turn = (/** @type {string} */ name) =>
    choose({ ...chosen, hosts: chosen.hosts.includes(name) ? chosen.hosts.filter((one) => one !== name) : [...chosen.hosts, name] });
  /** @type {import("tocsin/parts/table.js").Column<Host>[]} */
  const columns = [
    {
      name: "choose", title: SSH.choose, sort: false, bare: "icons",
      cell: (host) => html`<input type="checkbox" aria-label=${SSH.chooseOne(host.name)} disabled=${!host.enabled} checked=${chosen.hosts.includes(host.name)} onChange=${() => turn(host.name)} />`,
    },
    { name: "state", title: SSH.state, value: (host) => (host.enabled ? host.status : "disabled"), cell: (host) => html`<${Status} state=${host.enabled ? host.status : "disabled"} />` },
    { name: "name", title: SSH.name, primary: true, value: (host) => host.name },
    { name: "address", title: SSH.address, value: addressOf, cell: (host) => html`<code class="wraps" dir="auto">${addressOf(host)}</code>${host.description && html`<br /><span class="muted" dir="auto">${host.description}</span>`}` },
    { name: "groups", title: SSH.groups, value: (host) => [...host.groups, ...host.tags].join(", ") },
    { name: "ping", title: SSH.ping, value: (host) => known.get(host.name)?.ping.rtt_ms, cell: (host) => html`<${Reach} seen=${known.get(host.name)?.ping} ms=${known.get(host.name)?.ping.rtt_ms} no=${SSH.noAnswer} />` },
    { name: "login", title: SSH.login, value: (host) => known.get(host.name)?.ssh.latency_ms, cell: (host) => html`<${Reach} seen=${known.get(host.name)?.ssh} ms=${known.get(host.name)?.ssh.latency_ms} no=${SSH.noLogin} />` },
    keyColumn,
    { name: "checked", title: SSH.checked, hideSmall: true, value: (host) => host.last_checked_at, cell: (host) => html`<${Time} at=${host.last_checked_at} />` },
  ];
  return html`<${Toolbar}><${FilterBox} value=${query.q} />
      ${data.groups.length > 0 && html`<${Choice} name="group" label=${SSH.group} value=${query.group} options=${[["", SSH.anyGroup], ...data.groups.map(({ name, host_count }) => [name, `${name} (${host_count})`])]} />`}<//>
    <${Table} label=${SSH.hosts} rows=${rows} columns=${columns} rowKey=${(/** @type {Host} */ host) => host.name} filter=${query.q} remember="ssh"
      href=${(/** @type {Host} */ host) => link("ssh", host.name)} keys=${{ x: (/** @type {Host} */ host) => turn(host.name) }} />`;
}

/** @param {{runs: Run[]}} props */
function Recent({ runs }) {
  return html`<${Table} label=${SSH.recent} rows=${runs} columns=${RUNS} rowKey=${(/** @type {Run} */ run) => run.id} href=${(/** @type {Run} */ run) => link("runs", run.id)}
    empty=${html`<p class="muted">${SSH.recentNone}</p>`} />`;
}

/** @type {import("tocsin/parts/table.js").Column<Run>[]} */
const RUNS = [
  { name: "status", title: SSH.status, value: (run) => run.status, cell: (run) => html`<${Status} state=${run.status} />` },
  { name: "name", title: SSH.commandRun, primary: true, value: (run) => run.subject_name },
  { name: "reason", title: SSH.reason, value: (run) => run.reason },
  { name: "took", title: SSH.took, align: "end", value: (run) => run.duration_ms, cell: (run) => duration(run.duration_ms) },
  { name: "at", title: SSH.when, value: (run) => run.queued_at, cell: (run) => html`<${Time} at=${run.started_at ?? run.queued_at} />` },
];

/** @param {Host} host */
function addressOf(host) {
  return `${host.user ? `${host.user}@` : ""}${host.hostname}${host.port === 22 ? "" : `:${host.port}`}`;
}

/** @param {string | undefined} text */
function listOf(text) {
  return (text ?? "").split(",").filter(Boolean);
}
