// The components of pages in the header: the server writes the imports from the manifest.

/** @type {import("../lib/manifest.js").HeaderItem[]} */
export const HEADER_ITEMS = [];
