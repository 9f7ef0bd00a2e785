// What the first steps say.
export const CHECKLIST = {
  title: "First steps",
  hide: "Hide",
  hidden: "The first steps are hidden. Settings shows them again.",
  allDone: "All first steps are done. Settings shows the list again.",
  done: "done",
  /** @param {number} done @param {number} all */
  progress: (done, all) => `${done} of ${all} done`,
  /** @param {string} scope */
  needsScope: (scope) => `Requires a person who is signed in, or a token with the scope ${scope}.`,
  signIn: "Keep the sign-in",
  signInHint: "Store the name and the password, and enter them once to prove that you have them.",
  signInAction: "Enter the password",
  signInSubmit: "Check",
  signInKept: "The name and the password are correct.",
  /** @param {string} file */
  signInWhere: (file) => `They are in ${file}, as DASHBOARD_USER and DASHBOARD_PASS, unless the environment sets them. To choose others, change them there and restart Tocsin. Then store them in your password manager, and enter them here.`,
  user: "User name",
  password: "Password",
  channel: "Connect a channel",
  channelHint: "Verifies the credentials, stores them in the settings, and uses them at once.",
  needsChannel: "Requires a connected channel",
  channelAction: "Connect a channel",
  connect: "Connect",
  product: "Channel",
  optional: "Show optional settings",
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
};
