// webhooks.mjs: calls and notices that segq sends: are they segq's? (Standard Webhooks,
// https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md)
//
//   const hook = new Webhook('whsec_...');  // or ['whsec_NEW', 'whsec_OLD'], 'whpk_...'
//   hook.verify(request.headers, rawBody);  // SignatureInvalid, or the task's id

import { createHmac, timingSafeEqual } from 'node:crypto';
import { ed25519Key, ed25519Verify } from './ed25519.mjs';
import { SignatureInvalid } from './errors.mjs';

const SIGNATURES = 16; // of one call, that are looked at

/** The bytes, in base64's one form; undefined: it is none. */
function base64(text) {
  const raw = Buffer.from(text, 'base64');
  return raw.toString('base64') === text ? raw : undefined;
}

function keyOf(text) {
  const [, kind, rest] = /^(whsec|whpk)_(.*)$/s.exec(text.trim()) || [];
  const raw = kind && base64(rest);
  if (raw && kind === 'whsec' && raw.length >= 24 && raw.length <= 64) return { version: 'v1', raw };
  if (raw && kind === 'whpk' && raw.length === 32) return { version: 'v1a', raw: ed25519Key(raw) };
  throw new TypeError('a webhook key: whsec_ and base64 of 24 to 64 bytes, or whpk_ and base64 of 32');
}

const good = (key, signature, signed) => {
  if (key.version === 'v1a') return ed25519Verify(key.raw, signature, signed);
  const mac = createHmac('sha256', key.raw).update(signed).digest();
  return mac.length === signature.length && timingSafeEqual(mac, signature);
};

/** keys: secrets (whsec_) and public keys (whpk_); any of them may have signed, so that old and new ones go
 * side by side. toleranceMs: how far the clocks, and an old call, may be off. */
export class Webhook {
  constructor(keys, { toleranceMs = 300000 } = {}) {
    this._keys = (Array.isArray(keys) ? keys : [keys]).map(keyOf);
    if (!this._keys.length) throw new TypeError('no keys');
    this.toleranceMs = toleranceMs;
  }

  /** headers: a Headers, or an object with names in any case. Returns `webhook-id`, the same in each attempt. */
  verify(headers, body) {
    const small = Object.fromEntries([...(headers.entries?.() || Object.entries(headers))].map(([k, v]) => [k.toLowerCase(), v]));
    const [id, stamp, said] = ['id', 'timestamp', 'signature'].map(n => {
      if (typeof small['webhook-' + n] !== 'string') throw new SignatureInvalid(`the header webhook-${n} is missing`);
      return small['webhook-' + n];
    });
    if (id.includes('.')) throw new SignatureInvalid('webhook-id has a full stop'); // it parts what is signed, which could be parted in another place
    if (!/^[0-9]{1,18}$/.test(stamp)) throw new SignatureInvalid('webhook-timestamp is no number');
    if (Math.abs(Date.now() - 1000 * stamp) > this.toleranceMs) throw new SignatureInvalid('too old, or one of the two clocks is wrong');
    const signed = Buffer.concat([Buffer.from(`${id}.${stamp}.`), Buffer.from(body)]);
    for (const one of said.split(/\s+/).slice(0, SIGNATURES)) {
      const [version, text = ''] = one.split(',', 2), signature = base64(text);
      if (signature && this._keys.some(k => k.version === version && good(k, signature, signed))) return id;
    }
    throw new SignatureInvalid('no signature of a key that is known');
  }
}
