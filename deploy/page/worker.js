/* worker.js: shows a message of Web Push while no page is open, and leads back to it; tells the router of another
 * subscription. Its words are in its address (tell.js); what is sent may have others: {"type", "title", "body", "url"},
 * all of which may be missing. */
'use strict';
const words = new URL(location).searchParams;

addEventListener('install', () => skipWaiting());

/* Left by tell.js: the ticket's token and the key of its subscription. */
const kept = () => caches.open('segq:push').then(c => c.match(registration.scope));
const forget = () => caches.open('segq:push').then(c => c.delete(registration.scope));

addEventListener('push', e => {
  let m = {};
  try { m = e.data.json() || m; } catch (x) { /* nothing was sent with it */ }
  e.waitUntil(Promise.all([registration.showNotification(m.title || words.get(m.type === 'turn.soon' ? 'soon' : 'turn'), {
    body: m.body || words.get('title'),
    lang: words.get('lang'),
    dir: words.get('dir') || 'auto',
    tag: registration.scope, /* of its queue: the word that it is soon gives way to the word that it is now */
    renotify: true,
    requireInteraction: true,
    data: m.url || words.get('page'),
  }), m.type === 'turn.now' && forget()])); /* the last word */
});

/* The browser has renewed the subscription, or ended it: the ticket gets the new one, unless it is over. */
async function renew(e) {
  const r = await kept();
  if (!r) return;
  const { token, push_key } = await r.json();
  const contact = e.newSubscription ||
    await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: push_key });
  const said = await fetch('/v1/tickets/' + token + '/contact', { method: 'PUT', body: JSON.stringify({ contact, push_key }) });
  if (said.status === 410 || said.status === 404) await forget();
}

addEventListener('pushsubscriptionchange', e => e.waitUntil(renew(e)));

addEventListener('notificationclick', e => {
  const url = new URL(e.notification.data, location);
  e.notification.close();
  e.waitUntil(clients.matchAll({ type: 'window', includeUncontrolled: true }).then(all => {
    const open = all.find(c => new URL(c.url).pathname === url.pathname && url.origin === origin);
    return open ? open.focus() : clients.openWindow(url);
  }));
});
