// What the page of devices says.
export const DEVICES = {
  title: "Devices",
  note: "Browsers and phones that take notifications. The name of each is its target.",
  empty: "No devices yet. Choose “Notify this device” on each one that should take notifications.",
  command: "tocsin send push NAME 'text'",
  name: "Name",
  service: "Push service",
  user: "Added by",
  added: "Added",
  thisOne: "this device",
  here: "This device",
  notify: "Notify this device",
  nameLabel: "Name of this device",
  nameHint: "The target of messages: a to z, digits, “.”, “_” and “-”.",
  test: "Test",
  testText: "This device takes notifications.",
  rename: "Rename",
  remove: "Remove",
  /** @param {string} name */
  removeTitle: (name) => `Remove ${name}?`,
  removeText: "No further message is sent to this device. It can be added again.",
  /** @param {string} name */
  renameTitle: (name) => `Rename ${name}`,
  renameHint: "Profiles and jobs that name the device keep its old name: correct them, too.",
  /** @param {string} name */
  isHere: (name) => `This device takes notifications as ${name}.`,
  /** @param {string} name */
  nowNotified: (name) => `This device takes notifications as ${name}`,
  /** @param {string} name */
  sent: (name) => `A notification is on its way to ${name}`,
  notConfigured: "Notifications cannot be sent yet.",
  none: "No devices yet.",
  insecure: "Notifications need an encrypted connection: open the dashboard by https, or on this machine by localhost.",
  onIos: "On an iPhone or iPad, first add Tocsin to the Home Screen: choose Share, then “Add to Home Screen”, and open it from there.",
  unsupported: "This browser cannot take notifications.",
  denied: "The browser does not let this page show notifications. Allow them in the settings of the site, then reload the page.",
  dismissed: "The browser was not allowed to show notifications.",
};
