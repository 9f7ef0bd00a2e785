// What the page of messaging says.
export const MSG = {
  title: "Messaging",
  note: "Send a message, and check channels and profiles.",
  channels: "Channels",
  test: "Test",
  testing: "Testing …",
  tested: "Last test",
  never: "Not tested yet",
  missing: "Missing",
  missingHint: "Set them in .env or the environment, then restart.",
  unavailable: "Unavailable",
  unavailableText: "This channel is not available on this operating system.",
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
  targetHint: "For example a channel such as #ops, a chat ID or an email address.",
  text: "Message",
  send: "Send",
  queue: "Queue",
  queueHint: "Retry until the message is delivered",
  preview: "Preview",
  previewTarget: "Enter a target to see a preview.",
  previewNone: "Enter a message to see a preview.",
  /** @param {number} number @param {number} all @param {number} length */
  part: (number, all, length) => (all > 1 ? `Part ${number} of ${all}, ${length.toLocaleString("en")} characters` : `${length.toLocaleString("en")} characters`),
  /** @param {string} target */
  done: (target) => `Sent to ${target}`,
  queued: "The message was queued.",
  show: "Show",
  results: "Results",
  /** @param {number} sent @param {number} all */
  fanOut: (sent, all) => `Sent to ${sent} of ${all} targets`,
  profiles: "Profiles",
  profilesEmpty: "No profiles yet. Create profiles.yaml in the data directory.",
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
  needChannel: "Configure a channel first. The cards show the missing settings.",
};
