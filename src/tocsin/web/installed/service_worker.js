// The service worker: it shows notifications, and acts on taps and presses. It has no handler of `fetch`, so that the
// browser asks the server for everything: no answer of the API is ever kept.

/**
 * What `tocsin.channels` sends; see `notification_of` there.
 * @typedef {object} Message
 * @property {string} title
 * @property {string} body
 * @property {string} tag  A later message with it replaces an earlier one.
 * @property {number} sent
 * @property {string} [delivery]
 * @property {string} [url]  What a tap opens.
 * @property {boolean} [silent]
 * @property {boolean} [sticky]
 * @property {Button[]} [actions]
 * @property {boolean} [more]  Whether the page of the delivery has more than this.
 * @property {boolean} [short]  Whether only that page has the whole text.
 * @property {string} [withdrawn]  The tag of a message to close; there is nothing else then.
 * @property {boolean} [shows]  Whether the browser demands that every message shows something.
 */
/** @typedef {{label: string, url?: string, press?: number, asks?: boolean}} Button */

const WORDS = { name: "Tocsin", withdrawn: "This message was withdrawn.", unreadable: "A message could not be read." };
const LOOK = { icon: "icon-192.png", badge: "badge.png" };

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(receive(event.data)));
self.addEventListener("notificationclick", (event) => event.waitUntil(act(event.notification, event.action)));
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));

/** @param {PushMessageData | null} data */
async function receive(data) {
  /** @type {Message} */
  let message;
  try {
    message = data.json();
  } catch {
    await self.registration.showNotification(WORDS.name, { ...LOOK, body: WORDS.unreadable, data: {} });
    return;
  }
  await (message.withdrawn ? withdraw(message) : show(message));
}

/** @param {Message} message */
function show({ title, body, tag, sent, silent = false, sticky = false, actions = [], delivery, url, more, short }) {
  return self.registration.showNotification(title, {
    ...LOOK,
    body,
    tag,
    silent,
    timestamp: sent,
    requireInteraction: sticky,
    actions: actions.map(({ label }, number) => ({ action: String(number), title: label })),
    data: { delivery, url, actions, more: Boolean(more), short: Boolean(short) },
  });
}

/** @param {Message} message */
async function withdraw({ withdrawn: tag, shows }) {
  if (shows) {
    await self.registration.showNotification(WORDS.name, { ...LOOK, body: WORDS.withdrawn, tag, silent: true, data: {} });
    return;
  }
  for (const shown of await self.registration.getNotifications({ tag })) shown.close();
}

/** @param {Notification} shown @param {string} action  The number of a button; empty for a tap. */
async function act(shown, action) {
  const { delivery, url, actions = [], more, short } = shown.data ?? {};
  const page = delivery ? `#/deliveries/${delivery}` : "";
  /** @type {Button | undefined} */
  const button = action === "" ? undefined : actions[Number(action)];
  if (button && button.press !== undefined && !button.asks && delivery) {
    await press(shown, button, page);
    return;
  }
  shown.close();
  if (button) {
    await open(button.url ?? page);
    return;
  }
  // Safari and Firefox show no buttons: the page has them.
  const hidden = more || short || actions.length > (Notification.maxActions ?? 0);
  await open(url && !hidden ? url : page);
}

/** Press a button as the person who is signed in. @param {Notification} shown @param {Button} button @param {string} page */
async function press(shown, { label, press: number }, page) {
  const { delivery } = shown.data;
  const key = self.crypto.randomUUID(); // one press, however often the request is repeated
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  const body = JSON.stringify({ button: number });
  const answer = await fetch(`api/deliveries/${delivery}/press`, { method: "POST", credentials: "same-origin", headers, body }).catch(() => null);
  if (!answer?.ok) {
    shown.close();
    await open(page); // it asks to sign in, or says what is wrong
    return;
  }
  const { detail } = await answer.json();
  const { title, tag, data } = shown;
  await self.registration.showNotification(title, { ...LOOK, body: `${label}: ${detail}`, tag, silent: true, data: { ...data, actions: [], more: true } });
}

/** Open a page of the dashboard, in its window if there is one, or another address. @param {string} address */
async function open(address) {
  const target = new URL(address, self.registration.scope);
  if (target.origin === self.location.origin) {
    const [found] = await self.clients.matchAll({ type: "window" });
    if (found) {
      await (await found.focus()).navigate(target.href);
      return;
    }
  }
  await self.clients.openWindow(target.href);
}

/** Tell the server the new address of this device. @param {PushSubscriptionChangeEvent} event */
async function renew({ oldSubscription, newSubscription }) {
  if (!oldSubscription) return;
  const subscription = newSubscription ?? (await self.registration.pushManager.subscribe(oldSubscription.options));
  const { endpoint, keys } = subscription.toJSON();
  const body = JSON.stringify({ endpoint, ...keys, replaces: oldSubscription.endpoint });
  await fetch("api/devices", { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" }, body });
}
