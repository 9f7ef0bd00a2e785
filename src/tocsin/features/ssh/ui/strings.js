/** @param {number} count @param {string} one */
const many = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export const SSH = {
  title: "SSH",
  fileMore: "Hosts of ~/.ssh/config are listed, too.",
  note: "Run one command on many machines, and see how they are.",
  empty: "No host is known yet. Hosts of ~/.ssh/config and of ssh_hosts.yaml in the data directory appear here.",
  example: `hosts:
  - name: web1
    hostname: 10.0.0.11
    user: deploy
    groups: [web]`,
  command: 'tocsin ssh hosts',
  hosts: "Hosts",
  recent: "Recent commands",
  recentNone: "No command was run yet.",
  name: "Host",
  address: "Address",
  groups: "Groups",
  state: "State",
  ping: "Ping",
  login: "Login",
  key: "Host key",
  checked: "Checked",
  choose: "Choose",
  /** @param {string} host */
  chooseOne: (host) => `Choose ${host}`,
  check: "Check now",
  checking: "Looking at the hosts …",
  group: "Group",
  anyGroup: "All",
  noGroup: "No group",
  back: "SSH",
  commandRun: "Command",
  reason: "Why",
  took: "Took",
  when: "When",
  under: "< 1 ms",
  no: "no",
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
  noTarget: "Choose a group or a host, above or in the table.",
  noCommand: "Write the command that the hosts should run.",
  run: "Run",
  dryRun: "Dry run",
  options: "Options",
  timeout: "Seconds for each host",
  parallel: "Hosts at a time",
  stop: "Start on no further host after a failure",
  dir: "Directory there",
  env: "Variables there",
  output: "Send the result to",
  outputHint: "The name of a profile such as oncall, or a channel and target such as slack:#ops or email:ops@example.org. Empty: nowhere.",
  outputExample: "slack:#ops",
  /** @param {number} count */
  would: (count) => `Nothing ran. This would run on ${many(count, "host")}:`,
  what: "Their shell would get:",
  /** @param {number} count */
  sure: (count) => `Run this on ${many(count, "host")}?`,
  /** @param {number} count */
  runOn: (count) => `Run on ${many(count, "host")}`,
  clear: "Choose none",
};

export const SSH_GRID = {
  label: "Output of each host",
  cancel: "Cancel the run",
  whole: "The whole run",
  close: "Close",
  failed: "Only failures",
  again: "Choose the failed hosts",
  none: "No output yet.",
  silent: "No output.",
  noFailures: "No host failed.",
  /** @param {number} code */
  exit: (code) => `exit ${code}`,
  /** @param {number} hidden */
  earlier: (hidden) => `${many(hidden, "earlier line")} in the whole run`,
  /** @param {number} left */
  more: (left) => `Show ${left} more`,
};

export const SSH_HOST = {
  description: "About it",
  jump: "Through",
  identity: "Logs in with",
  identities: /** @type {Record<string, string>} */ ({ agent: "the agent", key: "a key file", vault: "a key of the vault", password: "a password" }),
  source: "Where it is written",
  sources: /** @type {Record<string, string>} */ ({ file: "ssh_hosts.yaml", ssh_config: "~/.ssh/config" }),
  tags: "Tags",
  fingerprint: "Fingerprint",
  trust: "To trust the key of this host:",
  changed: "The key is not the one that was trusted. The connection may be intercepted: find out before you trust it.",
  refresh: "Check now",
  disabled: "This host is switched off in its file: no command runs there.",
};
