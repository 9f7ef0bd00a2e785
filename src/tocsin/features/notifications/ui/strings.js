// What the page of notifications says.
export const NOTICES = {
  title: "Notifications",
  empty: "No notifications.",
  command: 'tocsin notifications list',
  /** @param {number} count */
  unread: (count) => (count ? `${count} unread` : "all read"),
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
