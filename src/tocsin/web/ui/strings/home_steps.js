// What the first steps say.
export const CHECKLIST = {
  title: "First steps",
  hide: "Hide",
  done: "done",
  /** @param {number} done @param {number} all */
  progress: (done, all) => `${done} of ${all} done`,
  password: "Set a password",
  passwordHint: "People sign in with DASHBOARD_USER and DASHBOARD_PASS.",
  channel: "Configure a channel",
  channelHint: "A channel needs its secrets in the settings, then a restart.",
  needsChannel: "After a channel is set up",
  channelAction: "Show what is missing",
  test: "Test a channel",
  testHint: "Proves the credentials without sending.",
  /** @param {string} name */
  testAction: (name) => `Test ${name}`,
  message: "Send a first message",
  messageHint: "To a chat, a room or an address of yours.",
  messageAction: "Send",
  to: "To",
  text: "Text",
  firstText: "Hello from Tocsin",
  busy: "Working …",
};
