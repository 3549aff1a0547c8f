// gate.mjs: at the door: passes, checked here or by a router; middleware; claims.
//
//   const gate = new Gate('https://q1.example', 'login');
//   await gate.check(token);       // a Pass, or PassInvalid: by the published keys, no router is asked
//   app.use(gate.express());       // Express, Connect, or a plain server of node:http: request.segq
//   serve(gate.fetch(handler));    // handler(request, pass, ...): servers of Request and Response
//
// A pass is a JWT (EdDSA) of the routers' published keys; its audience is the queue. Keys are fetched when
// needed, kept for as long as their answer says, and fetched anew for a `kid` that is not known. A pass that
// was revoked is seen by routers only: verify().

import { createHmac, createPrivateKey, sign } from 'node:crypto';
import { ed25519Key, ed25519Verify } from './ed25519.mjs';
import { ApiError, NetworkError, PassExpired, PassInvalid, PassNotYetValid, SegqError, TooFast, Unavailable } from './errors.mjs';
import { Transport, given, isObject, judge, newKey, now, path } from './transport.mjs';

const JWT_MAX = 4096;
const KEYS_MS = 60000;      // if the answer does not say for how long
const KEYS_MAX_MS = 3600000; // whatever the answer says
const AGAIN_MS = 5000;      // keys are asked for at most so often
const AWAY_MS = 1000;       // so long nobody asks after no router has answered
const STALE_MS = 86400000;  // while no router answers, old keys do
const KNOWN_MAX = 4096;
const COOKIE = 'segq_pass';
const COMMAND = 'x-segq-command';

/** The bytes of base64url without padding, in its one form. */
function bytesOf(text) {
  const raw = Buffer.from(text, 'base64url');
  if (raw.toString('base64url') !== text) throw new SyntaxError('not canonical');
  return raw;
}

function objectOf(text) {
  const o = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(text)));
  if (!isObject(o)) throw new SyntaxError('no object');
  return o;
}

/** The routers' public keys. */
class Keys {
  constructor(transport) {
    this._t = transport;
    this._keys = new Map();
    this._until = this._asked = this._got = -Infinity;
  }

  /** Has them fetched beside, if they are old: for the time when no router answers. */
  warm() {
    if (now() >= this._until && now() >= this._asked + AGAIN_MS) this._fetch().catch(() => {}); // who needs them asks again, and hears why
  }

  /** All that are known; asks if it must. NetworkError, Unavailable: none is known. */
  async get(kid) {
    const known = this._keys.has(kid);
    if (now() < this._until && (known || now() < this._asked + AGAIN_MS)) return this._keys;
    if (known && this._busy) return this._keys; // who has a key that will do does not wait
    await this._fetch();
    return this._keys;
  }

  /** One question at a time. */
  _fetch() {
    return this._busy ||= this._fetchNow().finally(() => { this._busy = undefined; });
  }

  async _fetchNow() {
    this._asked = now();
    try {
      const a = await this._t.call('GET', '/.well-known/jwks.json', undefined, {
        headers: { Authorization: '' }, raw: true, retryForMs: this._keys.size ? 0 : 3000 });
      const keys = new Map();
      for (const k of a.json().keys) {
        const key = k.kty === 'OKP' && k.crv === 'Ed25519' && ed25519Key(bytesOf(k.x));
        if (key) keys.set(k.kid, key);
      }
      if (!keys.size) throw new SyntaxError('none of them is for passes');
      this._keys = keys;
      const age = /max-age=(\d+)/.exec(a.headers.get('cache-control') || '');
      this._got = this._asked = now();
      this._until = this._got + (age ? Math.min(KEYS_MAX_MS, Math.max(AGAIN_MS, 1000 * age[1])) : KEYS_MS);
    } catch (e) {
      this._asked = now(); // who waited meanwhile does not ask the same again
      if (!this._keys.size || now() - this._got > STALE_MS)
        throw e instanceof SegqError ? e : new NetworkError(`the keys cannot be read: ${e.message}`, e);
      this._until = now() + AGAIN_MS;
    }
  }
}

