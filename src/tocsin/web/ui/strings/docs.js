// What the page of the documentation says.
export const DOCS = { title: "Documentation" };
