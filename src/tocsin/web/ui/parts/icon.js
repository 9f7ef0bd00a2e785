// Icons in the text colour. Screen readers skip them: each has a word beside it.
import { html } from "../vendor/preact.js";
import { MANIFEST } from "../lib/manifest.js";

/** @type {Record<string, string>} Lines on a field of 20 by 20; those of pages have their names. */
const PATHS = {
  ...Object.fromEntries(MANIFEST.pages.map(({ name, icon }) => [name, icon])),
  home: "M3.5 9 10 3.5 16.5 9v7.5h-4.5v-4.5h-4v4.5H3.5z",
  runs: "M3 5h14M3 10h9M3 15h6M13.5 12.5v4.5l4-2.25z",
  msg: "M17.5 2.5 9 11M17.5 2.5 12 17.5l-3-6.5-6.5-3z",
  deliveries: "M3 5.5h14v10H3zM3 6l7 5.5L17 6",
  access: "M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 16.5c0-3 2.2-4.8 5-4.8s5 1.8 5 4.8M13.5 9.5l1.5 1.5 3-3.5",
  file: "M5 2.5h7l3.5 3.5v11.5H5zM12 2.5V6h3.5",
  audit: "M5 2.5h7l3.5 3.5v11.5H5zM7.5 9h5M7.5 12h5M7.5 15h3",
  settings: "M3 6h8M15 6h2M13 4v4M3 14h2M9 14h8M7 12v4",
  menu: "M3 5.5h14M3 10h14M3 14.5h14",
  more: "M3.5 10a1 1 0 1 0 2 0 1 1 0 0 0-2 0zM9 10a1 1 0 1 0 2 0 1 1 0 0 0-2 0zM14.5 10a1 1 0 1 0 2 0 1 1 0 0 0-2 0z",
  search: "M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM12.8 12.8 17 17",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5 5 15",
  check: "M4 10.5l4 4 8-9",
  copy: "M7 7h9.5v9.5H7zM4 12.5H3.5v-9h9V4",
  download: "M10 3v10M6 9.5l4 4 4-4M3.5 16.5h13",
  upload: "M10 13.5v-10M6 7l4-4 4 4M3.5 16.5h13",
  play: "M6 3.8v12.4l10-6.2z",
  stop: "M5 5h10v10H5z",
  pause: "M7 4.5v11M13 4.5v11",
  retry: "M15.8 8A6.2 6.2 0 1 0 16 11.5M16.3 3.5V8h-4.5",
  edit: "M4 16l.8-3.5L13.5 3.8l2.7 2.7-8.7 8.7z",
  trash: "M4 5.5h12M8 5.5v-2h4v2M5.5 5.5l.7 11h7.6l.7-11M8.5 8.5v5M11.5 8.5v5",
  external: "M11.5 3.5h5v5M16.5 3.5 9.5 10.5M13.5 11.5v5h-10v-10h5",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  left: "M12 5l-5 5 5 5",
  collapse: "M3 3.5h14v13H3zM8 3.5v13M13.5 8l-2 2 2 2",
  expand: "M3 3.5h14v13H3zM8 3.5v13M11.5 8l2 2-2 2",
  sun: "M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M15.7 4.3l-1.1 1.1M5.4 14.6l-1.1 1.1",
  moon: "M16 12A6.8 6.8 0 0 1 8 4a6.5 6.5 0 1 0 8 8z",
  system: "M3 4h14v9.5H3zM7 16.5h6",
  keyboard: "M2 5h16v10H2zM5 8h.01M8 8h.01M11 8h.01M14.5 8h.01M5.5 12h9",
  logout: "M8 3.5H4v13h4M8.5 10h8.5M14 7l3 3-3 3",
  filter: "M3 4.5h14l-5.5 6.5v5l-3-1.5V11z",
  wrap: "M3 5h14M3 10h11a2.5 2.5 0 0 1 0 5h-3M12.5 13 10.5 15l2 2M3 15h4",
  link: "M8.5 11.5a3 3 0 0 0 4.2 0l3-3a3 3 0 0 0-4.2-4.2l-1 1M11.5 8.5a3 3 0 0 0-4.2 0l-3 3a3 3 0 0 0 4.2 4.2l1-1",
};

/** @param {{name: string, size?: number}} props */
export function Icon({ name, size = 18 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}