const isAway = e => e instanceof NetworkError || e instanceof Unavailable || e instanceof TooFast;

/** For one queue. routers: addresses, or a Client. leewayMs: how far clocks may differ. ask, of the
 * middleware: "always" has a router decide about each request (renewal, revocation, bypass), and checks here
 * only while none answers; "renew" checks here, and asks when a third of the pass is over, so that it is
 * renewed; "never" only checks here. room: another address of this site that has the waiting page; visitors
 * come back there. secret: as in gate_secret_file of the routers. */
export class Gate {
  constructor(routers, queue, { leewayMs = 30000, ask = 'always', timeoutMs = 2000, room = '', secret, fetch } = {}) {
    if (!['always', 'renew', 'never'].includes(ask)) throw new TypeError('ask: always, renew or never');
    this._t = routers.transport || new Transport(routers, { timeoutMs, fetch });
    Object.assign(this, { queue, leewayMs, ask, timeoutMs, room });
    this._secret = secret?.trim();
    this._away = 0;
    this._keys = new Keys(this._t);
    this._known = new Map();
  }

  // ---- here ----

  /** A Pass. PassInvalid, PassExpired, PassNotYetValid: it opens nothing. One that is bound needs the
   * request's method and path; one that is good once needs a router: verify(). */
  async check(token, { method, path: uri } = {}) {
    if (typeof token !== 'string') throw new PassInvalid('none', 'no pass');
    let known = this._known.get(token);
    if (!known || !(await this._keys.get(known.kid)).has(known.kid)) known = await this._opened(token);
    this._inTime(known.pass);
    bound(known.pass.claims, method, uri);
    return known.pass;
  }

  /** The kid that signed it, and what it says. */
  async _opened(token) {
    const parts = token.split('.');
    let head, claims, signature;
    try {
      if (parts.length !== 3 || token.length > JWT_MAX) throw new SyntaxError('not three parts');
      [head, claims, signature] = [objectOf(parts[0]), objectOf(parts[1]), bytesOf(parts[2])];
    } catch (e) {
      throw new PassInvalid('malformed', e.message);
    }
    if (head.alg !== 'EdDSA' || 'crit' in head) throw new PassInvalid('algorithm', 'a pass is signed with EdDSA, and needs no extension');
    const { kid } = head;
    if (typeof kid !== 'string') throw new PassInvalid('malformed', 'it does not say which key has signed it');
    const key = (await this._keys.get(kid)).get(kid);
    if (!key || !ed25519Verify(key, signature, Buffer.from(`${parts[0]}.${parts[1]}`)))
      throw new PassInvalid(key ? 'signature' : 'unknown_key', 'no router of this cluster has signed it');
    const good = ['exp', 'iat', 'nbf'].every(n => Number.isSafeInteger(claims[n])) &&
      ['aud', 'jti', 'sub', 'lane'].every(n => typeof claims[n] === 'string');
    if (!good) throw new PassInvalid('malformed', 'members of a pass are missing');
    if (claims.aud !== this.queue) throw new PassInvalid('other_queue', `it is for ${claims.aud}`);
    const known = { kid, pass: Object.freeze({ queue: claims.aud, ticket: claims.jti, subject: claims.sub, lane: claims.lane,
      issued_at: claims.iat, expires_at: claims.exp, claims }) };
    if (this._known.size >= KNOWN_MAX) this._known.clear();
    this._known.set(token, known);
    return known;
  }

  _inTime(p) {
    const s = Date.now() / 1000, leeway = this.leewayMs / 1000;
    if (s >= p.expires_at + leeway) throw new PassExpired('expired', `since ${Math.round(s - p.expires_at)} s`);
    if (s < p.claims.nbf - leeway)
      throw new PassNotYetValid('not_yet_valid', `for ${Math.round(p.claims.nbf - s)} s; are the clocks right?`);
  }

  // ---- by a router ----

