// What the first steps say.
export const CHECKLIST = {
  title: "First steps",
  hide: "Hide",
  done: "done",
  /** @param {number} done @param {number} all */
  progress: (done, all) => `${done} of ${all} done`,
  password: "Set a password",
  passwordHint: "People sign in with DASHBOARD_USER and DASHBOARD_PASS.",
  channel: "Connect a channel",
  channelHint: "Verifies the credentials, stores them in the settings, and uses them at once.",
  needsChannel: "Requires a connected channel",
  channelAction: "Connect a channel",
  connect: "Connect",
  cancel: "Cancel",
  product: "Channel",
  /** @param {string} label */
  guide: (label) => `Where to find the credentials of ${label}`,
  /** @param {string} file */
  stored: (file) => `Stored in ${file}.`,
  /** @param {string} source */
  fixed: (source) => `Set in ${source}, which takes precedence; change it there.`,
  /** @param {string} label @param {string} message */
  connected: (label, message) => `${label}: ${message}`,
  restart: "To receive messages on it, restart Tocsin.",
  test: "Test a channel",
  testHint: "Verifies the credentials without sending.",
  /** @param {string} name */
  testAction: (name) => `Test ${name}`,
  message: "Notify your phone",
  messageHint: "Send a first message to a chat or an address that your phone shows.",
  messageAction: "Send",
  to: "To",
  text: "Text",
  firstText: "Hello from Tocsin",
  busy: "Working …",
};
