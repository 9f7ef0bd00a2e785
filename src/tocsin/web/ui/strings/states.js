// Words for states, and what parts say: the catalogue of what all pages share.

/** How a state looks: its tone and its shape. The word comes from the state itself. */
/** @type {Record<string, [tone: "ok" | "bad" | "warn" | "busy" | "off" | "info", word: string]>} */
export const STATES = {
  ok: ["ok", "OK"],
  up: ["ok", "Up"],
  met: ["ok", "Met"],
  succeeded: ["ok", "Succeeded"],
  completed: ["ok", "Completed"],
  delivered: ["ok", "Delivered"],
  sent: ["ok", "Sent"],
  trusted: ["ok", "Trusted"],
  watching: ["ok", "Watching"],
  scheduled: ["ok", "Scheduled"],
  enabled: ["ok", "Enabled"],
  active: ["ok", "Active"],
  success: ["ok", "Success"],
  allowed: ["ok", "Allowed"],
  approved: ["ok", "Approved"],
  valid: ["ok", "Valid"],
  error: ["bad", "Error"],
  failed: ["bad", "Failed"],
  failing: ["bad", "Failing"],
  timed_out: ["bad", "Timed out"],
  interrupted: ["bad", "Interrupted"],
  unreachable: ["bad", "Unreachable"],
  auth_failed: ["bad", "Login failed"],
  host_key_unknown: ["bad", "Key unknown"],
  host_key_changed: ["bad", "Key changed"],
  changed: ["bad", "Changed"],
  down: ["bad", "Down"],
  invalid: ["bad", "Invalid"],
  expired: ["bad", "Expired"],
  superseded: ["off", "Superseded"],
  auto_disabled: ["bad", "Disabled after failures"],
  denied: ["bad", "Denied"],
  degraded: ["warn", "Degraded"],
  warning: ["warn", "Warning"],
  missed: ["warn", "Missed"],
  late: ["warn", "Late"],
  partially_succeeded: ["warn", "Partly succeeded"],
  partial: ["warn", "Partly delivered"],
  waiting: ["warn", "Waiting"],
  fading: ["warn", "Decayed"],
  missing: ["warn", "Missing"],
  retrying: ["warn", "Retrying"],
  running: ["busy", "Running"],
  queued: ["busy", "Queued"],
  pending: ["busy", "Pending"],
  sending: ["busy", "Sending"],
  cancelling: ["busy", "Cancelling"],
  generating: ["busy", "Writing"],
  in_use: ["busy", "In use"],
  info: ["info", "Info"],
  disabled: ["off", "Disabled"],
  unconfigured: ["off", "Not set up"],
  paused: ["off", "Paused"],
  new: ["off", "New"],
  skipped: ["off", "Skipped"],
  cancelled: ["off", "Cancelled"],
  stopped: ["off", "Stopped"],
  idle: ["off", "Idle"],
  none: ["off", "None"],
  unknown: ["off", "Unknown"],
};

/** What began a run. @type {Record<string, string>} */
export const CAUSES = {
  schedule: "schedule", manual: "a person", catchup: "a missed time", retry: "a retry", api: "the API", bot: "the bot",
  webhook: "a webhook",
};

export const PARTS = {
  loading: "Loading …",
  retry: "Try again",
  requestId: "Request",
  copy: "Copy",
  copyExample: "Copy the example",
  copied: "Copied",
  copyFailed: "The browser did not allow copying. Select the text and copy it manually.",
  cancel: "Cancel",
  close: "Close",
  sameOnCommandLine: "On the command line:",
  goneTitle: "Not found",
  toList: "Show the list",
  goneText: "The record was deleted, or the address is wrong.",
  crashTitle: "This page has failed",
  crashText: "The rest of the dashboard still works. Reload the page; if this happens again, report it with the text below.",
  never: "never",
  summary: {
    /** @param {number} good @param {number} all */
    runs: (good, all) => `${good} of ${all} ok`,
    none: "No runs yet",
    /** @param {string} when */
    lastFailed: (when) => `last failed ${when}`,
  },
};

export const DIALOG = { busy: "Working …", typeName: "To confirm, type" };

export const TABLE = {
  toolbar: "Filters",
  filter: "Filter",
  actions: "Actions",
  more: "Show more",
  none: "No entries match the filters.",
  /** @param {string} filter */
  noMatch: (filter) => `No results for “${filter}”.`,
  /** @param {number} shown @param {number} loaded @param {number | null} total */
  count: (shown, loaded, total) => {
    const all = total ?? loaded;
    return shown < loaded ? `${shown} of ${loaded} shown` : loaded < all ? `${loaded} of ${all}` : `${all} in total`;
  },
};

export const FORM = {
  save: "Save",
  busy: "Saving …",
  required: "Required.",
  notNumber: "Enter a number.",
  notJson: "Invalid JSON.",
  draft: "Unsaved input from before.",
  discard: "Start over",
  add: "Add",
  remove: "Remove",
  key: "Name",
  value: "Value",
  /** @param {string} zone */
  zone: (zone) => `In your time zone, ${zone}.`,
};

export const LOG = {
  label: "Log",
  search: "Search in the log",
  searchShort: "Search",
  previous: "Previous match",
  next: "Next match",
  /** @param {number} at @param {number} all */
  matches: (at, all) => (all ? `${at} of ${all}` : "No match"),
  wrap: "Wrap long lines",
  follow: "Jump to latest",
  copyAll: "Copy the log",
  download: "Download",
  empty: "No output.",
  waiting: "Waiting for output …",
  /** @param {number} n */
  line: (n) => `Line ${n}`,
  /** @param {number} count */
  count: (count) => (count === 1 ? "1 line" : `${count.toLocaleString("en")} lines`),
};

export const CODE = {
  suggestionsLabel: "Suggestions",
  /** @param {number} count */
  suggestions: (count) => (count === 1 ? "1 suggestion, press Enter to use it" : `${count} suggestions: choose with the arrow keys, press Enter to use one`),
  label: "Text", line: "Line", copied: "Copied", added: "added", removed: "removed", noChange: "No change." };
