// This browser as a device: whether it can take notifications, and its subscription at the push service.
import { api } from "tocsin/lib/api.js";
import { DEVICES } from "./strings.js";

const WORKER = "service_worker.js";

/**
 * Why this browser cannot take notifications; empty if it can.
 * On iOS only an app on the Home Screen can, and only there the interfaces exist.
 */
export function obstacle() {
  if (!isSecureContext) return DEVICES.insecure;
  const supported = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  if (!supported) return isIos() ? DEVICES.onIos : DEVICES.unsupported;
  return Notification.permission === "denied" ? DEVICES.denied : "";
}

function isIos() {
  return /iPhone|iPad|iPod/.test(navigator.userAgent) || (/Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1);
}

/** A name to begin with, such as `iphone` or `firefox-linux`. */
export function suggestedName() {
  const agent = navigator.userAgent;
  const phone = ["iPhone", "iPad", "Android"].find((word) => agent.includes(word));
  if (phone) return phone.toLowerCase();
  const browser = ["Edg", "Firefox", "Chrome", "Safari"].find((word) => agent.includes(word)) ?? "browser";
  const system = ["Windows", "Macintosh", "Linux"].find((word) => agent.includes(word)) ?? "";
  const words = { Edg: "edge", Macintosh: "mac" };
  return [browser, system].filter(Boolean).map((word) => words[/** @type {keyof typeof words} */ (word)] ?? word.toLowerCase()).join("-");
}

/** @returns {Promise<PushSubscription | null>}  The subscription of this browser, if it has one. */
export async function ownSubscription() {
  if (obstacle()) return null;
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

/** The ID by which the list of devices knows a subscription. @param {PushSubscription | null} subscription */
export async function idOf(subscription) {
  if (!subscription) return "";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subscription.endpoint));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Make this browser a device. Must be called by a click, because browsers ask for the permission only then.
 * @param {string} name
 * @param {string} publicKey  In base64url.
 */
export async function subscribe(name, publicKey) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error(obstacle() || DEVICES.dismissed);
  await navigator.serviceWorker.register(WORKER, { updateViaCache: "none" });
  const { pushManager } = await navigator.serviceWorker.ready;
  const former = await pushManager.getSubscription();
  const same = former?.options.applicationServerKey && toBase64(former.options.applicationServerKey) === publicKey;
  if (former && !same) await former.unsubscribe(); // it belongs to other keys, such as those before a reinstallation
  const subscription = same ? former : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
  const { endpoint, keys } = subscription.toJSON();
  const replaces = former && !same ? former.endpoint : "";
  return api.post("/api/devices", { name, endpoint, p256dh: keys?.p256dh, auth: keys?.auth, replaces });
}

/** @param {ArrayBuffer} bytes */
function toBase64(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
