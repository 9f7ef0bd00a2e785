// What the page of backups says.
export const FRESHNESS = {
  title: "Backups",
  note: "Folders that get a new file at least every few hours.",
  empty: "No folder is checked yet: FRESHNESS_FOLDERS names them.",
  command: "tocsin config show",
  name: "Folder",
  newest: "Newest file",
  age: "Written",
  allowed: "May be old",
  /** @param {number} hours */
  hours: (hours) => `${hours} h`,
  state: "State",
  lastRun: "Last check",
  check: "Check now",
};
