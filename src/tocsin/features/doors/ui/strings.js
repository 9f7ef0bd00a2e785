// What the pages of doors say.
export const DOORS = {
  title: "Doors",
  note: "Addresses at which other tools report; what they send becomes messages.",
  empty: "No doors yet.",
  command: "tocsin doors add alerts --profile oncall",
  rulesIn: "Requests become messages by the rules in",
  back: "Doors",
  add: "New door",
  name: "Name",
  protocol: "Protocol",
  preset: "Preset",
  profile: "Messages to",
  byRules: "a profile that a rule names",
  sources: "Senders",
  anySource: "any address",
  severity: "Severity",
  severities: /** @type {Record<string, string>} */ ({ ok: "OK", info: "Info", warning: "Warning", critical: "Critical" }),
  rate: "Limit",
  /** @param {string} count */
  perMinute: (count) => `${count} requests per minute`,
  secret: "Secret",
  secrets: { yes: "required", no: "none, the address suffices" },
  requests: "Requests",
  last: "Last request",
  created: "Created",
  test: "Send a test",
  /** @param {string} profile */
  tested: (profile) => `A test message for ${profile} is queued:`,
  delivery: "delivery",
  edit: "Edit",
  rotate: "New address",
  /** @param {string} name */
  rotateTitle: (name) => `Replace the address of ${name}?`,
  rotateText: "The present address is refused at once. Its senders need the new one.",
  remove: "Remove",
  /** @param {string} name */
  removeTitle: (name) => `Remove ${name}?`,
  removeText: "Its address is refused at once. What it accepted is still sent.",
  /** @param {string} name */
  removed: (name) => `${name} was removed.`,
  latest: "Latest requests",
  latestNote: "The newest 20, kept for 7 days. Secrets are masked.",
  noRequests: "No requests yet. They appear here as they arrive.",
  when: "When",
  what: "Message",
  noMessage: "no message",
  client: "From",
  status: "Status",
  state: "Outcome",
  states: /** @type {Record<string, [string, string]>} */ ({
    stored: ["pending", "Accepted"], sent: ["sent", "Sent"], dropped: ["skipped", "Not sent"], failed: ["failed", "Failed"], refused: ["denied", "Refused"],
  }),
  /** @param {number} id */
  requestOf: (id) => `Request ${id}`,
  titleOf: "Title",
  text: "Text",
  key: "Key",
  link: "Link",
  deliveries: "Deliveries",
  noteOf: "Note",
  payload: "Payload",
  makeRule: "Make a rule from this one",
};

// What is said about a new address.
export const SET_UP = {
  title: "Address",
  once: "The address is a secret and is shown only now: its holder can send messages.",
  local: "Only this machine reaches it: set FRONT_DOOR_HOST, or FRONT_DOOR_URL for a proxy.",
  /** @param {string} product */
  copy: (product) => `Copy the text for ${product}`,
  /** @param {string} name */
  watch: (name) => `Show the requests of ${name}`,
};

// What the form of a door says.
export const EDIT_DOOR = {
  title: "New door",
  /** @param {string} name */
  editTitle: (name) => `Edit ${name}`,
  save: "Save",
  /** @param {string} name */
  stored: (name) => `${name} was changed.`,
  create: "Create",
  nameHint: "Small letters, digits, - and _.",
  protocolHint: "How its senders speak.",
  presetHint: "Rules for a product, shipped with Tocsin.",
  noPreset: "none: the generic form",
  profileHint: "A profile; empty if a rule of doors.yaml names one.",
  severityHint: "Of messages that name none.",
  rateHint: "Requests per minute; beyond it, senders get 503.",
  sourcesHint: "Addresses and networks that may send, separated by commas; empty: any.",
  secretHint: "Senders must prove it, too, by a signature or a header; empty: the address suffices.",
  keptHint: "Empty: the present one remains.",
  vault: "Vault entry",
  vaultHint: "Of a secret that senders must prove, instead of one that is stored here.",
  open: "Senders need no secret any more",
};

// What the page of a new rule says.
export const RULE = {
  /** @param {string} name */
  title: (name) => `New rule of ${name}`,
  note: "The comments list what its texts may name. It is tried before the other rules of the door.",
  editor: "Rule",
  add: "Add to doors.yaml",
  added: "The rule was added to doors.yaml.",
  preview: "What the request would become",
  made: "Made by",
  generic: "the protocol, or the generic form",
  dropped: "Nothing is sent.",
};
