// What the page of notifications says.
export const NOTICES = {
  title: "Notifications",
  empty: "Nothing has been reported.",
  command: 'tocsin notifications list',
  /** @param {number} count */
  unread: (count) => (count ? `${count} unread` : "all read"),
  readAll: "Mark all as read",
  /** @param {number} count */
  readDone: (count) => (count === 1 ? "1 notification is read" : `${count} notifications are read`),
  read: "Mark as read",
  unreadAgain: "Mark as unread",
  remove: "Delete",
  /** @param {string} title */
  removeTitle: (title) => `Delete “${title}”?`,
  removeText: "It is deleted for all users, and cannot be restored.",
  level: "Level",
  category: "About",
  first: "first",
  when: "When",
  what: "What",
  /** @param {number} count */
  times: (count) => `${count} times`,
  open: "Open",
  approve: "Approve",
  reject: "Reject",
  all: "All",
  onlyUnread: "Show",
  onlyUnreadWord: "Unread",
  feed: "Feed",
  feedTitle: "The same list for feed readers (JSON Feed, Atom)",
  alerts: "Tell me in this browser",
  alertsOn: "This browser tells you of new notifications while the dashboard is open.",
  alertsRefused: "The browser refuses: allow notifications for this site in its settings.",
  alertsMissing: "This browser has no notifications of its own.",
  /** @type {Record<string, string>} */
  categories: {
    cron: "Cron", workflow: "Workflows", vault: "Vault", ssh: "SSH", messaging: "Messaging", security: "Security",
    system: "System", user: "People",
  },
  /** @type {Record<string, string>} */
  levels: { info: "Info", success: "Success", warning: "Warning", error: "Error" },
};
