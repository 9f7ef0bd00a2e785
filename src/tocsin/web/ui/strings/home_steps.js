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
  channelHint: "Set the secrets of a channel in the settings, then restart.",
  needsChannel: "Requires a configured channel",
  channelAction: "Show missing settings",
  test: "Test a channel",
  testHint: "Verifies the credentials without sending.",
  /** @param {string} name */
  testAction: (name) => `Test ${name}`,
  message: "Send a first message",
  messageHint: "Use a chat, room or address of your own.",
  messageAction: "Send",
  to: "To",
  text: "Text",
  firstText: "Hello from Tocsin",
  busy: "Working …",
};
