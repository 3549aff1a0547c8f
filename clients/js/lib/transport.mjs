// transport.mjs: HTTP to any of several routers: back-off with jitter, Retry-After, redirects of load
// balancers. By fetch() in browsers, by http.mjs in Node.
//
// What is asked here may be asked again: joins and submissions have an Idempotency-Key, everything else is
// the same when it is done twice (docs/api.md). So a broken connection, a body that breaks off and a 503
// are answered by the next try, at another router if there is one.

import { NetworkError, TooFast, Unavailable, errorOf } from './errors.mjs';

export const VERSION = '0.2.0';
const WORST_MS = 30000; // of the back-off
const BODY_MAX = 64 << 20;
const REDIRECTS = 4;
const SECRET = ['authorization', 'cookie', 'dpop', 'segq-token', 'x-segq-gate-secret'];
const EVENT_ID = /^[ -~]{0,128}$/; // another one is a stranger's: no header could send it back
export const BROWSER = typeof globalThis.document === 'object' || typeof globalThis.importScripts === 'function';

/** How requests are made; index.mjs sets another one. */
export const defaults = { fetch: (url, init) => globalThis.fetch(url, init) };
export const now = () => performance.now();
export const spread = ms => ms * (1 + Math.random() / 2);
export function path(name) {
  if (name === '.' || name === '..') throw new TypeError('"." and ".." name nothing'); // addresses would lose what stands before
  return encodeURIComponent(name);
}
export const isObject = v => typeof v === 'object' && v !== null && !Array.isArray(v);
const utf8 = new TextDecoder();

/** Without the members that are undefined; JSON leaves them out, headers do not. */
export const given = o => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined && v !== null));

