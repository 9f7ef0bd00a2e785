/** @param {number} count @param {string} one */
const many = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export const JOBS = {
  title: "Tasks",
  note: "Work for commands, skills or people, optionally on its own git branch.",
  new: "New task",
  empty: "No tasks yet. A task with a repository has its own branch and work tree.",
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
  commandHint: "The command runs in the work tree of the task when you start it.",
  skill: "Skill",
  repo: "Repository",
  repoHint: "An absolute path, or a path below one of JOB_REPOSITORIES. Without a repository, the task has no branch.",
  base: "Base branch",
  baseHint: "Branch to start from. Empty: the current branch of the repository.",
  branch: "Branch",
  branchHint: "Empty: a name derived from the title.",
  create: "Create the branch",
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
  noTree: "Created when the task starts",
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
  run: "Open the run",
  distance: "Against its base",
  base: "Base",
  head: "Newest commit",
  merged: "Merged",
  mergedYes: "The base contains all its commits",
  mergedNo: "not yet",
  dirty: "Uncommitted",
  dirtyYes: "The work tree has uncommitted changes.",
  dirtyNo: "none",
  commits: "Commits",
  noCommits: "No commits are missing from its base.",
  subject: "Commit",
  author: "Author",
  sha: "ID",
  when: "When",
  files: "Files",
  file: "File",
  added: "Added",
  removed: "Removed",
  binary: "binary",
  truncated: "Only the first 512 KiB are shown. The branch has all changes.",
};

export const JOB_END = {
  /** @param {string} title */
  title: (title) => `Complete ${title}?`,
  running: "Its active run is cancelled.",
  outcome: "Result",
  outcomes: /** @type {[string, string][]} */ ([["completed", "Completed"], ["failed", "Failed"], ["cancelled", "Cancelled"]]),
  summary: "Summary",
  code: "Exit code",
  save: "Complete",
  /** @param {string} title */
  cancelTitle: (title) => `Cancel ${title}?`,
  cancelText: "The task cannot be started any more. Its branch is kept until you delete the task.",
  cancelAction: "Cancel the task",
};

export const JOB_DELETE = {
  /** @param {string} title */
  title: (title) => `Delete ${title}?`,
  text: "The task and its work tree are deleted. This cannot be undone.",
  /** @param {string} branch */
  branch: (branch) => `Also delete its branch ${branch}`,
  force: "Even if changes are lost",
  /** @param {number} count @param {string} base */
  unmerged: (count, base) => `${many(count, "commit")} of its branch ${count === 1 ? "is" : "are"} not in ${base}.`,
  dirty: "Its work tree has uncommitted changes.",
  clean: "Its base contains all its commits.",
  action: "Delete",
};
