// The names of channels: `Slack` for `teamchat`.
import { api } from "../lib/api.js";

/** @type {Map<string, string>} */
const labels = new Map();

/**
 * Load the names of channels once; pages also work without them.
 * @param {AbortSignal} [signal]
 */
export async function readChannels(signal) {
  if (!labels.size) keepChannels((await api.get("/api/msg/channels", {}, { signal }).catch(() => ({ items: [] }))).items);
}

/** @param {{channel: string, label: string}[]} channels  As they were read anyhow. */
export function keepChannels(channels) {
  for (const { channel, label } of channels) labels.set(channel, label);
}

/** @returns {string[]} */
export function channelKinds() {
  return [...labels.keys()];
}

/** @param {string} channel */
export function channelName(channel) {
  return labels.get(channel) ?? channel;
}
