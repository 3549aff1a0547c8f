// people.mjs: people in line: join, be told of the place, get the pass. In browsers, too.
//
//   const line = client.line('login', { token: saved }); // saved: of an earlier run
//   for await (const ticket of line)                     // at each news, until it is let in
//     show(ticket.position, ticket.eta_s);               // save line.token, and line.device
//   login(line.ticket.pass);
//
// It is told by events where a router has room for that, and polls as it is told otherwise. A router that
// dies costs nothing: the place is kept, and another router knows it.

import { ChallengeRequired, Forbidden, NetworkError, TooFast, Unavailable, errorOf } from './errors.mjs';
import { proof } from './proof.mjs';
import { BROWSER, brief, isObject, judge, newKey, now, parsed, path, retryAfter, sleep } from './transport.mjs';

const FIRST_MS = 5000;  // for the first event
const LATE_MS = 3000;   // so late a beat may be
const QUIET_MS = 90000; // a router says the place anew sooner, or after the told interval
const DEAF_MS = 60000;  // then it tries to listen again

function ticketOf(said) {
  const good = isObject(said) && typeof said.token === 'string' && (said.state === 'waiting' || said.state === 'admitted') &&
    Number.isFinite(said.poll_after_ms);
  if (!good) throw new NetworkError('an answer that is no ticket: ' + brief(said));
  return { ...said, poll_after_ms: Math.min(86400000, Math.max(0, said.poll_after_ms)) };
}

const CHALLENGES = 4; // of a join, at most
const COUNTERS = 1 << 22; // far more than any challenge has, as these two:
const ROUNDS = 1 << 20; // of one key
const WORK = 1 << 30; // rounds in all
const PROOFS = 2; // of a request, at most: the first may lack a nonce
const DEVICE = /(?:^|, ?)(segq_device_[^\s=;,]+=[\w.-]+)/; // the one cookie that is kept
const isHex = x => typeof x === 'string' && /^([0-9a-f]{2})+$/i.test(x);
const bytes = hex => Uint8Array.from(hex.match(/../g), x => parseInt(x, 16));

/** The answer to the challenge of a 428, for the header `segq-challenge`: a second of work, or some. undefined: it has none. */
async function solve(challenge, signal) {
  const p = challenge.parameters || {};
  if (![p.nonce, p.salt, p.keyPrefix].every(isHex) || !(p.cost >= 1 && p.cost <= ROUNDS)) return undefined;
  const nonce = bytes(p.nonce), salt = bytes(p.salt), prefix = bytes(p.keyPrefix);
  const { subtle } = globalThis.crypto || (await import('node:crypto')).webcrypto;
  const derive = async counter => {
    const pass = new Uint8Array(nonce.length + 4);
    pass.set(nonce);
    new DataView(pass.buffer).setUint32(nonce.length, counter);
    const key = await subtle.importKey('raw', pass, 'PBKDF2', false, ['deriveBits']);
    return new Uint8Array(await subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt, iterations: p.cost }, key, 256));
  };
  for (let n = 0; n < COUNTERS && n < WORK / p.cost; n += 16) {
    signal?.throwIfAborted();
    const keys = await Promise.all(Array.from({ length: 16 }, (_, i) => derive(n + i)));
    const i = keys.findIndex(k => prefix.every((x, at) => k[at] === x));
    if (i < 0) continue;
    const derivedKey = Array.from(keys[i], x => x.toString(16).padStart(2, '0')).join('');
    return btoa(JSON.stringify({ challenge, solution: { counter: n + i, derivedKey } }));
  }
  return undefined;
}

/** One place in one queue. Iterate over it, or wait(). `trouble` is "offline" or "busy" while nobody answers. */
export class Line {
  constructor(transport, queue, { token, device, key, subject, client, lane, claim, events = true, onTrouble, signal } = {}) {
    this.queue = queue;
    this.token = token;
    this.device = device; // the cookie of a queue with `bind: device`; in browsers it is theirs
    this.ticket = undefined;
    this.trouble = '';
    this._pair = key; // of a queue with `bind: key`
    this._nonce = undefined;
    this._t = transport;
    this._events = events;
    this._onTrouble = onTrouble;
    this._signal = signal;
    this._body = JSON.stringify({ client: client || (globalThis.document ? 'browser' : 'game'), subject, lane, claim });
    this._deaf = 0;   // it polls until then
    this._missed = 0; // streams in a row that did not begin
    this._id = '';
  }

