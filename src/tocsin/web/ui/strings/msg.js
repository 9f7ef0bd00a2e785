// What the page of messaging says.
export const MSG = {
  title: "Messaging",
  note: "Channels, profiles, and a message to any of them.",
  channels: "Channels",
  test: "Test",
  testing: "Testing …",
  tested: "Last test",
  never: "Not tested yet",
  missing: "Missing",
  missingHint: "Set these in .env or the environment, then restart.",
  unavailable: "Unavailable",
  unavailableText: "This channel works on another operating system only.",
  sent: "Sent in 24 h",
  failed: "Failed in 24 h",
  last: "Last sent",
  throttled: "Throttled until",
  receives: "Receives",
  inbound: /** @type {Record<string, string>} */ ({ none: "no", polling: "by polling", webhook: "by webhook" }),
  limit: "Limit",
  /** @param {number} chars */
  chars: (chars) => `${chars.toLocaleString("en")} chars`,
  noLimit: "none",
  states: /** @type {Record<string, [state: string, word: string]>} */ ({
    ok: ["ok", "Works"], configured: ["info", "Configured"], failing: ["failing", "Failing"], unconfigured: ["unconfigured", "Not set up"],
  }),
  compose: "New message",
  to: "To",
  channel: "Channel",
  profile: "Profile",
  target: "Target",
  targetHint: "A channel such as #ops, a chat ID, an address.",
  text: "Message",
  send: "Send",
  queue: "Queue",
  queueHint: "Keep trying until it has arrived",
  preview: "How it will be sent",
  previewTarget: "Name a target to see how the message will arrive.",
  previewNone: "Type a message to see how it will arrive.",
  /** @param {number} number @param {number} all @param {number} length */
  part: (number, all, length) => (all > 1 ? `Part ${number} of ${all}, ${length.toLocaleString("en")} characters` : `${length.toLocaleString("en")} characters`),
  /** @param {string} target */
  done: (target) => `Sent to ${target}`,
  queued: "It is in the queue.",
  show: "Show",
  results: "Results",
  /** @param {number} sent @param {number} all */
  fanOut: (sent, all) => `${sent} of ${all} targets got it`,
  profiles: "Profiles",
  profilesEmpty: "There are no profiles yet: write profiles.yaml in the data directory.",
  profilesExample: `oncall:
  - channel: slack
    target: "#ops"
  - channel: email
    target: ops@example.org`,
  profilesCommand: "tocsin profiles",
  name: "Name",
  targets: "Targets",
  state: "State",
  usedBy: "Used by",
  sendTo: "Send",
  needChannel: "Set up a channel first: the cards say what is missing.",
};