  /** A Verdict; ApiError with its code: no. headers: of the visitor's request, and X-Original-URI,
   * X-Original-Method (believed of a trusted proxy). */
  async verify(token, { headers, once, signal } = {}) {
    const ask = { Authorization: token ? `Bearer ${token}` : '', ...headers };
    if (this._secret) // asked again it is the same question: a pass that is good once is used once
      Object.assign(ask, { 'X-Segq-Ask': await newKey(), 'X-Segq-Gate-Secret': this._secret });
    try {
      new Headers(ask);
    } catch (e) {
      throw new PassInvalid('malformed', e.message);
    }
    const at = `/v1/verify?queue=${path(this.queue)}${once ? '&use=once' : ''}`;
    const asked = async router => {
      const a = judge(await this._t.once(router, 'GET', at, { headers: ask, timeoutMs: this.timeoutMs, signal }), true);
      if (a.status !== 204 || (a.headers.get('x-segq-queue') ?? this.queue) !== this.queue ||
        !(a.headers.has('x-segq-ticket') || a.headers.has('x-segq-bypass')))
        throw new NetworkError(`what answers (${a.status}) is no router: it lets nobody in`);
      return a;
    };
    for (let more = this._t.routers.length - 1; ; more--) // each router once: a visitor waits
      try {
        const { headers: h } = await this._t.untilAnswered(asked, { retryForMs: 0, signal }), expires = h.get('x-segq-expires');
        return given({ queue: this.queue, bypass: h.get('x-segq-bypass'), ticket: h.get('x-segq-ticket'),
          subject: h.get('x-segq-subject'), lane: h.get('x-segq-lane'), expires_at: /^\d+$/.test(expires || '') ? Number(expires) : null,
          setCookie: h.get('set-cookie'), newPass: h.get('x-segq-pass') });
      } catch (e) {
        if (!(e instanceof NetworkError || e instanceof Unavailable) || !more) throw e;
      }
  }

  /** "release": its slot is free; "revoke", "extend", "extend=600" need `secret`. */
  session(token, command, options) { return this._session([['bearer', token]], command, options); }
  async _session(tokens, command, { signal } = {}) {
    await this._t.call('POST', '/v1/session', { command }, { signal, headers: { ...passes(tokens), 'X-Segq-Gate-Secret': this._secret || '' } });
  }

  // ---- middleware ----

  /** About a visitor's request: {pass, headers} with headers for the answer, or the answer itself,
   * {status, headers, body}. headers: an object with names in small letters. */
  async decide(method, uri, headers) {
    const tokens = presented(headers);
    if (this.ask !== 'always') {
      const [p, why] = await this._firstGood(tokens, method, uri);
      if (!p && (this.ask === 'never' || why.code !== 'once')) return this._refuse(method, uri, headers, why);
      if (p && (this.ask === 'never' || Date.now() / 1000 < p.issued_at + (p.expires_at - p.issued_at) / 3)) return { pass: p, headers: [] };
    }
    try {
      if (now() < this._away) throw new NetworkError('no router answered a moment ago');
      const v = await this.verify(undefined, { headers: visitor(method, uri, headers, tokens) });
      this._keys.warm();
      return { pass: v, headers: Object.entries(given({ 'Set-Cookie': v.setCookie, 'X-Segq-Pass': v.newPass })) };
    } catch (e) {
      if (!isAway(e)) {
        if (!(e instanceof SegqError)) throw e;
        return this._refuse(method, e instanceof PassInvalid ? '/' : uri, headers, e);
      }
      if (e instanceof NetworkError && now() >= this._away) this._away = now() + AWAY_MS;
      const [p] = await this._firstGood(tokens, method, uri);
      return p ? { pass: p, headers: [] } : this._refuse(method, uri, headers, e);
    }
  }

  async _firstGood(tokens, method, uri) {
    let why = new PassInvalid('none', 'no pass');
    for (const [, token] of tokens.filter(([k]) => k !== 'device'))
      try {
        return [await this.check(token, { method, path: uri }), why];
      } catch (e) {
        if (!(e instanceof SegqError)) throw e;
        if (why instanceof PassInvalid && why.code !== 'once') why = e; // which a router can tell
      }
    return [undefined, why];
  }

