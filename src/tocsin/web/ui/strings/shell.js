// What the frame around the pages says.
export const SHELL = {
  product: "Tocsin",
  skip: "Skip to content",
  navigation: "Pages",
  often: "Main pages",
  collapse: "Collapse the sidebar",
  expand: "Expand the sidebar",
  more: "More",
  search: "Search or run …",
  menu: "Theme and account",
  theme: "Theme",
  themes: { light: "Light", dark: "Dark", system: "System" },
  shortcuts: "Keyboard shortcuts",
  singleKeys: "Single-key shortcuts",
  singleKeysHint: "Disable them if you use speech input or press keys by accident.",
  signOut: "Sign out",
  signedOut: "You are signed out.",
  signIn: "Sign in",
  notFound: "Page not found",
  notFoundText: "The address may belong to another version.",
  toHome: "Go to Home",
  pageMissing: "This page could not be loaded",
  /** @param {string} why */
  pageMissingText: (why) => `Tocsin was updated or is not running. Reload the dashboard. (${why})`,
  newer: "This page is older than the server.",
  reload: "Reload",
  draining: "Tocsin is stopping or restarting. This page reconnects automatically.",
  offline: "The server does not respond. The data shown may be outdated.",
  /** @param {string} when */
  crowded: (when) => `Too many requests: retrying ${when}.`,
  /** @param {string} when */
  notReady: (when) => `The server is not ready: retrying ${when}.`,
  toneNames: /** @type {Record<string, string>} */ ({ warn: "needs attention", bad: "has a problem" }),
  groups: { operate: "Operate", talk: "Talk", knowledge: "Knowledge", secure: "Secure", system: "System" },
  live: {
    live: "Live",
    liveTitle: "Updates are live.",
    connecting: "Connecting …",
    /** @param {number} seconds */
    retry: (seconds) => `Updates paused, retrying in ${seconds} s`,
    /** @param {number} seconds */
    retryShort: (seconds) => `Retrying in ${seconds} s.`,
  },
  toasts: { region: "Messages", undo: "Undo", undone: "Undone", dismiss: "Dismiss" },
  login: {
    title: "Sign in to Tocsin",
    again: "Your session has ended",
    againText: "Sign in again to continue. Your input is kept, and the pending action is then completed.",
    user: "User name",
    password: "Password",
    remember: "Stay signed in for 30 days",
    submit: "Sign in",
    busy: "Signing in …",
    show: "Show password",
    where: "User name and password are the settings DASHBOARD_USER and DASHBOARD_PASS. To see where they are set:",
    command: "tocsin config",
    /** @param {number} seconds */
    throttled: (seconds) => `Try again in ${seconds} s.`,
  },
  palette: {
    title: "Go to or run",
    placeholder: "Search pages, jobs, hosts and actions",
    none: "No results.",
    reading: "Searching …",
    recent: "Recent",
    pages: "Pages",
    actions: "Actions",
    /** @param {string} name */
    run: (name) => `Run ${name} now`,
    /** @param {string} name */
    theme: (name) => `Theme: ${name}`,
    /** @param {number} count */
    keys: (count) => `${count} found. ↑ ↓ to choose, Enter to go, Esc to close`,
  },
  keyGroups: { everywhere: "Everywhere", go: "Go to", page: "On this page" },
  keys: { help: "Show this list", palette: "Search or run", filter: "Filter", sidebar: "Collapse the sidebar", theme: "Change the theme" },
};
