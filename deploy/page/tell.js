/* tell.js: people who may close the page: a button that subscribes to Web Push, with their consent, and makes
 * the subscription their ticket's contact; pressed again it takes it back. */
(function () {
  'use strict';
  const $ = id => document.getElementById(id), d = JSON.parse($('data').textContent), b = $('push');
  if (d.preview || !b || !isSecureContext || !navigator.serviceWorker || !self.PushManager || !self.Notification) return;

  const { key, on, no, turn, soon } = b.dataset, off = b.textContent, mark = 'segq:push:' + d.queue;
  const token = $('leave').elements.token.value, root = '/q/' + d.queue + '/';
  const keep = v => { try { v ? localStorage.setItem(mark, v) : localStorage.removeItem(mark); } catch (e) { /* none */ } };
  const kept = () => { try { return localStorage.getItem(mark); } catch (e) { return null; } };

  function show(is) {
    b.setAttribute('aria-pressed', is);
    b.textContent = is ? on : off;
  }

  /* The worker has no words of its own: they come with its address. */
  function words() {
    const back = '/q/' + d.queue + '?return=' + encodeURIComponent($('leave').elements.return.value);
    return new URLSearchParams({ turn, soon, title: $('title').textContent, page: back, lang: d.lang, dir: document.dir });
  }

  const active = r => r.active || new Promise((done, fail) => {
    const w = r.installing || r.waiting;
    w.addEventListener('statechange', () => (w.state === 'activated' ? done : w.state === 'redundant' ? fail : String)());
  });

  function bytes(text) {
    const raw = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    return Uint8Array.from(raw, c => c.charCodeAt(0));
  }

  async function subscribe() {
    if (await Notification.requestPermission() !== 'granted') throw 0;
    const r = await navigator.serviceWorker.register(root + 'worker.js?' + words(), { scope: root });
    await active(r);
    const how = { userVisibleOnly: true, applicationServerKey: bytes(key) };
    return r.pushManager.subscribe(how).catch(async () => { /* by another key, from before? */
      const old = await r.pushManager.getSubscription();
      if (!old) throw 0;
      await old.unsubscribe();
      return r.pushManager.subscribe(how);
    });
  }

  const say = (method, body) => fetch('/v1/tickets/' + token + '/contact', { method, body }).then(r => { if (!r.ok) throw 0; });

  /* What the worker needs to say that the browser has renewed the subscription: it sees no localStorage. */
  async function note(push_key) {
    const scope = new URL(root, location).href;
    try {
      const c = await caches.open('segq:push');
      await (push_key ? c.put(scope, new Response(JSON.stringify({ token, push_key }))) : c.delete(scope));
    } catch (e) { /* no storage: it is told all the same, as long as its subscription lasts */ }
  }

  /* With its worker the subscription ends, too. */
  async function forget() {
    await note();
    const r = await navigator.serviceWorker.getRegistration(root);
    if (r) await r.unregister();
  }

  async function press() {
    const is = b.getAttribute('aria-pressed') === 'true';
    b.disabled = true;
    $('pushed').textContent = '';
    try {
      if (is) await say('DELETE').then(forget);
      else await say('PUT', JSON.stringify({ contact: await subscribe(), push_key: key })).then(() => note(key));
      keep(!is && token);
      show(!is);
      $('live').textContent = is ? '' : on;
    } catch (e) {
      $('pushed').textContent = no;
    }
    b.disabled = false;
    b.focus();
  }

  show(kept() === token);
  b.hidden = false;
  b.addEventListener('click', press);
  addEventListener('storage', e => { if (e.key === mark) show(kept() === token); }); /* pressed in another tab */
})();
