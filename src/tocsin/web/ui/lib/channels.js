// The names of channels, `Slack` for `teamchat`, and of profiles.
import { api } from "../lib/api.js";

/** @typedef {import("../types/records.js").Channel} Channel */

/** @type {Map<string, Pick<Channel, "channel" | "label" | "configured" | "capabilities">>} */
const known = new Map();

/**
 * Load the names of channels once; pages also work without them.
 * @param {AbortSignal} [signal]
 */
export async function readChannels(signal) {
  if (!known.size) keepChannels((await api.get("/api/msg/channels", {}, { signal }).catch(() => ({ items: [] }))).items);
}

/** @param {Pick<Channel, "channel" | "label" | "configured" | "capabilities">[]} channels  As they were read anyhow. */
export function keepChannels(channels) {
  for (const one of channels) known.set(one.channel, one);
}

/** @returns {string[]} */
export function channelKinds() {
  return [...known.keys()];
}

/** @param {string} channel */
export function channelName(channel) {
  return known.get(channel)?.label ?? channel;
}

/** What can be done later with messages on a channel. @param {string} channel */
export function canChange(channel) {
  const found = known.get(channel);
  return { edit: Boolean(found?.configured && found.capabilities.edits), withdraw: Boolean(found?.configured && found.capabilities.withdraws), press: Boolean(found?.capabilities.session_presses) };
}

/** The names of the profiles, for suggestions; none if they cannot be read: forms also work without them. @param {AbortSignal} [signal] @returns {Promise<string[]>} */
export async function profileNames(signal) {
  const found = await api.get("/api/msg/profiles", {}, { signal }).catch(() => ({ items: [] }));
  return found.items.map((/** @type {{name: string}} */ { name }) => name);
}
