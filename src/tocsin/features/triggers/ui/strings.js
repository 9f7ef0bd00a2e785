// What the page of trigger rules says.
export const TRIGGERS = {
  title: "Triggers",
  note: "For each received message or pressed button, the first matching rule runs its command.",
  empty: "No rules yet. Create triggers.yaml in the data directory.",
  example: `- pattern: "^/uptime$"
  command: uptime
- pattern: "^deploy (\\\\S+)"
  command: ./deploy.sh "$1"`,
  command: 'tocsin triggers test "deploy web"',
  broken: "The current file was rejected. The last valid version is active.",
  rule: "Rule",
  event: "On",
  events: /** @type {Record<string, string>} */ ({ message: "Message", action: "Button" }),
  pattern: "Pattern",
  action: "Runs",
  actions: /** @type {Record<string, string>} */ ({ shell: "A command", claude: "A question to the chat model", skill: "A skill" }),
  text: "Command",
  reply: "Replies",
  yes: "yes",
  no: "no",
  notes: "Warnings",
  outcome: "Outcome",
  tryIt: "Test a message",
  tryHint: "(runs no command)",
  placeholder: "deploy web to production",
  /** @param {number} number */
  fires: (number) => `Rule ${number} matches`,
  none: "No rule matches",
  wouldRun: "Would run",
  outcomes: /** @type {Record<string, [state: string, word: string]>} */ ({
    fires: ["ok", "Matches"], covered: ["warning", "Matches, but an earlier rule takes precedence"], "no-match": ["none", "Does not match"],
  }),
};
