// The logo of the product: a small bell.
import { html } from "../vendor/preact.js";

/** @param {{size?: number}} props */
export function Mark({ size = 22 }) {
  return html`<svg class="mark" width=${size} height=${size} viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" />
    <path d="M16 6.5c-4.2 0-6.6 3-6.6 7.2 0 4.6-1.2 6.2-2.4 7.6h18c-1.2-1.4-2.4-3-2.4-7.6 0-4.2-2.4-7.2-6.6-7.2zM13.2 23.3a2.9 2.9 0 0 0 5.6 0z" />
  </svg>`;
}