  /** Takes the place, or finds it again. Forbidden, NotFound: it cannot join. */
  async join() {
    if (this.token) return this.poll();
    this._key = this._key || await newKey(); // if the answer is lost, the next try finds its place
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': this._key };
    for (let left = CHALLENGES; ; left--) {
      try {
        return this._heard(await this._ask('POST', `/v1/queues/${path(this.queue)}/tickets`, this._body, headers));
      } catch (e) {
        if (!left) throw e;
        if (e instanceof ChallengeRequired && e.problem.challenge) {
          const answer = await solve(e.problem.challenge, this._signal);
          if (!answer) throw e;
          headers['segq-challenge'] = answer;
        } else if (e instanceof Forbidden && e.code.startsWith('challenge_')) delete headers['segq-challenge']; // slept over, or from another network
        else throw e;
      }
    }
  }

  /** Asks once; also tells segq that somebody still waits. TicketGone: it is over. */
  async poll() { return this._heard(await this._ask('GET', this._at())); }

  /** Gives the place up, or ends the session. */
  async leave({ signal } = {}) {
    if (!this.token) return;
    const go = () => this._t.call('DELETE', this._at(), undefined, { ...this._with(), signal });
    try {
      await go();
    } catch (e) {
      if (!this._mayProve(e.code)) throw e;
      await this._t.untilAnswered(r => this._prove(r, signal ?? null), { retryForMs: this._t.retryForMs, signal });
      await go();
    }
  }

  /** When it is let in, with the pass. */
  async wait(onTicket) {
    for await (const t of this) onTicket?.(t);
    return this.ticket;
  }

  async* [Symbol.asyncIterator]() {
    let t = await this.join();
    for (;;) {
      yield t;
      if (t.state === 'admitted') return;
      let pause = t.poll_after_ms;
      if (this._events && now() >= this._deaf) {
        try {
          pause = yield* this._listen(t);
        } catch (e) {
          if (e instanceof NetworkError) { // its router may be dead: another one knows
            this._t.rotate(this._t.routers[0]);
            if (++this._missed > 1) this._beDeaf(DEAF_MS);
            pause = 0;
          } else if (e instanceof Unavailable || e instanceof TooFast) {
            this._beDeaf(DEAF_MS);
            pause = e.retryAfterMs || pause;
          } else if (this._mayProve(e.code)) {
            if (++this._missed > 1) this._beDeaf(DEAF_MS);
            pause = 0; // the poll proves the key
          } else {
            throw e;
          }
        }
        if (this.ticket.state === 'admitted') return;
      }
      await sleep(pause, this._signal);
      t = await this.poll();
    }
  }

  // ---- within ----

  _at() { return '/v1/tickets/' + path(this.token || ''); }

  /** A browser keeps the device's cookie itself, for its own origin. */
  _with(headers) { return { credentials: 'same-origin', headers: { ...headers, Authorization: '', Cookie: BROWSER ? undefined : this.device } }; }

  _ask(method, at, body, headers) {
    const signal = this._signal;
    return this._t.untilAnswered(async r => {
      for (let left = this._pair ? PROOFS : 0; ; left--) {
        const a = await this._once(r, method, at, body, headers, method === 'POST');
        if (!left || !this._isUnproved(a)) return ticketOf(judge(a));
        if (method !== 'POST') await this._prove(r);
      }
    }, { trouble: why => this._say(why), signal });
  }

  /** One try. proves: with a proof of the key, if there is one. */
  async _once(r, method, at, body, headers, proves, signal = this._signal) {
    const more = proves && this._pair ? { DPoP: await proof(this._pair, new URL(r + at, globalThis.location?.href).href, this._nonce) } : {};
    const a = await this._t.once(r, method, at, { body, ...this._with({ ...headers, ...more }), signal });
    this.device = DEVICE.exec(a.headers.get('set-cookie') || '')?.[1] ?? this.device; // also of a 503: a ticket that was rebound
    this._nonce = a.headers.get('dpop-nonce') || this._nonce;
    return a;
  }

  /** The cookie is ten minutes old, or not there: what needs the key itself. */
  _mayProve(code) { return this._pair && (code === 'proof_required' || code === 'other_device'); }

  _isUnproved(a) { return (a.status === 401 || a.status === 403) && this._mayProve((parsed(a.text()) || {}).code); }

  /** A fresh cookie. Forbidden: the ticket is another key's. */
  async _prove(r, signal) {
    for (let left = PROOFS; ; left--) {
      const a = await this._once(r, 'POST', this._at() + '/device', undefined, {}, true, signal);
      if (a.status < 300) return;
      if (a.status !== 401 || !left) judge(a);
    }
  }

  _say(why) {
    if (why === this.trouble) return;
    this.trouble = why;
    this._onTrouble?.(why);
  }

