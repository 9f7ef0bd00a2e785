// What stands below lists that are written in files of the data directory.
export const FILE_NOTE = {
  edit: "To add or change entries, edit",
  read: "Changes are loaded automatically.",
  docs: "Documentation",
};
