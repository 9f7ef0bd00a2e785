// One heartbeat: what is expected, its latest instants, and its pings with durations and logs.
import { html, useState } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { duration } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { link } from "tocsin/lib/router.js";
import { ActionButton } from "tocsin/parts/action.js";
import { CopyButton } from "tocsin/parts/copy.js";
import { HistoryBar } from "tocsin/parts/history_bar.js";
import { PageHead, fact } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Shape, Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { barsOf } from "./instants.js";
import { HEARTBEATS } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").Heartbeat} Heartbeat */
/** @typedef {import("tocsin/types/records.js").HeartbeatPing} Ping */
/** @typedef {{heartbeat: Heartbeat, pings: Ping[]}} Found */

const SHOWN = 50;

export const page = definePage({
  title: ({ params }) => params.id,
  /** @returns {Promise<Found>} */
  load: async ({ params, signal }) => {
    const [heartbeat, pings] = await Promise.all([
      api.get(url`/api/heartbeats/${params.id}`, {}, { signal }),
      api.get(url`/api/heartbeats/${params.id}/pings`, { limit: SHOWN }, { signal }),
    ]);
    return { heartbeat, pings: pings.items };
  },
  View: One,
  events: "heartbeat.*",
});

/** @param {import("tocsin/lib/page.js").PageProps<Found>} props */
function One({ data, change }) {
  const one = data.heartbeat;
  const [address, setAddress] = useState("");
  const [log, setLog] = useState(/** @type {{n: number, body: string} | null} */ (null));
  const take = (/** @type {Heartbeat} */ heartbeat) => change((now) => ({ ...now, heartbeat }));
  const isPaused = one.state === "paused";
  const pause = async () => {
    take(await api.post(url`/api/heartbeats/${one.id}/pause`));
    toast.undo(HEARTBEATS.paused(one.name), resume);
  };
  const resume = async () => take(await api.post(url`/api/heartbeats/${one.id}/resume`));
  const reveal = async () => setAddress((await api.get(url`/api/heartbeats/${one.id}/address`)).ping_url);
  const read = async (/** @type {number} */ n) => setLog(await api.get(url`/api/heartbeats/${one.id}/pings/${String(n)}/body`));
  const actions = html`${one.source !== "file" && html`<a class="button" href=${`${link("heartbeats", one.name)}/edit`}>${HEARTBEATS.edit}</a>`}<${ActionButton} run=${reveal} icon="link">${HEARTBEATS.address}<//>
    <${ActionButton} run=${isPaused ? resume : pause} icon=${isPaused ? "play" : "pause"}>${isPaused ? HEARTBEATS.resume : HEARTBEATS.pause}<//>`;
  const empty = html`<${Empty} icon="heartbeats" text=${HEARTBEATS.noPings} command=${`tocsin heartbeats url ${one.name}`} />`;
  return html`<${PageHead} title=${one.name} note=${html`<${Status} state=${one.state} />`} back=${{ href: "#/heartbeats", label: HEARTBEATS.back }} actions=${actions} />
    ${one.reason && html`<p class="delivery__error" role="alert"><${Shape} tone="bad" /> <span dir="auto">${one.reason}</span></p>`}
    ${address && html`<p class="notice notice--info" role="status"><code class="wraps">${address}</code> <${CopyButton} text=${address} /> ${HEARTBEATS.addressHint}</p>`}
    <dl class="facts panel facts--panel">
      ${fact(HEARTBEATS.expected, one.schedule_text)}
      ${fact(HEARTBEATS.grace, duration(one.grace * 1000))}
      ${one.max_run != null && fact(HEARTBEATS.maxRun, duration(one.max_run * 1000))}
      ${fact(HEARTBEATS.next, html`<${Time} at=${one.next_due_at} none="–" />`)}
      ${fact(HEARTBEATS.last, html`<${Time} at=${one.last_ping_at} />`)}
      ${fact(HEARTBEATS.since, html`<${Time} at=${one.since} />`)}
      ${one.last_duration_s != null && fact(HEARTBEATS.duration, duration(one.last_duration_s * 1000))}
      ${fact(HEARTBEATS.notify, one.notify ?? HEARTBEATS.noticeOnly)}
      ${one.tags.length > 0 && fact(HEARTBEATS.tags, one.tags.join(", "))}
      ${fact(HEARTBEATS.strip, html`<${HistoryBar} runs=${barsOf(one.recent)} label=${one.name} />`)}
    </dl>
    ${log && html`<section class="stack" aria-labelledby="log"><h2 id="log">${HEARTBEATS.logOf(log.n)}</h2><pre class="panel heartbeat__log" dir="auto" tabindex="0">${log.body}</pre></section>`}
    <section class="stack" aria-labelledby="pings"><h2 id="pings">${HEARTBEATS.pings}</h2>
      <${Table} label=${HEARTBEATS.pings} rows=${data.pings} columns=${columns(read)} rowKey=${(/** @type {Ping} */ ping) => String(ping.n)} empty=${empty} /></section>`;
}

/** @param {(n: number) => Promise<void>} read @returns {import("tocsin/parts/table.js").Column<Ping>[]} */
function columns(read) {
  return [
    { name: "n", title: "#", align: "end", value: (ping) => ping.n },
    { name: "when", title: HEARTBEATS.when, primary: true, value: (ping) => ping.at, cell: (ping) => html`<${Time} at=${ping.at} />` },
    {
      name: "kind",
      title: HEARTBEATS.kind,
      value: (ping) => ping.kind,
      cell: (ping) => html`<${Status} state=${{ fail: "failed", success: "success", start: "running", log: "info" }[ping.kind]} label=${HEARTBEATS.kinds[ping.kind]} quiet />`,
    },
    { name: "exit", title: HEARTBEATS.exit, align: "end", value: (ping) => ping.exit_status, cell: (ping) => ping.exit_status ?? "–" },
    { name: "lasted", title: HEARTBEATS.lasted, align: "end", value: (ping) => ping.duration_s, cell: (ping) => (ping.duration_s == null ? "–" : duration(ping.duration_s * 1000)) },
    {
      name: "log",
      title: HEARTBEATS.log,
      value: (ping) => (ping.has_body ? ping.size : 0),
      cell: (ping) => (ping.has_body ? html`<${ActionButton} small run=${() => read(ping.n)} about=${HEARTBEATS.logOf(ping.n)}>${HEARTBEATS.show}<//>` : "–"),
    },
  ];
}