  _heard(t) {
    this.token = t.token;
    return this.ticket = t;
  }

  _beDeaf(ms) { this._deaf = now() + ms * (1 + Math.random()); }

  /** News by events, until there are none; returns how long to wait before a poll. */
  async* _listen(t) {
    const router = this._t.routers[0];
    const s = await this._t.stream(router, 'GET', this._at() + '/events', { signal: this._signal, ...this._with({
      Accept: 'text/event-stream', 'Last-Event-ID': this._id || undefined }) });
    if (s.status !== 200) {
      const a = await s.read();
      if (a.status >= 400) judge(a);
      this._beDeaf(retryAfter(a.headers.get('retry-after')) || DEAF_MS);
      return t.poll_after_ms;
    }
    let heard = false, placeBy = now() + QUIET_MS;
    s.patienceMs = FIRST_MS;
    try {
      for await (const e of s.events()) {
        if (e.event === 'message') {
          t = this._heard(ticketOf(parsed(e.data)));
          heard = true;
          this._id = e.id;
          this._missed = 0;
          placeBy = now() + Math.max(QUIET_MS, 2 * t.poll_after_ms);
          this._say('');
          yield t;
          if (t.state === 'admitted') return 0;
        } else if (e.event === 'beat') {
          if (Number(e.data) > 0) s.patienceMs = Math.min(600000, Number(e.data)) + LATE_MS;
          if (now() > placeBy) return 0; // beats without places: its node is away
        } else if (e.event === 'gone') {
          throw errorOf(410, parsed(e.data));
        } else if (e.event === 'away') {
          this._t.rotate(router);
          return Math.min(86400000, Number(parsed(e.data).poll_after_ms) || 0);
        }
      }
    } catch (e) {
      if (!(e instanceof NetworkError)) throw e;
    } finally {
      s.close();
    }
    this._t.rotate(router);
    if (!heard) { // something on the way buffers
      this._beDeaf(DEAF_MS);
      return 0;
    }
    return Math.random() * Math.max(t.poll_after_ms, FIRST_MS); // all who were told at once come apart
  }
}

/** One person's places in several queues: the first turn is taken, the others are given up (`join_groups` of the
 * routers), or kept with others: 'keep': then each place that is let in has its own `pass`, and it ends when none waits
 * any more. name: a group of the routers' configuration, in place of queues. Iterate over it, or wait(): what comes is
 * Places of proto/openapi.yaml. */
export class Several {
  constructor(transport, queues, { group, name, others, claim, client, signal } = {}) {
    this.group = group; // each answer has another one: save the last
    this.places = undefined;
    this._t = transport;
    this._signal = signal;
    this._body = JSON.stringify({ queues: queues?.length ? queues : undefined, group: name, others, claim,
      client: client || (globalThis.document ? 'browser' : 'game') });
  }

  /** Takes the places, all or none, or finds them again. Forbidden, NotFound: it cannot join. */
  async join() {
    if (this.group) return this.poll();
    this._key = this._key || await newKey();
    return this._ask('POST', '/v1/places', this._body, { 'Content-Type': 'application/json', 'Idempotency-Key': this._key });
  }

  /** Asks once; also tells segq that somebody still waits. TicketGone: no place is left. */
  poll() { return this._ask('GET', this._at()); }

  /** Gives all places up, or ends the session. */
  async leave({ signal } = {}) {
    if (this.group) await this._t.call('DELETE', this._at(), undefined, { headers: { Authorization: '' }, signal });
  }

  /** When the first turn has come, with its pass. */
  async wait(onPlaces) {
    for await (const p of this) onPlaces?.(p);
    return this.places;
  }

  async* [Symbol.asyncIterator]() {
    for (let p = await this.join(); ; p = await this.poll()) {
      yield p;
      if (p.state === 'admitted') return;
      await sleep(p.poll_after_ms >= 0 ? Math.min(86400000, p.poll_after_ms) : 1000, this._signal);
    }
  }

  _at() { return '/v1/places/' + path(this.group); }

  async _ask(method, at, body, headers) {
    const signal = this._signal, all = { ...headers, Authorization: '' };
    const said = this.places = await this._t.untilAnswered(async r => {
      const p = judge(await this._t.once(r, method, at, { body, headers: all, signal }));
      if (!isObject(p) || typeof p.group !== 'string' || !p.state) throw new NetworkError('an answer that is no places: ' + brief(p));
      return p;
    }, { signal });
    this.group = said.group;
    if (said.state === 'over') throw errorOf(410, { code: 'ticket_gone', detail: 'no place is left: join again' });
    return said;
  }
}
