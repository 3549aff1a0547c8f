// push_service.js PORT CERT KEY LOG: a made-up push service over TLS with one browser. Its first line says the browser's
// keys (JSON); it serves until it is ended. What it gets is checked as RFC 8292 says, opened as RFC 8291 says, and
// becomes a line of LOG: {path, said, ttl, topic, who, key}, or {wrong}. /STATUS is answered with that, /busy once
// with 429 and Retry-After.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const https = require('https');
const assert = require('assert');

const [port, cert, key, log] = process.argv.slice(2);
const own = crypto.createECDH('prime256v1'), point = own.generateKeys(), auth = crypto.randomBytes(16);
const mac = (k, ...text) => crypto.createHmac('sha256', k).update(Buffer.concat(text.map(t => Buffer.from(t)))).digest();

let busyBefore = false;

function sender(field) {
  const [, token, k] = /^vapid t=([\w.-]+),k=([\w-]+)$/.exec(field);
  const [head, claims, signature] = token.split('.'), raw = Buffer.from(k, 'base64url');
  const jwk = { kty: 'EC', crv: 'P-256', x: raw.subarray(1, 33).toString('base64url'), y: raw.subarray(33).toString('base64url') };
  const good = crypto.verify('sha256', Buffer.from(head + '.' + claims), { key: crypto.createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'));
  assert(good, 'its signature');
  assert.deepStrictEqual(JSON.parse(Buffer.from(head, 'base64url')), { typ: 'JWT', alg: 'ES256' });
  const c = JSON.parse(Buffer.from(claims, 'base64url'));
  assert(c.exp > Date.now() / 1000 && c.exp <= Date.now() / 1000 + 86400, 'its time');
  return { aud: c.aud, sub: c.sub, key: k };
}

function opened(body) {
  const salt = body.subarray(0, 16), n = body[20], theirs = body.subarray(21, 21 + n);
  assert(n === 65 && body.readUInt32BE(16) >= body.length - 86, 'its head');
  const ikm = mac(mac(auth, own.computeSecret(theirs)), 'WebPush: info\0', point, theirs, '\x01'), prk = mac(salt, ikm);
  const open = crypto.createDecipheriv('aes-128-gcm', mac(prk, 'Content-Encoding: aes128gcm\0\x01').subarray(0, 16),
    mac(prk, 'Content-Encoding: nonce\0\x01').subarray(0, 12));
  open.setAuthTag(body.subarray(-16));
  const plain = Buffer.concat([open.update(body.subarray(86, -16)), open.final()]), end = plain.lastIndexOf(2);
  assert(end >= 0 && plain.subarray(end + 1).every(b => b === 0), 'its padding');
  return JSON.parse(plain.subarray(0, end));
}

https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, async (q, a) => {
  let line;
  try {
    const all = [], h = q.headers;
    for await (const c of q) all.push(c);
    assert(q.method === 'POST' && h['content-encoding'] === 'aes128gcm' && +h.ttl >= 60, 'its fields');
    line = { path: q.url, said: opened(Buffer.concat(all)), ttl: +h.ttl, topic: h.topic, who: sender(h.authorization), key: h['idempotency-key'] };
  } catch (e) {
    line = { path: q.url, wrong: String(e) };
  }
  line.at = Date.now();
  fs.appendFileSync(log, JSON.stringify(line) + '\n');
  const busy = q.url === '/busy' && !busyBefore;
  busyBefore ||= busy;
  if (busy) a.setHeader('Retry-After', '2');
  a.writeHead(line.wrong ? 400 : busy ? 429 : +q.url.slice(1) || 201).end();
}).listen(+port, '127.0.0.1', () => console.log(JSON.stringify({ p256dh: point.toString('base64url'), auth: auth.toString('base64url') })));
