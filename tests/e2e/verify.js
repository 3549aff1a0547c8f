// verify.js JWKS-URL QUEUE: reads a pass on standard input, checks it as a game server
// would: three parts, the key that it names, Ed25519, audience, times. Prints the claims.
'use strict';
const crypto = require('crypto');
const fs = require('fs');

function fail(why) {
  console.error('bad pass: ' + why);
  process.exit(1);
}

async function main(url, queue) {
  const parts = fs.readFileSync(0, 'utf8').trim().split('.');
  if (parts.length !== 3) fail('not three parts');
  const [header, claims] = parts.slice(0, 2).map(p => JSON.parse(Buffer.from(p, 'base64url')));
  if (header.alg !== 'EdDSA' || header.typ !== 'JWT') fail('not an EdDSA JWT');
  const { keys } = await (await fetch(url)).json();
  const jwk = keys.find(k => k.kid === header.kid);
  if (!jwk) fail('signed with a key that is not published');
  const key = crypto.createPublicKey({ key: jwk, format: 'jwk' });
  const signature = Buffer.from(parts[2], 'base64url');
  const signed = Buffer.from(parts[0] + '.' + parts[1]);
  if (!crypto.verify(null, signed, key, signature)) fail('the signature is wrong');
  signed[signed.length - 1] ^= 1;
  if (crypto.verify(null, signed, key, signature)) fail('any text passes for signed');
  const now = Date.now() / 1000;
  if (claims.aud !== queue) fail('for another queue');
  if (!(claims.nbf <= now + 1 && now < claims.exp)) fail('not valid now');
  for (const c of ['iss', 'sub', 'jti', 'iat', 'lane'])
    if (claims[c] === undefined) fail('no ' + c);
  console.log(JSON.stringify(claims));
}

main(process.argv[2], process.argv[3]).catch(e => fail(e.message));
