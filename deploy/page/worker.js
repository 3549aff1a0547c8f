/* worker.js: shows a message of Web Push while no page is open, and leads back to it; tells the router of another
 * subscription. Its words are in its address (tell.js); what is sent may have others: {"type", "title", "body", "url"},
 * all of which may be missing. */
'use strict';
const words = new URL(location).searchParams;

addEventListener('install', () => skipWaiting());

addEventListener('push', e => {
  let m = {};
  try { m = e.data.json() || m; } catch (x) { /* nothing was sent with it */ }
  e.waitUntil(registration.showNotification(m.title || words.get(m.type === 'turn.soon' ? 'soon' : 'turn'), {
    body: m.body || words.get('title'),
    lang: words.get('lang'),
    dir: words.get('dir') || 'auto',
    tag: registration.scope, /* of its queue: the word that it is soon gives way to the word that it is now */
    renotify: true,
    requireInteraction: true,
    data: m.url || words.get('page'),
  }));
});

addEventListener('notificationclick', e => {
  const url = new URL(e.notification.data, location);
  e.notification.close();
  e.waitUntil(clients.matchAll({ type: 'window', includeUncontrolled: true }).then(all => {
    const open = all.find(c => new URL(c.url).pathname === url.pathname && url.origin === origin);
    return open ? open.focus() : clients.openWindow(url);
  }));
});