  _refuse(method, uri, headers, why) {
    const says = o => JSON.stringify(o);
    if (!(why instanceof PassInvalid || why instanceof ApiError) || why.status >= 500 || why.status === 429)
      return { status: 503, headers: [['Content-Type', 'application/problem+json'], ['Retry-After', '2'], ['Cache-Control', 'no-store']],
        body: says({ title: 'Busy', status: 503, code: 'queue_unavailable', detail: 'nobody can say whether you may come in: try again' }) };
    const back = /^(GET|HEAD)$/.test(method) && /^\/(?!\/)/.test(uri) ? uri : '/';
    const location = `${this.room}/q/${path(this.queue)}?return=${path(back).replaceAll('%2F', '/')}`;
    const more = [['X-Segq-Location', location], ['Cache-Control', 'no-store']], status = why.status || 401;
    const goes = (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate' && (headers.accept || '').includes('text/html');
    const astray = !this.room && uri.startsWith('/q/'); // what should be the room: it would go in circles
    if (goes && /^(GET|HEAD|POST)$/.test(method) && why.code !== 'pass_used' && !astray)
      return { status: 303, headers: [...more, ['Location', location]], body: '' };
    return { status, headers: [...more, ['Content-Type', 'application/problem+json']],
      body: says({ title: 'No pass', status, code: why.code, detail: astray ? '/q/ and /v1/ of this site have to lead to the routers' : why.detail, location }) };
  }

  /** `X-Segq-Command: release` of the application's answer, beside: for us, not for the visitor. */
  _obey(command, headers) {
    const tokens = presented(headers);
    if (command && tokens.length) this._session(tokens, String(command)).catch(e => this.onTrouble?.(e));
  }

  /** Middleware (request, response, next) of Express and Connect; before a plain server of node:http:
   * `const go = gate.express(); createServer((q, a) => go(q, a, () => site(q, a)))`. `request.segq` is the
   * Pass or Verdict. */
  express() {
    return (request, response, next) => {
      const method = request.method, uri = request.originalUrl || request.url, headers = request.headers;
      this.decide(method, uri, headers).then(d => {
        if (d.status) {
          response.writeHead(d.status, [...d.headers, ['Content-Length', String(Buffer.byteLength(d.body))]].flat());
          response.end(method === 'HEAD' ? undefined : d.body);
          return;
        }
        const visitors = { ...headers };
        for (const h of Object.keys(headers)) if (h.startsWith('x-segq-')) delete headers[h]; // the visitor's; applications believe a gate's
        request.segq = d.pass;
        this._around(response, d.headers, visitors);
        next();
      }).catch(next);
    };
  }

  /** Has the answer take ours along, and its command out, when its head is written. */
  _around(response, ours, visitors) {
    const write = response.writeHead;
    response.writeHead = (status, ...rest) => {
      response.writeHead = write;
      const message = typeof rest[0] === 'string' ? [rest.shift()] : [];
      for (const [k, v] of pairs(rest[0])) // Node merges only what is an object, and only sometimes
        if (k.toLowerCase() === 'set-cookie') response.setHeader(k, [response.getHeader(k) ?? [], v].flat());
        else response.setHeader(k, v);
      const command = response.getHeader(COMMAND);
      response.removeHeader(COMMAND);
      this._obey([command].flat()[0], visitors);
      for (const [k, v] of ours) response.setHeader(k, k === 'Set-Cookie' ? [response.getHeader(k) ?? [], v].flat() : v);
      return write.call(response, status, ...message);
    };
  }

  /** handler(request, pass, ...rest) behind the gate, for servers of Request and Response. */
  fetch(handler) {
    return async (request, ...rest) => {
      const url = new URL(request.url), headers = Object.fromEntries(request.headers);
      const d = await this.decide(request.method, url.pathname + url.search, headers);
      if (d.status) return new Response(request.method === 'HEAD' || !d.body ? null : d.body, { status: d.status, headers: d.headers });
      const theirs = new Headers(request.headers);
      for (const h of [...theirs.keys()]) if (h.startsWith('x-segq-')) theirs.delete(h);
      const a = await handler(new Request(request, { headers: theirs }), d.pass, ...rest);
      const out = new Response(a.body, a);
      this._obey(out.headers.get(COMMAND), headers);
      out.headers.delete(COMMAND);
      for (const [k, v] of d.headers) out.headers.append(k, v);
      return out;
    };
  }
}

/** [name, value]s of what writeHead() is given: an object, or an array in either of its forms. */
function pairs(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers || {});
  if (Array.isArray(headers[0])) return headers;
  return Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i], headers[2 * i + 1]]);
}

