// What the page of the audit log says.
export const AUDIT = {
  title: "Audit",
  note: "A record of all changes, with actor and source.",
  empty: "No entries yet.",
  command: "tocsin audit tail",
  search: "Search",
  action: "Family",
  source: "Source",
  all: "All",
  when: "When",
  what: "Action",
  detail: "What happened",
  actor: "Who",
  from: "From",
  outcome: "Outcome",
  outcomes: /** @type {Record<string, string>} */ ({ ok: "OK", denied: "Denied", error: "Failed" }),
  verify: "Verify the chain",
  /** @param {number} lines @param {number} files */
  verified: (lines, files) => `No entry was edited, removed or inserted: ${lines} lines in ${files === 1 ? "1 file" : `${files} files`}.`,
  broken: "The chain is broken",
  brokenText: "Compare the log with a backup at these places:",
  /** @param {string} file @param {number} line @param {string} reason */
  place: (file, line, reason) => `${file}${line ? `, line ${line}` : ""}: ${reason}`,
  exportAs: "Export",
  /** @param {string} id */
  entry: (id) => `Entry ${id}`,
};
