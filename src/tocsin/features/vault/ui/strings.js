// What the page of the vault says.
export const VAULT = {
  title: "Vault",
  note: "Names and ages only: values are never sent to a browser.",
  missing: "No vault exists yet.",
  locked: "The vault cannot be opened.",
  initCommand: "tocsin vault init",
  empty: "The vault is empty.",
  setCommand: "tocsin vault set SMTP_PASS",
  name: "Name",
  state: "State",
  age: "Age",
  expires: "Rotate before",
  command: "To rotate",
  /** @param {number} days @param {number} most */
  days: (days, most) => `${days} of ${most} days`,
  backend: "Backend",
  files: "Files",
  filesOk: "Readable only by you",
  filesOpen: "Readable by others: run chmod 600",
  changed: "Changed",
  keys: "Keys",
  how: "Enter values in a terminal: the command asks for the value without showing it.",
};
