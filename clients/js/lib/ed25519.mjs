// ed25519.mjs: signatures of passes and calls, by the platform. A key of a small order is refused here: it
// has signed anything, and OpenSSL takes it.
import { createPublicKey, verify } from 'node:crypto';

const P = 2n ** 255n - 19n;
const Y8 = 0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL = [0n, 1n, P - 1n, Y8, P - Y8]; // of points whose order divides 8

function isSmall(raw) {
  const y = BigInt('0x' + Buffer.from(raw).reverse().toString('hex')) & ((1n << 255n) - 1n);
  return SMALL.includes(y % P);
}

/** A key of 32 bytes; undefined: it is none. */
export function ed25519Key(raw) {
  if (raw.length !== 32 || isSmall(raw)) return undefined;
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(raw).toString('base64url') }, format: 'jwk' });
}

/** Who has the private half of the key has signed these bytes. */
export function ed25519Verify(key, signature, signed) {
  try {
    return key !== undefined && signature.length === 64 && verify(null, signed, key, signature);
  } catch (e) {
    return false;
  }
}
