/** @param {number} count @param {string} one */
const many = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export const SSH = {
  title: "SSH",
  fileMore: "Hosts of ~/.ssh/config are also listed.",
  note: "Run a command on many hosts, and check their health.",
  empty: "No hosts yet. Add hosts to ssh_hosts.yaml in the data directory, or to ~/.ssh/config.",
  example: `hosts:
  - name: web1
    hostname: 10.0.0.11
    user: deploy
    groups: [web]`,
  command: 'tocsin ssh hosts',
  hosts: "Hosts",
  recent: "Recent commands",
  recentNone: "No commands yet.",
  name: "Host",
  address: "Address",
  groups: "Groups",
  state: "State",
  status: "Status",
  ping: "Ping",
  login: "Login",
  key: "Host key",
  checked: "Checked",
  choose: "Choose",
  /** @param {string} host */
  chooseOne: (host) => `Choose ${host}`,
  check: "Check now",
  checking: "Checking the hosts …",
  group: "Group",
  anyGroup: "All",
  noGroup: "No group",
  back: "SSH",
  commandRun: "Command",
  reason: "Reason",
  took: "Duration",
  when: "When",
  under: "< 1 ms",
  noAnswer: "no answer",
  noLogin: "failed",
  /** @param {Record<string, number>} summary */
  summary: (summary) => ["up", "degraded", "down", "unknown"].filter((state) => summary[state]).map((state) => `${summary[state]} ${state}`).join(", "),
  /** @param {string | null} method */
  by: (method) => (method === "icmp" ? "ICMP" : method === "tcp" ? "TCP" : ""),
};

export const SSH_RUN = {
  label: "Run a command",
  command: "Command",
  placeholder: "systemctl is-active nginx",
  on: "On",
  noTarget: "Choose a group above, or hosts in the table.",
  noCommand: "Enter the command to run on the hosts.",
  run: "Run",
  dryRun: "Dry run",
  options: "Options",
  timeout: "Timeout per host (seconds)",
  parallel: "Parallel hosts",
  stop: "After a failure, do not start on further hosts",
  dir: "Working directory on the hosts",
  env: "Environment variables on the hosts",
  output: "Send the result to",
  outputHint: "A profile such as oncall, or a channel and target such as slack:#ops or email:ops@example.org. Empty: not sent.",
  outputExample: "slack:#ops",
  /** @param {number} count */
  would: (count) => `Dry run. This would run on ${many(count, "host")}:`,
  what: "Command for the shell of each host:",
  /** @param {number} count */
  sure: (count) => `Run this on ${many(count, "host")}?`,
  /** @param {number} count */
  runOn: (count) => `Run on ${many(count, "host")}`,
  clear: "Clear selection",
};

export const SSH_GRID = {
  label: "Output of each host",
  cancel: "Cancel the run",
  whole: "Open the run",
  close: "Close",
  failed: "Only failures",
  again: "Select the failed hosts",
  none: "No output yet.",
  silent: "No output.",
  noFailures: "No host failed.",
  /** @param {number} code */
  exit: (code) => `exit ${code}`,
  /** @param {number} hidden */
  earlier: (hidden) => `${many(hidden, "earlier line")} in the full log`,
  /** @param {number} left */
  more: (left) => `Show ${left} more`,
};

export const SSH_HOST = {
  jump: "Through",
  identity: "Authentication",
  identities: /** @type {Record<string, string>} */ ({ agent: "the agent", key: "a key file", vault: "a key of the vault", password: "a password" }),
  source: "Defined in",
  sources: /** @type {Record<string, string>} */ ({ file: "ssh_hosts.yaml", ssh_config: "~/.ssh/config" }),
  tags: "Tags",
  fingerprint: "Fingerprint",
  trust: "To trust the key of this host:",
  changed: "The key differs from the trusted one. The connection may be intercepted: verify the key before you trust it.",
  refresh: "Check now",
  disabled: "This host is disabled in its file, so no commands run on it.",
};
