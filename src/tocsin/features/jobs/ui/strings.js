/** @param {number} count @param {string} one */
const many = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export const JOBS = {
  title: "Tasks",
  note: "Work for a command, a skill or people, each on a git branch of its own where it has a repository.",
  new: "New task",
  empty: "No task yet. A task is work with a state; with a repository it gets a branch and a work tree.",
  command: "tocsin jobs create 'Fix the login' --repo PATH",
  list: "List",
  board: "Board",
  state: "State",
  anyState: "All",
  label: "Label",
  anyLabel: "All",
  name: "Task",
  priority: "Priority",
  priorities: /** @type {Record<string, string>} */ ({ low: "Low", normal: "Normal", high: "High" }),
  branch: "Branch",
  change: "Change",
  created: "Created",
  start: "Start",
  complete: "Complete",
  delete: "Delete",
  none: "None",
  back: "Tasks",
  /** @param {number} count */
  ahead: (count) => `${count} ahead`,
  /** @param {number} count */
  behind: (count) => `${count} behind`,
  /** @param {{files: number, insertions: number, deletions: number}} stat */
  stat: (stat) => `${many(stat.files, "file")}, ${stat.insertions} added, ${stat.deletions} removed`,
  /** @param {string} title */
  started: (title) => `${title} has started.`,
  /** @param {string} title */
  made: (title) => `${title} was created.`,
  /** @param {string} title @param {string} word */
  ended: (title, word) => `${title}: ${word}.`,
  /** @param {string} title */
  deleted: (title) => `${title} was deleted.`,
};

export const JOB_FORM = {
  title: "New task",
  save: "Create",
  name: "Title",
  description: "Description",
  what: "Done by",
  works: /** @type {[string, string][]} */ ([["", "People"], ["command", "A command"], ["skill", "An assistant skill"]]),
  command: "Command",
  commandHint: "The shell runs it in the work tree of the task, when you start it.",
  skill: "Skill",
  repo: "Repository",
  repoHint: "A path, in full or below one of JOB_REPOSITORIES. Without it the task has no branch.",
  base: "Base branch",
  baseHint: "Where its branch begins; the one the repository is on, if left empty.",
  branch: "Branch",
  branchHint: "Named after the task, if left empty.",
  create: "Make the branch",
  priority: "Priority",
  labels: "Labels",
};

export const JOB_PAGE = {
  job: "Task",
  branch: "Branch",
  patch: "Changes",
  log: "Output",
  description: "Description",
  repo: "Repository",
  tree: "Work tree",
  noTree: "Made when the task starts",
  created: "Created",
  /** @param {string} who */
  by: (who) => `by ${who}`,
  started: "Started",
  ended: "Ended",
  labels: "Labels",
  result: "Result",
  progress: "Progress",
  noBranch: "This task has no branch: it was created without a repository.",
  noLog: "No output: the task ran no command.",
  run: "The whole run",
  distance: "Against its base",
  base: "Base",
  head: "Newest commit",
  merged: "Merged",
  mergedYes: "The base has all of its commits",
  mergedNo: "not yet",
  dirty: "Not committed",
  dirtyYes: "The work tree has changes that are in no commit.",
  dirtyNo: "nothing",
  commits: "Commits",
  noCommits: "It has no commit that its base has not.",
  subject: "Commit",
  author: "Author",
  sha: "ID",
  when: "When",
  files: "Files",
  file: "File",
  added: "Added",
  removed: "Removed",
  binary: "binary",
  truncated: "These are only the first 512 KiB; the whole is in the branch.",
  reading: "Reading the changes …",
};

export const JOB_END = {
  /** @param {string} title */
  title: (title) => `Complete ${title}?`,
  running: "What its run still does is ended.",
  outcome: "How it ended",
  outcomes: /** @type {[string, string][]} */ ([["completed", "Completed"], ["failed", "Failed"], ["cancelled", "Cancelled"]]),
  summary: "Summary",
  code: "Exit code",
  save: "Complete",
  /** @param {string} title */
  cancelTitle: (title) => `Cancel ${title}?`,
  cancelText: "It will not start any more. Its branch stays until you delete the task.",
  cancelAction: "Cancel the task",
};

export const JOB_DELETE = {
  /** @param {string} title */
  title: (title) => `Delete ${title}?`,
  text: "The task and its work tree are deleted. This cannot be taken back.",
  /** @param {string} branch */
  branch: (branch) => `Delete its branch ${branch}, too`,
  force: "Even if changes are lost",
  /** @param {number} count @param {string} base */
  unmerged: (count, base) => `${many(count, "commit")} of its branch ${count === 1 ? "is" : "are"} not in ${base}.`,
  dirty: "Its work tree has changes that are in no commit.",
  clean: "Its base has everything that its branch has.",
  action: "Delete",
};
