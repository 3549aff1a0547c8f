// fake.mjs: a server that answers as it is told, byte for byte, and a signer of passes.
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:net';

export function answer(status = 200, value, headers = {}) {
  const body = value === undefined ? '' : JSON.stringify(value);
  return [`HTTP/1.1 ${status} X`, `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([k, v]) => `${k}: ${v}`)].join('\r\n') + '\r\n\r\n' + body;
}

export const problem = (status, code, more = {}, headers = {}) =>
  answer(status, { title: 'T', status, code, detail: 'd', request_id: 'r', ...more }, headers);

export const events = (...said) => 'HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n' +
  said.map(chunk).join('') + (said.at(-1)?.endsWith('<open>') ? '' : '0\r\n\r\n');
export const chunk = text => { const t = text.replace('<open>', ''); return `${Buffer.byteLength(t).toString(16)}\r\n${t}\r\n`; };

/** Answers requests in the order of its script: texts, or functions of {head, body} that return one, at once
 * or later. The end of the script, and "", close; a text that ends in "<cut>" closes behind it. `asked` has
 * {head, body}, `connections` how many there were. */
export async function fake(t, ...script) {
  const f = { script, asked: [], connections: 0, open: new Set() };
  const server = createServer(c => {
    f.connections++;
    f.open.add(c);
    c.on('error', () => {});
    c.on('close', () => f.open.delete(c));
    let seen = Buffer.alloc(0);
    c.on('data', async piece => {
      seen = Buffer.concat([seen, piece]);
      const end = seen.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = seen.subarray(0, end).toString(), n = Number(/^content-length: *(\d+)/im.exec(head)?.[1] || 0);
      if (seen.length < end + 4 + n) return;
      const q = { head, body: seen.subarray(end + 4, end + 4 + n).toString() };
      seen = seen.subarray(end + 4 + n);
      f.asked.push(q);
      const next = f.script.length ? f.script.shift() : '';
      const said = typeof next === 'function' ? await next(q) : next;
      if (c.destroyed) return;
      if (said) c.write(said.replace(/<cut>$/, ''));
      if (!said || said.endsWith('<cut>')) c.end();
    });
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  f.url = `http://127.0.0.1:${server.address().port}`;
  t.after(() => { server.close(); for (const c of f.open) c.destroy(); });
  return f;
}

export class Signer {
  constructor() {
    const pair = generateKeyPairSync('ed25519');
    this.key = pair.privateKey;
    this.public = pair.publicKey.export({ format: 'jwk' }).x;
    this.kid = this.public.slice(0, 11);
  }
  jwk() { return { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA', kid: this.kid, x: this.public }; }
  sign(text) { return sign(null, Buffer.from(text), this.key); }
  jwt(claims, head = {}) {
    const text = [{ alg: 'EdDSA', typ: 'JWT', kid: this.kid, ...head }, claims].map(o => Buffer.from(JSON.stringify(o)).toString('base64url')).join('.');
    return `${text}.${this.sign(text).toString('base64url')}`;
  }
}

/** Until it holds, at most so long. */
export async function until(what, ms = 5000) {
  const end = Date.now() + ms;
  while (!what()) {
    if (Date.now() > end) throw new Error('it never is: ' + what);
    await new Promise(done => setTimeout(done, 5));
  }
}
