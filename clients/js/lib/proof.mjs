// proof.mjs: a device that has a key (queues with `bind: key`): proofs of RFC 9449, by WebCrypto. In browsers, too.

const webcrypto = async () => globalThis.crypto?.subtle ? globalThis.crypto : (await import('node:crypto')).webcrypto;
const b64 = x => btoa(String.fromCharCode(...new Uint8Array(x))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
const json = x => b64(new TextEncoder().encode(JSON.stringify(x)));

/** A key that no script can read out; IndexedDB keeps it. extractable: crypto.subtle.exportKey() may, to save it in a file. */
export async function newDeviceKey({ extractable = false } = {}) {
  return (await webcrypto()).subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, extractable, ['sign', 'verify']);
}

/** The key of this browser, for all queues of the page's address: the waiting page there has the same. IndexedDB
 * keeps it. It throws where there is none, and by plain http. */
export async function browserDeviceKey() {
  const done = r => new Promise((good, bad) => { r.onsuccess = () => good(r.result); r.onerror = () => bad(r.error); });
  const open = indexedDB.open('segq', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('keys');
  const db = await done(open), store = mode => db.transaction('keys', mode).objectStore('keys');
  const kept = () => done(store('readonly').get('device'));
  try {
    const has = await kept();
    if (has) return has;
    const fresh = await newDeviceKey();
    await done(store('readwrite').add(fresh, 'device')).catch(() => {}); // another tab was first: its key counts
    return await kept();
  } finally {
    db.close();
  }
}

/** The header DPoP for a POST to that address. */
export async function proof({ privateKey, publicKey }, url, nonce = '') {
  const c = await webcrypto(), { kty, crv, x, y } = await c.subtle.exportKey('jwk', publicKey);
  const text = json({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } }) + '.' +
    json({ htm: 'POST', htu: url, iat: Math.floor(Date.now() / 1000), jti: b64(c.getRandomValues(new Uint8Array(12))), nonce });
  return text + '.' + b64(await c.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, new TextEncoder().encode(text)));
}
