// What the question says before a waiting step is approved or rejected.
export const DECIDE = {
  approve: "Approve",
  reject: "Reject",
  /** @param {string} name */
  approveTitle: (name) => `Approve ${name}?`,
  /** @param {string} name */
  rejectTitle: (name) => `Reject ${name}?`,
  /** @param {string} [step] */
  approveText: (step) => (step ? `The run continues after step ${step}.` : "The run continues."),
  /** @param {string} [step] */
  rejectText: (step) => `The step${step ? ` ${step}` : ""} fails, and is not retried.`,
  comment: "Comment",
  /** @param {string} name */
  approved: (name) => `${name} was approved.`,
  /** @param {string} name */
  rejected: (name) => `${name} was rejected.`,
  /** @param {string} name */
  over: (name) => `${name} is no longer waiting for approval.`,
};
