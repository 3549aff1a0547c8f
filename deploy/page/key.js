/* key.js: a place that works with this browser alone (`bind: key`): a key that no script can read out, kept in
 * IndexedDB, for all queues of this address. It signs the form `join`; the page of a ticket signs anew before its
 * cookie is too old. Without WebCrypto (plain http) or IndexedDB nothing is signed: the cookie alone will do. */
(function () {
  'use strict';
  const d = JSON.parse(document.getElementById('data').textContent), AGAIN_MS = 480000; /* both are good for ten minutes */
  const PATIENCE_MS = 5000; /* for a proof that the reader waits for */
  let nonce = d.proof;

  const done = r => new Promise((good, bad) => { r.onsuccess = () => good(r.result); r.onerror = () => bad(r.error); setTimeout(bad, 3000); });
  const b64 = x => btoa(String.fromCharCode(...new Uint8Array(x))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
  const json = x => b64(new TextEncoder().encode(JSON.stringify(x)));

  /* Two tabs at once have one: the first that is written. */
  async function pair() {
    const open = indexedDB.open('segq', 1);
    open.onupgradeneeded = () => open.result.createObjectStore('keys');
    const db = await done(open), store = mode => db.transaction('keys', mode).objectStore('keys');
    const has = await done(store('readonly').get('device'));
    if (has) return has;
    const fresh = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
    await done(store('readwrite').add(fresh, 'device')).catch(() => {});
    return done(store('readonly').get('device'));
  }

  async function prove(url) {
    const key = await pair(), { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', key.publicKey);
    const text = json({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } }) + '.' +
      json({ htm: 'POST', htu: new URL(url, location).href, iat: Math.floor(Date.now() / 1000), jti: b64(crypto.getRandomValues(new Uint8Array(12))), nonce });
    return text + '.' + b64(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key.privateKey, new TextEncoder().encode(text)));
  }

  /* A fresh cookie; false: the ticket is not this key's. */
  async function renew(token, last) {
    const url = '/v1/tickets/' + token + '/device';
    const r = await fetch(url, { method: 'POST', headers: { DPoP: await prove(url) }, cache: 'no-store' });
    nonce = r.headers.get('DPoP-Nonce') || nonce;
    return r.status === 401 && !last ? renew(token, true) : r.ok;
  }

  /* An answer that never comes is none: what follows says how the place stands. */
  const soon = p => Promise.race([p, new Promise((good, bad) => setTimeout(bad, PATIENCE_MS))]);

  const form = document.querySelector('form[action$="/join"]'), leave = document.getElementById('leave');
  if (form) {
    const submit = form.submit;
    const sign = form.submit = () => prove(form.action).then(text => {
      const field = form.elements.proof || form.appendChild(document.createElement('input')); /* pressed twice: one */
      [field.type, field.name, field.value] = ['hidden', 'proof', text];
    }).catch(() => {}).then(() => submit.call(form));
    form.addEventListener('submit', e => { e.preventDefault(); sign(); });
  }
  if (leave) {
    const again = () => renew(leave.elements.token.value).catch(() => {});
    setInterval(again, AGAIN_MS);
    /* By then no timer may have run for long. page.js has asked whether it is meant: it hears of it first. */
    addEventListener('submit', e => {
      if (e.target !== leave || e.defaultPrevented) return;
      e.preventDefault();
      soon(again()).catch(() => {}).then(() => leave.submit());
    });
  }

  /* Another device's, perhaps because the cookie is old or gone: not said before that is known. */
  if (d.state !== 'other_device' || !d.token || !self.indexedDB || !self.crypto || !crypto.subtle) return;
  const all = document.querySelector('main'), say = () => { all.hidden = false; };
  all.hidden = true;
  soon(renew(d.token)).then(good => {
    const once = Date.now() - (sessionStorage.segqProved || 0) > 10000; /* where cookies are not kept it would never end */
    if (!good || !once) return say();
    sessionStorage.segqProved = Date.now();
    location.reload();
  }).catch(say);
})();
