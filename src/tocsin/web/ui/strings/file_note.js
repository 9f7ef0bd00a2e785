// What stands below lists that are written in files of the data directory.
export const FILE_NOTE = {
  edit: "To add or change one, edit",
  read: "It is read again when it changes.",
  docs: "Documentation",
  files: {
    watchers: { file: "watchers.yaml", doc: "watchers?part=rules", more: "" },
    triggers: { file: "triggers.yaml", doc: "triggers", more: "" },
    hosts: { file: "ssh_hosts.yaml", doc: "ssh?part=hosts", more: "Hosts of ~/.ssh/config are listed, too." },
    profiles: { file: "profiles.yaml", doc: "guide?part=profiles", more: "" },
    browsers: { file: "browser_profiles.yaml", doc: "browser?part=profiles", more: "" },
  },
};
