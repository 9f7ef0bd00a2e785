// What the client and the stream say.
export const API = {
  failed: "The request failed",
  timeout: "The server did not respond in time",
  unreachable: "The server does not respond",
  /** @param {boolean} changes */
  unreachableDetail: (changes) =>
    changes
      ? "The connection failed. The change may have taken effect: check before you try again."
      : "The connection failed. Check that the service is running and that this machine is online.",
  unreadable: "The server sent an unexpected response",
  unreadableDetail: "A proxy may have changed it. Reload the page.",
  /** @param {string} word */
  didYouMean: (word) => `Did you mean ${word}?`,
};