/** Nobody guesses it. */
export async function newKey() {
  const c = globalThis.crypto || (await import(/* @vite-ignore */ 'node:crypto')).webcrypto; // Node 18
  return Array.from(c.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('');
}

/** Waits so long, or throws the reason of the signal. */
export function sleep(ms, signal) {
  return new Promise((ok, fail) => {
    if (signal?.aborted) return fail(signal.reason);
    const over = () => { clearTimeout(t); fail(signal.reason); };
    const t = setTimeout(() => { signal?.removeEventListener('abort', over); ok(); }, ms);
    signal?.addEventListener('abort', over, { once: true });
  });
}

/** ms of Retry-After, at most a day; undefined: it is none. */
export function retryAfter(text) {
  const s = text ? Number(text) : NaN;
  return s >= 0 ? Math.min(86400, s) * 1000 : undefined;
}

/** 1 s, 2 s, 4 s ... 30 s, each up to half as long again. */
export class Backoff {
  constructor(firstMs = 1000) { this.firstMs = firstMs; this.fails = 0; }
  /** told: what Retry-After said. */
  next(told) {
    return spread(told || Math.min(WORST_MS, this.firstMs * 2 ** Math.min(10, this.fails++)));
  }
}

/** A signal that ends with the caller's, and when nothing has come for so long. */
class Bound {
  constructor(outer, ms, credentials = 'omit') {
    const c = this.c = new AbortController();
    this.credentials = credentials; // of a browser's fetch()
    this.outer = outer;
    this.over = () => c.abort(outer.reason);
    if (outer?.aborted) throw outer.reason;
    outer?.addEventListener('abort', this.over, { once: true });
    this.renew(ms);
  }
  get signal() { return this.c.signal; }
  renew(ms) {
    this.ms = ms;
    this.until = now() + ms;
    if (!this.paused) this.resume();
  }
  resume() {
    clearTimeout(this.t);
    this.paused = false;
    this.t = setTimeout(() => this.c.abort(this.late = new NetworkError(`no answer within ${Math.round(this.ms)} ms`)),
      Math.max(0, this.until - now()));
  }
  pause() {
    clearTimeout(this.t);
    this.paused = true;
  }
  end() {
    this.pause();
    this.outer?.removeEventListener('abort', this.over);
  }
  /** What to throw where e was caught. */
  why(e, where) {
    if (this.outer?.aborted) return this.outer.reason;
    return this.late || (e instanceof NetworkError ? e : new NetworkError(`${where}: ${e?.cause?.message || e?.message || e}`, e));
  }
}

export class Transport {
  constructor(routers, { token, timeoutMs = 10000, retryForMs = 60000, headers = {}, fetch } = {}) {
    this.routers = (Array.isArray(routers) ? routers : [routers]).map(r => {
      if (!/^https?:\/\/[^/]/.test(r) && !(BROWSER && r === '')) throw new TypeError('routers: addresses like https://q1.example');
      return r.replace(/\/+$/, '');
    });
    if (!this.routers.length) throw new TypeError('routers: at least one');
    for (const v of [token, ...Object.values(headers)])
      if (/[\r\n]/.test(v ?? '')) throw new TypeError('a line break in the token, or in a header: trim() what a file has');
    this.named = new Set(this.routers.filter(Boolean).map(r => new URL(r).origin));
    for (let i = this.routers.length - 1; i > 0; i--) { // not everybody begins at the same one
      const j = Math.floor(Math.random() * (i + 1));
      [this.routers[i], this.routers[j]] = [this.routers[j], this.routers[i]];
    }
    this.token = token;
    this.timeoutMs = timeoutMs;
    this.retryForMs = retryForMs;
    this.headers = BROWSER ? headers : { 'User-Agent': `segq-js/${VERSION}`, ...headers };
    this.fetch = fetch || defaults.fetch;
  }

  /** Another router is asked first from now on. */
  rotate(failed) {
    if (this.routers[0] === failed) this.routers.push(this.routers.shift());
  }

  // ---- one try ----

  _headers(headers) {
    const out = new Headers(this.headers);
    if (this.token) out.set('Authorization', 'Bearer ' + this.token);
    for (const [k, v] of Object.entries(headers || {}))
      if (v === '') out.delete(k);
      else if (v !== undefined && v !== null) out.set(k, v);
    return out;
  }

  /** The head of an answer; redirects that keep method and body are followed. */
  async _open(url, method, body, headers, bound, repeat, hops = 0) {
    const a = await this.fetch(url, { method, body, headers, signal: bound.signal, repeat, credentials: bound.credentials,
      ...(BROWSER ? { cache: 'no-store' } : { redirect: 'manual' }) });
    const to = a.headers.get('location');
    if ((a.status !== 307 && a.status !== 308) || !to || a.headers.has('segq-status')) return a; // that one is a target's
    drop(a.body);
    const from = new URL(url);
    if (hops >= REDIRECTS) throw new NetworkError(`${from.host}: it redirects in circles`);
    let there;
    try {
      there = new URL(to, from);
    } catch (e) {
      throw new NetworkError(`${from.host}: a redirect to what is no address`, e);
    }
    if (!/^https?:$/.test(there.protocol) || there.protocol < from.protocol)
      throw new NetworkError(`${from.host}: a redirect to ${there.protocol} is not followed`);
    if (there.origin !== from.origin && !this.named.has(there.origin)) // a token is for those whom the caller named
      for (const h of SECRET) headers.delete(h);
    return this._open(there.href, method, body, headers, bound, repeat, hops + 1);
  }

  /** One try at one router: its answer, whatever it says. NetworkError: there is none within timeoutMs, body and all. */
  async once(router, method, at, { body, headers, timeoutMs, signal, credentials } = {}) {
    const h = this._headers(headers), bound = new Bound(signal, timeoutMs ?? this.timeoutMs, credentials);
    try {
      const a = await this._open(router + at, method, body, h, bound, true);
      return new Answer(a.status, a.headers, await joined(a.body ? chunks(a.body) : []));
    } catch (e) {
      throw bound.why(e, router || 'this site');
    } finally {
      bound.end();
    }
  }

  /** An answer that is read as it comes. Its head has to come within timeoutMs. */
  async stream(router, method, at, { body, headers, timeoutMs, signal, credentials, repeat = true } = {}) {
    const h = this._headers(headers), bound = new Bound(signal, timeoutMs ?? this.timeoutMs, credentials);
    try {
      return new Stream(await this._open(router + at, method, body, h, bound, repeat), bound, this.timeoutMs);
    } catch (e) {
      bound.end();
      throw bound.why(e, router || 'this site');
    }
  }

  // ---- until it is answered ----

  /** The answer's JSON (raw: the Answer), after as many tries as retryForMs has room for. Throws what segq
   * said last, or a NetworkError. */
  call(method, at, value, { headers, timeoutMs, retryForMs, signal, credentials, raw } = {}) {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const all = body === undefined ? headers : { 'Content-Type': 'application/json', ...headers };
    return this.untilAnswered(
      async r => judge(await this.once(r, method, at, { body, headers: all, timeoutMs, signal, credentials }), raw),
      { retryForMs: retryForMs ?? this.retryForMs, signal });
  }

  /** call(), of an answer that is an object. */
  async ask(...args) {
    const said = await this.call(...args);
    if (!isObject(said)) throw new NetworkError('an answer that is no object: ' + brief(said));
    return said;
  }

  /** ask(router) until it does not throw what a later try, or another router, may mend; after so long what
   * it threw last. trouble: is told "offline", "busy", and "" at the end. */
  async untilAnswered(ask, { retryForMs = Infinity, trouble = () => {}, signal } = {}) {
    const end = now() + retryForMs, backoff = new Backoff();
    for (;;) {
      const router = this.routers[0];
      try {
        const said = await ask(router);
        trouble('');
        return said;
      } catch (e) {
        const mends = e instanceof NetworkError || e instanceof Unavailable || e instanceof TooFast;
        if (!mends || ['wait_too_long', 'endpoint_failed', 'wait_over'].includes(e.code)) throw e;
        trouble(e instanceof NetworkError ? 'offline' : 'busy');
        this.rotate(router);
        let pause = backoff.next(e.retryAfterMs);
        if (backoff.fails === 1 && e instanceof NetworkError && this.routers.length > 1)
          pause = Math.random() * 100; // another one may well be there
        if (now() + pause > end) throw e;
        await sleep(pause, signal);
      }
    }
  }
}

export const brief = v => String(typeof v === 'string' ? v : JSON.stringify(v)).slice(0, 60);

/** The object that an event has. */
export function parsed(data) {
  let said;
  try {
    said = JSON.parse(data);
  } catch (e) { /* none */ }
  if (!isObject(said)) throw new NetworkError('an event that is no object: ' + brief(data));
  return said;
}

/** What came back. */
export class Answer {
  constructor(status, headers, body) {
    this.status = status;
    this.headers = headers;
    this.body = body; // Uint8Array
  }
  text() { return utf8.decode(this.body); }
  json() { return this.body.length ? JSON.parse(this.text()) : {}; }
}

/** Its JSON, or the exception that it is. */
export function judge(a, raw) {
  if (raw && (a.status < 300 || (a.status < 400 && a.headers.has('segq-status')))) return a;
  if (a.status >= 300 && a.status < 400) throw new NetworkError(`a redirect (${a.status}) that is not followed`);
  let said;
  try {
    said = a.json();
  } catch (e) {
    if (a.status < 400) throw new NetworkError('an answer that is no JSON: ' + brief(a.text()), e);
  }
  if (a.status < 300) return said;
  const problem = isObject(said) ? said : {};
  const told = problem.poll_after_ms; // finer
  throw errorOf(a.status, problem, told > 0 ? Math.min(told, 86400000) : retryAfter(a.headers.get('retry-after')));
}

/** All pieces as one. */
async function joined(pieces) {
  const out = [];
  let n = 0;
  for await (const piece of pieces) {
    out.push(piece);
    if ((n += piece.length) > BODY_MAX) throw new NetworkError(`more than ${BODY_MAX} bytes`);
  }
  if (out.length === 1) return out[0];
  const all = new Uint8Array(n);
  n = 0;
  for (const piece of out) { all.set(piece, n); n += piece.length; }
  return all;
}

/** Ends what is not read. */
function drop(body) {
  if (body?.destroy) body.destroy();
  else if (!body?.locked) body?.cancel().catch(() => {});
}

/** Browsers' streams are not iterable everywhere. */
async function* chunks(body) {
  if (!body.getReader) {
    yield* body;
    return;
  }
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** An open answer: read it by one of pieces(), lines(), events(), or read() for all; close() ends it.
 * patienceMs: the longest silence. */
export class Stream {
  constructor(a, bound, patienceMs) {
    this.status = a.status;
    this.headers = a.headers;
    this.patienceMs = patienceMs;
    this.onProgress = undefined;
    this._a = a;
    this._bound = bound;
    this._each = true; // each piece ends a silence; else an event does
  }

  close() {
    this._bound.end();
    this._bound.c.abort(new NetworkError('the stream was closed'));
    drop(this._a.body);
  }
  [Symbol.asyncDispose || Symbol.for('Symbol.asyncDispose')]() { this.close(); }

  /** The rest as a whole. */
  async read() { return new Answer(this.status, this.headers, await joined(this.pieces())); }

  /** Bytes, as they come. NetworkError if it ends before its end, or is silent for too long. */
  async* pieces() {
    try {
      this._bound.renew(this.patienceMs);
      if (this._a.body)
        for await (const piece of chunks(this._a.body)) {
          if (this._bound.signal.aborted) throw this._bound.signal.reason;
          this._bound.pause(); // who reads slowly is no silence
          yield piece;
          if (this._each) this._bound.renew(this.patienceMs);
          this._bound.resume();
        }
      if (this._bound.signal.aborted) throw this._bound.signal.reason;
    } catch (e) {
      throw this._bound.why(e, 'the stream breaks off');
    } finally {
      this.close();
    }
  }

  /** Lines without their ends. */
  async* lines() {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const piece of this.pieces()) {
      const parts = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = parts.pop();
      if (rest.length > BODY_MAX) throw new NetworkError(`a line of more than ${BODY_MAX} bytes`);
      for (const line of parts) yield line.replace(/\r$/, '');
    }
    rest += decoder.decode();
    if (rest) yield rest.replace(/\r$/, '');
  }

  /** Of `segq-progress: events`: a place in line; or the answer, which is no stream of events. */
  _told(event, data) {
    if (!this.onProgress || (event !== 'segq.progress' && event !== 'error')) return false;
    let said;
    try {
      said = JSON.parse(data);
    } catch (e) {
      return false; // the target's own error event
    }
    if (event === 'segq.progress') this.onProgress(said);
    else if (!isObject(said) || !(said.status >= 400)) return false;
    else throw errorOf(said.status, isObject(said.error) ? said.error : { detail: String(said.body).slice(0, 200) });
    return true;
  }

  /** {event, data, id} of server-sent events (WHATWG HTML, section 9.2). One that is cut off before its
   * blank line is none. */
  async* events() {
    let event = '', id = '', data = [];
    this._each = false;
    for await (const line of this.lines()) {
      if (line === '') {
        if (data.length) {
          const text = data.join('\n');
          if (!this._told(event, text)) yield { event: event || 'message', data: text, id };
          this._bound.renew(this.patienceMs);
        }
        event = '';
        data = [];
        continue;
      }
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
      else if (field === 'id' && EVENT_ID.test(value)) id = value;
    }
  }
}
