// What the page of messaging says.
export const MSG = {
  title: "Messaging",
  note: "Send a message, and check channels and profiles.",
  channels: "Channels",
  test: "Test",
  never: "Not tested yet",
  missing: "Missing",
  missingHint: "Set them in .env or the environment, then restart.",
  missingTarget: "A target with a name. The channel's page in the documentation has an example.",
  missingTargetHint: "Add it to targets.yaml in the data directory. No restart is needed.",
  unavailable: "Unavailable",
  unavailableText: "This channel is not available on this operating system.",
  sent: "Sent in 24 h",
  failed: "Failed in 24 h",
  throttled: "Throttled until",
  receives: "Receives",
  inbound: /** @type {Record<string, string>} */ ({ none: "no", polling: "by polling", webhook: "by webhook" }),
  limit: "Limit",
  /** @param {number} length @param {string} unit */
  length: (length, unit) => `${length.toLocaleString("en")} ${unit}`,
  noLimit: "none",
  states: /** @type {Record<string, [state: string, word: string]>} */ ({
    ok: ["ok", "Works"], configured: ["info", "Configured"], failing: ["failing", "Failing"], unconfigured: ["unconfigured", "Not set up"],
  }),
  compose: "New message",
  /** @param {string} key */
  editing: (key) => `Edit the message ${key}`,
  editNote: "Sending replaces the message with this key. An edit notifies no one.",
  /** @param {string} target */
  editTitle: (target) => `Replace the message at ${target}?`,
  editText: "Text, fields and buttons are replaced there.",
  replace: "Replace",
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
  previewWrong: "A field is not valid; see the message beside it.",
  /** @param {number} targets @param {number} failed */
  previewed: (targets, failed) => `Preview for ${targets === 1 ? "1 target" : `${targets} targets`}${failed ? `, ${failed} refused` : ""}`,
  /** @param {string} name */
  on: (name) => `Message on ${name}`,
  silently: ", no sound",
  /** @param {string} note */
  ignored: (note) => (note ? `${note} is left out` : "is left out"),
  more: "More fields",
  /** @param {number} count */
  set: (count) => `(${count} filled in)`,
  fields: /** @type {Record<string, string>} */ ({
    title: "Title", format: "Format of the message", type: "Type", priority: "Priority", click: "Link", actions: "Buttons", mention: "Mention",
    key: "Key", thread: "Thread", attach: "Files", if_gone: "If it was deleted there", unable: "If the channel cannot edit", ttl: "Expires after, in seconds", silent: "No sound",
  }),
  files: "Files",
  chooseFiles: "Choose files",
  /** @param {number} most @param {string} limit */
  filesHint: (most, limit) => `Or drop them here, or paste an image. At most ${most} files, ${limit} together.`,
  /** @param {number} count @param {number} most @param {string} used @param {string} limit */
  filesUsed: (count, most, used, limit) => `${count} of ${most} files, ${used} of ${limit}`,
  /** @param {number} most */
  tooMany: (most) => `A message has at most ${most} files.`,
  /** @param {string} name */
  emptyFile: (name) => `${name} is empty.`,
  /** @param {string} name */
  folder: (name) => `${name} is a folder. Choose files.`,
  /** @param {string} name @param {string} limit */
  tooLarge: (name, limit) => `${name} is too large: the files of a message have at most ${limit} together.`,
  /** @param {string} name */
  removeFile: (name) => `Remove the file ${name}`,
  alt: "What it shows, for people who do not see it",
  removeFiles: "Remove the files of the message",
  uploading: "Upload",
  /** @param {number} share */
  uploaded: (share) => `${Math.round(share * 100)} % uploaded`,
  /** @param {number} number @param {number} all @param {number} files */
  filePart: (number, all, files) => `${all > 1 ? `Part ${number} of ${all}, ` : ""}${files === 1 ? "1 file" : `${files} files`}`,
  formats: /** @type {[string, string][]} */ ([["", "Default of the channel"], ["plain", "Plain text"], ["markdown", "Markdown"]]),
  types: /** @type {[string, string][]} */ ([["", "None"], ["info", "Information"], ["success", "Success"], ["warning", "Warning"], ["failure", "Failure"]]),
  priorities: /** @type {[value: string, word: string, number: number][]} */ ([
    ["", "Default", 3], ["min", "Minimal, no sound", 1], ["low", "Low, no sound", 2], ["high", "High", 4], ["urgent", "Urgent", 5],
  ]),
  ifGone: /** @type {[string, string][]} */ ([["", "Send it as a new message"], ["drop", "Drop it"]]),
  unable: /** @type {[string, string][]} */ ([["", "Send it as a new message"], ["skip", "Skip it"]]),
  clickHint: "What the message is about.",
  mentionHint: "@here, @channel, @name or an ID, separated by commas.",
  keyHint: "A later message with this key edits this one.",
  threadHint: "Groups messages below the first one.",
  ttlHint: "For a queued message that could not be sent by then.",
  label: "Label",
  value: "Value",
  addButton: "Add a button",
  buttonKinds: /** @type {[string, string][]} */ ([["view", "Opens"], ["call", "Starts"]]),
  /** @param {number} number */
  buttonKind: (number) => `What button ${number} does`,
  /** @param {number} number */
  buttonName: (number) => `What button ${number} starts`,
  /** @param {number} number */
  buttonValue: (number) => `Value of button ${number}`,
  /** @param {number} number */
  buttonLabel: (number) => `Label of button ${number}`,
  /** @param {number} number */
  buttonAddress: (number) => `Address of button ${number}`,
  /** @param {string} name */
  removeButton: (name) => `Remove the button ${name}`,
  /** @param {number} number @param {number} all @param {number} length */
  part: (number, all, length) => (all > 1 ? `Part ${number} of ${all}, ${length.toLocaleString("en")} characters` : `${length.toLocaleString("en")} characters`),
  /** @param {string} target */
  done: (target) => `Sent to ${target}`,
  queued: "The message was queued.",
  show: "Show",
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
