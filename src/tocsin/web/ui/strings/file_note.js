// What stands below lists that are written in files of the data directory.
export const FILE_NOTE = {
  edit: "To add or change one, edit",
  read: "It is read again when it changes.",
  docs: "Documentation",
};
