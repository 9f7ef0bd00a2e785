// What the bell says.
export const BELL = {
  /** @param {number} count */
  label: (count) => (count ? `Notifications, ${count} unread` : "Notifications"),
  title: "Notifications",
  none: "Nothing new.",
  all: "All notifications",
  readAll: "Mark all as read",
  approve: "Approve",
  reject: "Reject",
};
