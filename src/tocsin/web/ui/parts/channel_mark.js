// The sign of a channel: the first letter of its name, in a colour of its own.
import { html } from "../vendor/preact.js";

/** @param {{channel: string, label: string, size?: number}} props */
export function ChannelMark({ channel, label, size = 22 }) {
  const hue = [...channel].reduce((sum, each) => (sum * 31 + each.charCodeAt(0)) % 360, 0);
  return html`<svg class="channel-mark" width=${size} height=${size} viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill=${`hsl(${hue} 45% 36%)`} />
    <text x="16" y="22.5" text-anchor="middle" font-size="18" font-weight="600" fill="#fff">${label.slice(0, 1).toUpperCase()}</text>
  </svg>`;
}
