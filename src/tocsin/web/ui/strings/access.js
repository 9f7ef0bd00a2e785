// What the page of the bot's allowlist says.
export const ACCESS = {
  title: "Access",
  note: "Who may talk to the bot.",
  empty: "No chat has asked, and none is allowed.",
  command: "tocsin bot access approve 123456789",
  chat: "Chat",
  state: "State",
  who: "Who",
  since: "Since",
  origin: "From",
  origins: /** @type {Record<string, string>} */ ({ setting: "Settings", runtime: "Decided here" }),
  approve: "Approve",
  deny: "Deny",
  remove: "Remove",
  /** @param {string} chat */
  denyTitle: (chat) => `Keep chat ${chat} out?`,
  denyText: "It cannot ask again, until you approve it here.",
  /** @param {string} chat */
  removeTitle: (chat) => `Take chat ${chat} off the list?`,
  removeText: "The bot no longer answers it; it may ask again.",
  /** @param {string} chat @param {string} state */
  done: (chat, state) => `Chat ${chat} is now ${state}`,
  add: "Allow a chat",
  addLabel: "ID of the chat",
  addHint: "A number; groups are negative.",
};
