// Browser profiles: the list of profiles, which of them run, and starting and stopping them.
import { html } from "tocsin/vendor/preact.js";
import { api, url } from "tocsin/lib/api.js";
import { bytes } from "tocsin/lib/format.js";
import { definePage } from "tocsin/lib/page.js";
import { ActionButton } from "tocsin/parts/action.js";
import { FileNote } from "tocsin/parts/file_note.js";
import { PageHead } from "tocsin/parts/page_head.js";
import { Empty } from "tocsin/parts/states.js";
import { Status } from "tocsin/parts/status.js";
import { Table } from "tocsin/parts/table.js";
import { Time } from "tocsin/parts/time.js";
import { toast } from "tocsin/parts/toast.js";
import { BROWSER } from "./strings.js";

/** @typedef {import("tocsin/types/records.js").BrowserProfile} Profile */
/** @typedef {import("tocsin/types/records.js").List<Profile>} Profiles */

const RUNNING = ["running", "in_use"];

export const page = definePage({
  title: BROWSER.title,
  /** @returns {Promise<Profiles>} */
  load: ({ signal }) => api.get("/api/browser/profiles", { limit: 200 }, { signal }),
  View: Browser,
  events: "status.changed",
});

/** @param {import("tocsin/lib/page.js").PageProps<Profiles>} props */
function Browser({ data, reload }) {
  /** @param {Profile} profile */
  const turn = async (profile) => {
    const runs = RUNNING.includes(profile.status);
    await api.post(runs ? url`/api/browser/profiles/${profile.name}/stop` : url`/api/browser/profiles/${profile.name}/start`);
    await reload();
    toast.ok(runs ? BROWSER.stopped(profile.name) : BROWSER.started(profile.name));
  };
  const empty = html`<${Empty} icon="browser" text=${BROWSER.empty} example=${BROWSER.example} command=${BROWSER.command} />`;
  return html`<${PageHead} title=${BROWSER.title} note=${BROWSER.note} />
    <${Table} label=${BROWSER.title} rows=${data.items} columns=${columns(turn)} rowKey=${(/** @type {Profile} */ profile) => profile.name} empty=${empty} />
    <${FileNote} file="browser_profiles.yaml" doc="browser.html#profiles" />`;
}

/**
 * @param {(profile: Profile) => Promise<void>} turn
 * @returns {import("tocsin/parts/table.js").Column<Profile>[]}
 */
function columns(turn) {
  return [
    { name: "state", title: BROWSER.state, value: (profile) => profile.status, cell: (profile) => html`<${Status} state=${profile.status} title=${profile.error ?? undefined} />` },
    {
      name: "name",
      title: BROWSER.name,
      primary: true,
      value: (profile) => profile.name,
      cell: (profile) => html`${profile.name}${profile.default && html` <span class="badge">${BROWSER.default}</span>`}`,
    },
    {
      name: "browser",
      title: BROWSER.browser,
      value: (profile) => profile.browser,
      cell: (profile) => html`${profile.browser}${profile.headless && html` <span class="muted">${BROWSER.headless}</span>`}`,
    },
    { name: "driver", title: BROWSER.driver, value: (profile) => BROWSER.drivers[profile.driver] ?? profile.driver },
    { name: "size", title: BROWSER.size, value: (profile) => profile.size_bytes, cell: (profile) => (profile.size_bytes === null ? "–" : bytes(profile.size_bytes)), align: "end" },
    { name: "used", title: BROWSER.used, value: (profile) => profile.last_used_at, cell: (profile) => html`<${Time} at=${profile.last_used_at} />` },
    { name: "endpoint", title: BROWSER.endpoint, value: (profile) => profile.cdp_endpoint, cell: (profile) => (profile.cdp_endpoint ? html`<code class="wraps">${profile.cdp_endpoint}</code>` : "–") },
    {
      name: "do",
      title: "",
      sort: false,
      bare: true,
      cell: (profile) => profile.driver === "managed" && html`<${ActionButton} small about=${profile.name} run=${() => turn(profile)}>${RUNNING.includes(profile.status) ? BROWSER.stop : BROWSER.start}<//>`,
    },
  ];
}
