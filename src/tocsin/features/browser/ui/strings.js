// What the page of browser profiles says.
export const BROWSER = {
  title: "Browser",
  note: "Browser profiles, each with its own data directory.",
  empty: "No profiles yet. Create browser_profiles.yaml in the data directory.",
  example: `profiles:
  - name: office
    default: true
  - name: shop
    headless: false`,
  command: 'tocsin browser profiles',
  name: "Name",
  state: "State",
  browser: "Browser",
  driver: "Driver",
  drivers: /** @type {Record<string, string>} */ ({ managed: "Started by Tocsin", existing_session: "Existing browser", remote: "Another machine" }),
  size: "Size",
  used: "Last used",
  endpoint: "Debugging",
  headless: "without a window",
  default: "default",
  start: "Start",
  stop: "Stop",
  /** @param {string} name */
  started: (name) => `${name} is running`,
  /** @param {string} name */
  stopped: (name) => `${name} is stopped`,
};
