// What the drawing of a message says.
export const MESSAGE = {
  app: "App",
};
