// What the question says before a waiting step is approved or rejected.
export const DECIDE = {
  approve: "Approve",
  reject: "Reject",
  /** @param {string} name */
  approveTitle: (name) => `Approve ${name}?`,
  /** @param {string} name */
  rejectTitle: (name) => `Reject ${name}?`,
  approveText: "The run continues.",
  rejectText: "The step fails, and is not tried again.",
  comment: "Comment",
  /** @param {string} name */
  approved: (name) => `${name} was approved.`,
  /** @param {string} name */
  rejected: (name) => `${name} was rejected.`,
  /** @param {string} name */
  over: (name) => `${name} does not wait for approval any more.`,
};
