// What the page of the vault says.
export const VAULT = {
  title: "Vault",
  note: "Only names and ages: no value ever leaves the vault for a browser.",
  missing: "There is no vault yet.",
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
  filesOk: "Only you may read them",
  filesOpen: "Others may read them: chmod 600",
  changed: "Changed",
  keys: "Keys",
  how: "Values are typed in a terminal: the command asks for the value and shows nothing of it.",
};
