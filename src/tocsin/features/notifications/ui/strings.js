// What the page of notifications says.
export const NOTICES = {
  title: "Notifications",
  empty: "No notifications yet. Failures, approvals and messages of jobs appear here.",
  command: 'tocsin notifications list',
  /** @param {number} count */
  unread: (count) => (count ? `${count} unread` : "All read"),
  readAll: "Mark all as read",
  /** @param {number} count */
  readDone: (count) => (count === 1 ? "1 notification was marked as read" : `${count} notifications were marked as read`),
  read: "Mark as read",
  unreadAgain: "Mark as unread",
  remove: "Delete",
  /** @param {string} title */
  removeTitle: (title) => `Delete “${title}”?`,
  removeText: "The notification is deleted for all users. This cannot be undone.",
  level: "Level",
  category: "Category",
  first: "first",
  when: "When",
  what: "Notification",
  /** @param {number} count */
  times: (count) => `${count} times`,
  open: "Open",
  approve: "Approve",
  reject: "Reject",
  all: "All",
  onlyUnread: "Show",
  onlyUnreadWord: "Unread",
  feed: "Feed",
  feedTitle: "This list as a feed (JSON Feed, Atom)",
  alerts: "Browser notifications",
  alertsOn: "This browser shows new notifications while the dashboard is open.",
  alertsRefused: "The browser blocks notifications. Allow them for this site in its settings.",
  alertsMissing: "This browser does not support notifications.",
  /** @type {Record<string, string>} */
  categories: {
    cron: "Cron", workflow: "Workflows", vault: "Vault", ssh: "SSH", messaging: "Messaging", security: "Security",
    system: "System", user: "People",
  },
  /** @type {Record<string, string>} */
  levels: { info: "Info", success: "Success", warning: "Warning", error: "Error" },
};

export const FIRST_NOTICE = {
  title: "Notify your phone",
  needsChannel: "Connect a channel first.",
  channel: "Channel",
  target: "To",
  text: "Hello from Tocsin. Notices about failures will arrive here.",
  send: "Send a test message",
  question: "Did it arrive?",
  /** @param {string} target */
  sent: (target) => `The channel accepted a message to ${target}.`,
  yes: "Yes, it arrived",
  no: "No",
  again: "Send again",
  check: "Check this, then send again:",
  /** @param {string} label */
  phone: (label) => `The phone allows notifications of ${label}, and no focus mode silences them.`,
  /** @param {string} label */
  guide: (label) => `Setting up ${label}`,
  /** @param {string} profile */
  kept: (profile) => `Notices go to the profile ${profile}, which contains this target.`,
};
