// What the page of the bot's allowlist says.
export const ACCESS = {
  title: "Access",
  note: "Chats that may use the bot.",
  empty: "No chats are allowed, and none has asked for access.",
  command: "tocsin bot access approve 123456789",
  chat: "Chat",
  state: "State",
  who: "Who",
  since: "Since",
  origin: "From",
  origins: /** @type {Record<string, string>} */ ({ setting: "Settings", runtime: "Decided here" }),
  asked: "Message to the bot",
  approve: "Approve",
  deny: "Deny",
  remove: "Remove",
  /** @param {string} chat */
  denyTitle: (chat) => `Deny chat ${chat}?`,
  denyText: "The chat cannot ask again unless you approve it here.",
  /** @param {string} chat */
  removeTitle: (chat) => `Remove chat ${chat} from the list?`,
  removeText: "The bot stops answering this chat, which can ask for access again.",
  /** @param {string} chat @param {string} state */
  done: (chat, state) => `Chat ${chat} is now ${state}`,
  add: "Allow a chat",
  allow: "Allow",
  addLabel: "Chat ID",
  addHint: "A number; negative for groups.",
};
