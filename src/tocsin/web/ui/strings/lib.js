// What the client and the stream say.
export const API = {
  failed: "That did not work",
  timeout: "The server took too long to answer",
  unreachable: "The server does not answer",
  /** @param {boolean} changes */
  unreachableDetail: (changes) =>
    changes
      ? "The connection failed. The change may have taken effect: look before you try again."
      : "The connection failed. Is the service running, and this machine connected?",
  unreadable: "The answer is not what this page understands",
  unreadableDetail: "Something between this page and the server may have changed it. Reload the page.",
  /** @param {string} word */
  didYouMean: (word) => `Did you mean ${word}?`,
};
