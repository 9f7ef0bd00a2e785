// Messaging: the channels and their state, a composer with a preview, and the profiles.
import { html } from "../vendor/preact.js";
import { api, url } from "../lib/api.js";
import { keepChannels } from "../lib/channels.js";
import { definePage } from "../lib/page.js";
import { PageHead } from "../parts/page_head.js";
import { Composer } from "../pages/msg_composer.js";
import { ChannelCards } from "../pages/msg_channels.js";
import { ProfileTable } from "../pages/msg_profiles.js";
import { MSG } from "../strings/msg.js";

/** @typedef {import("../types/records.js").Channel} Channel */
/** @typedef {import("../types/records.js").Profile} Profile */
/** @typedef {Record<string, string>} Meanings  Of settings, by name. */
/** @typedef {{channels: Channel[], limit: number, profiles: Profile[], about: Meanings, edited?: import("../types/records.js").Delivery}} Messaging  `edited` is the delivery whose message is changed. */

export const page = definePage({
  title: MSG.title,
  reloadOn: ["edit"],
  /** @returns {Promise<Messaging>} */
  load: async ({ query, signal }) => {
    const [channels, profiles, edited] = await Promise.all([
      api.get("/api/msg/channels", {}, { signal }),
      api.get("/api/msg/profiles", {}, { signal }),
      query.edit ? api.get(url`/api/deliveries/${query.edit}`, {}, { signal }) : undefined,
    ]);
    keepChannels(channels.items);
    const about = await meaningsOf(channels.items.flatMap(({ available, missing }) => (available ? missing : [])), signal);
    return { channels: channels.items, limit: channels.max_files_bytes, profiles: profiles.items, about, edited };
  },
  View: Messaging,
  events: "status.changed",
});

/** The descriptions of missing settings, and where to get their values. @param {string[]} names @param {AbortSignal} signal @returns {Promise<Meanings>} */
async function meaningsOf(names, signal) {
  if (!names.length) return {};
  const { values } = await api.get("/api/settings/overview", {}, { signal }).catch(() => ({ values: [] }));
  return Object.fromEntries(values.filter(({ key }) => names.includes(key)).map(({ key, description }) => [key, description]));
}

/** @param {import("../lib/page.js").PageProps<Messaging>} props */
function Messaging({ data, query, reload }) {
  return html`<${PageHead} title=${MSG.title} note=${MSG.note} />
    <${Composer} key=${data.edited?.id} edited=${data.edited} channels=${data.channels} limit=${data.limit} profiles=${data.profiles} chosen=${query.to} sent=${reload} />
    <${ChannelCards} channels=${data.channels} about=${data.about} reload=${reload} />
    <${ProfileTable} profiles=${data.profiles} />`;
}