/** ("bearer" or "cookie", pass)s; at most four, as routers do; and ("device", name=value)s. */
function presented(headers) {
  const out = [], devices = [], given = (headers.authorization || '').trim(); // no pattern that looks back: it is a stranger's, and long
  if (/^bearer /i.test(given)) out.push(['bearer', given.slice(7).trim()]);
  for (const part of (headers.cookie || '').split(/[;,]/)) {
    const text = part.trim();
    if (text.startsWith(COOKIE + '=') && text.length > COOKIE.length + 1) out.push(['cookie', text.slice(COOKIE.length + 1).trim()]);
    else if (text.startsWith('segq_device_')) devices.push(['device', text]);
  }
  return [...out.slice(0, 4), ...devices.slice(0, 8)];
}

const passes = tokens => ({
  Authorization: tokens.filter(([k]) => k === 'bearer').map(([, t]) => `Bearer ${t}`)[0] || '',
  Cookie: tokens.filter(([k]) => k !== 'bearer').map(([k, t]) => k === 'device' ? t : `${COOKIE}=${t}`).join('; '),
});

/** What the router is told of the visitor: not the site's other cookies. */
function visitor(method, uri, headers, tokens) {
  const out = { 'X-Original-URI': uri, 'X-Original-Method': method };
  for (const h of ['Accept', 'Referer', 'Sec-Fetch-Mode', 'Sec-Fetch-Dest']) if (headers[h.toLowerCase()]) out[h] = headers[h.toLowerCase()];
  return { ...out, ...passes(tokens) };
}

function bound(c, method, uri) {
  if ('use' in c) throw new PassInvalid('once', 'it is good once, which only a router can tell: verify()');
  if (c.htm !== undefined && c.htm !== method) throw new PassInvalid('other_method', `it is for ${c.htm}`);
  if (c.htu === undefined) return;
  const plain = (uri || '').split('?')[0];
  const below = plain === c.htu || plain.startsWith(String(c.htu).replace(/\/+$/, '') + '/');
  if (!below || /[%\\;#\x00-\x20\x7f]|\/\/|\/\.\.?(\/|$)/.test(plain)) throw new PassInvalid('other_url', `it is for ${c.htu}`);
}

// ---- claims ----

/** A signed claim (`claim_keys` of conf/router.yaml). members, for a lane: aud (the queue), lane, and sub
 * (binds the subject), replaces; for a task: queues, jti, and key, priority. secret: as it stands in its
 * file (HS256), or an Ed25519 private key in PEM (alg: "EdDSA"). */
export function signClaim(secret, members, { kid, ttlS = 300, alg = 'HS256' } = {}) {
  if (alg !== 'HS256' && alg !== 'EdDSA') throw new TypeError('alg: HS256 or EdDSA');
  const at = Math.floor(Date.now() / 1000), text = o => Buffer.from(JSON.stringify(o)).toString('base64url');
  const signed = `${text({ alg, typ: 'JWT', kid })}.${text({ iat: at, exp: at + ttlS, ...members })}`;
  const mac = alg === 'HS256' ? createHmac('sha256', String(secret).trim()).update(signed).digest()
    : sign(null, Buffer.from(signed), createPrivateKey(secret));
  return `${signed}.${mac.toString('base64url')}`;
}
