// What the page of trigger rules says.
export const TRIGGERS = {
  title: "Triggers",
  note: "The first rule whose pattern is found in a received message runs its command.",
  empty: "There are no rules yet: write triggers.yaml in the data directory.",
  example: `- pattern: "^/uptime$"
  command: uptime
- pattern: "^deploy (\\\\S+)"
  command: ./deploy.sh "$1"`,
  command: 'tocsin triggers test "deploy web"',
  broken: "The present file is not in force; the last good one is.",
  rule: "Rule",
  pattern: "Pattern",
  action: "Runs",
  actions: /** @type {Record<string, string>} */ ({ shell: "A command", claude: "A question to the chat model", skill: "A skill" }),
  text: "Command",
  reply: "Replies",
  yes: "yes",
  no: "no",
  notes: "Warnings",
  outcome: "Outcome",
  tryIt: "Try a message",
  tryHint: "Nothing is run.",
  placeholder: "deploy web to production",
  /** @param {number} number */
  fires: (number) => `Rule ${number} fires`,
  none: "No rule fires",
  captures: "Captures",
  wouldRun: "Would run",
  outcomes: /** @type {Record<string, [state: string, word: string]>} */ ({
    fires: ["ok", "Fires"], covered: ["warning", "Matches, an earlier rule fires"], "no-match": ["none", "Does not match"],
  }),
};
