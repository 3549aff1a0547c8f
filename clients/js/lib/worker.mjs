// worker.mjs: takes tasks, runs a handler for each, and says how it ended.
//
//   await run(client, 'images', async job => ({ url: await draw(job.payload.prompt) }), { concurrency: 8 });
//
// It takes only what it can begin (`concurrency`), extends the leases of what runs, settles ends together,
// and at SIGTERM finishes what runs, or gives it back. A handler that throws: tried again.
//
// A task may run twice (a worker that dies, an answer that is lost): make repeats harmless, for example with
// job.task as idempotency key.

import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError, NetworkError, TooFast, Unavailable } from './errors.mjs';
import { BATCH, bytes, bytesAs, trace } from './tasks.mjs';
import { Backoff, isObject, now, path, sleep } from './transport.mjs';

const REASON_MAX = 200;         // bytes
const SETTLE_BYTES = 200 << 10; // of a request
const UNSETTLED_MAX = 2000;     // ends that wait to be told: no more is taken
const GATHER_MS = 2;            // so long a take waits for more slots while others work
const traces = new AsyncLocalStorage();
trace.current = () => traces.getStore();

const turn = () => new Promise(ok => (globalThis.setImmediate || setTimeout)(ok));

/** Thrown by a handler: the task is given back, and tried again after `delay` (seconds, or "30s"). */
export class Nack extends Error {
  constructor(reason = '', { delay } = {}) {
    super(reason);
    this.name = 'Nack';
    this.delay = delay;
  }
}

/** A task in a handler's hands. `signal` is aborted when it is lost: cancelled by force, or its lease has
 * ended, so that another worker may have it; or given back at the end. */
export class Job {
  constructor(said, queue, leaseMs) {
    Object.assign(this, { queue }, said);
    if (said.payload_base64 !== undefined) this.payload = Buffer.from(said.payload_base64, 'base64'); // of content_type
    this._until = now() + leaseMs;
    this._extendAt = now() + leaseMs / 2;
    this._over = false;
    this._size = 0; // of the result
  }
  get signal() { return (this._gone ||= new AbortController()).signal; }
  get lost() { return Boolean(this._gone?.signal.aborted); }
  _lose() {
    this.signal; // makes it
    this._gone.abort(new Error('the task is lost'));
  }
  /** Says how far it is: {percent: 0 to 100, text: 200 bytes, data: any JSON of 1 KiB}. Returns at once: the
   * newest word is told, some four times a second; one that is refused is `trouble` of onEvent. */
  progress({ percent, text, data }) { this._said = { percent, text: text && plain(String(text)) || undefined, data }; }
  /** The trace context that its submitter handed on (of payloads that are objects). */
  get traceparent() {
    const v = isObject(this.payload) ? this.payload.traceparent : undefined;
    return typeof v === 'string' ? v : undefined;
  }
}

/** At most 200 bytes, no control characters. */
function plain(text) {
  const raw = Buffer.from(text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ').trim());
  return raw.length <= REASON_MAX ? raw.toString() : raw.subarray(0, REASON_MAX).toString().replace(/\ufffd+$/, '');
}

/** What people see in the task's history. */
function reasonOf(e) {
  let text = '';
  try {
    text = e instanceof Nack ? e.message : e instanceof Error ? `${e.name}: ${e.message}` : String(e);
  } catch (x) { /* its own toString() throws */ }
  return plain(text) || e?.name || 'failed';
}

/** Of a settlement of n rows. */
function outcomes(said, n) {
  if (!Array.isArray(said) || said.length !== n || !said.every(r => isObject(r) && Number.isInteger(r.status)))
    throw new NetworkError('an answer that is no list of outcomes');
  return said;
}

/** onEvent(name, job, info) hears of taken, started, succeeded, failed, given_back, extended, lost (each with
 * its job) and trouble (job undefined), for metrics and traces. prefetch: so many are taken ahead (their
 * leases run). drainMs: at the end, for what runs. signal: ends it, as stop() does. */
export class Worker {
  constructor(client, queues, handler, { concurrency = 8, leaseMs = 30000, waitMs = 2000, prefetch = 0, drainMs = 25000,
    onEvent, signal } = {}) {
    this.queues = [queues].flat();
    if (this.queues.length < 1 || this.queues.length > 16) throw new TypeError('a worker has 1 to 16 queues');
    if (!(concurrency >= 1) || !(prefetch >= 0) || !(leaseMs > 0)) throw new TypeError('concurrency: at least 1; prefetch: at least 0; leaseMs: more than 0');
    if (typeof handler !== 'function') throw new TypeError('handler: a function of a job');
    Object.assign(this, { handler, concurrency, leaseMs, waitMs, prefetch, drainMs, onEvent });
    this.counts = {};
    this._t = client.transport;
    this._signal = signal;
    this._jobs = new Set();  // taken, and not over
    this._used = 0;          // a handler has it, or will
    this._running = 0;
    this._todo = [];         // taken, and not begun
    this._ends = new Map();  // by queue, each told by itself: one whose node is away delays no other's
    this._untold = 0;
    this._waiters = new Set();
    this._stopping = false;
    this._taking = new AbortController();
  }

  // ---- what callers use ----

  /** Works until stop(), the signal, or SIGTERM or SIGINT (a second one gives back at once). Throws what segq
   * says where no later try can help (a token that may not take). */
  async run({ signals = true } = {}) {
    const stop = () => this.stop(), mine = signals && globalThis.process?.on ? ['SIGTERM', 'SIGINT'] : [];
    for (const s of mine) process.on(s, stop);
    this._signal?.addEventListener('abort', stop, { once: true });
    if (this._signal?.aborted) this.stop();
    const extending = setInterval(() => this._tick(), Math.min(250, this.leaseMs / 8));
    try {
      await this._take();
      await this._drain();
    } finally {
      clearInterval(extending);
      for (const s of mine) process.removeListener(s, stop);
      this._signal?.removeEventListener('abort', stop);
    }
    if (this._refused) throw this._refused;
  }

  /** Takes nothing more; what runs has drainMs. Called again: none. run() is over when it is. */
  stop(drainMs = this.drainMs) {
    this._endAt = now() + (this._stopping ? 0 : drainMs);
    if (this._stopping) this._taking.abort(new Error('it stops'));
    this._stopping = true;
    this._changed();
  }

  // ---- within ----

  _changed() {
    for (const go of this._waiters) go();
  }

  /** Until something changes, at most so long. */
  _change(ms) {
    return new Promise(ok => {
      const go = () => { clearTimeout(t); this._waiters.delete(go); ok(); }, t = setTimeout(go, ms);
      this._waiters.add(go);
    });
  }

  _say(name, job, info = {}) {
    this.counts[name] = (this.counts[name] || 0) + 1;
    try {
      this.onEvent?.(name, job, info);
    } catch (e) {
      console.error('segq worker: onEvent:', e);
    }
  }

  async _drain() {
    while (this._jobs.size && now() < this._endAt) await this._change(Math.min(100, Math.max(1, this._endAt - now())));
    for (const j of [...this._jobs]) this._giveBack(j);
    while (this._untold) await this._change(1000);
  }

  // ---- taking ----

  /** Waits for a slot, and a moment longer for more of them; 0: it stops. */
  async _free() {
    const slots = this.concurrency + this.prefetch;
    let until;
    while (!this._stopping) {
      const free = slots - this._used;
      if (free > 0 && this._untold < UNSETTLED_MAX) {
        if (until === undefined) {
          until = now() + GATHER_MS;
          if (free < slots) await turn(); // those that end now, all together
          continue;
        }
        if (free * 2 >= slots || now() >= until) return Math.min(BATCH, free);
      }
      await this._change(until ? Math.max(1, until - now()) : 200);
    }
    return 0;
  }

  async _take() {
    const many = this.queues.length > 1, backoff = new Backoff(200), { signal } = this._taking;
    const at = many ? '/v1/tasks/take' : `/v1/queues/${path(this.queues[0])}/tasks/take`;
    for (;;) {
      const n = await this._free(), asked = now();
      if (!n) return;
      try {
        const body = { n, lease: this.leaseMs / 1000, wait: this.waitMs / 1000, queues: many ? this.queues : undefined };
        const said = await this._t.call('POST', at, body, { timeoutMs: this._t.timeoutMs + this.waitMs, retryForMs: 0, signal });
        this._begin(said.tasks);
        backoff.fails = 0;
        if (!said.tasks.length && now() < asked + Math.max(100, this.waitMs / 2)) await this._pause(100); // a router that stops does not wait
      } catch (e) { // whatever was answered: it goes on
        if (this._isOver(e) || this._stopping) return;
        this._say('trouble', undefined, { error: e });
        await this._pause(backoff.next(e.retryAfterMs));
      }
    }
  }

  /** So long, if it does not stop. */
  async _pause(ms) {
    const end = now() + ms;
    while (!this._stopping && now() < end) await this._change(Math.max(1, end - now()));
  }

  /** It can never work: the token, the queue, our own request. */
  _isOver(e) {
    if (!(e instanceof ApiError) || e instanceof Unavailable || e instanceof TooFast) return false;
    this._refused = e;
    this.stop();
    return true;
  }

  _begin(tasks) {
    for (const t of tasks) {
      const j = new Job(t, this.queues[0], this.leaseMs);
      this._jobs.add(j);
      this._used++;
      this._say('taken', j);
      this._todo.push(j);
    }
    this._next();
  }

  // ---- running ----

  _next() {
    while (this._running < this.concurrency && this._todo.length) {
      this._running++;
      const j = this._todo.shift();
      traces.run(j.traceparent, () => this._work(j)).then(() => {
        this._running--;
        this._used--;
        this._next();
        this._changed();
      });
    }
  }

  async _work(j) {
    if (j._over) return;
    this._say('started', j);
    try {
      this._succeeded(j, await this.handler(j));
    } catch (e) {
      this._failed(j, e);
    }
  }

  _succeeded(j, result) {
    const row = { task: j.task, verb: 'ack', lease_id: j.lease_id, ...bytesAs('result', result) };
    if (row.result_base64 !== undefined) {
      j._size = row.result_base64.length;
    } else if (result !== undefined && result !== null) {
      let text;
      try {
        text = JSON.stringify(result);
      } catch (e) {
        return this._failed(j, new Nack(`the result is no JSON: ${e.message}`));
      }
      if (text === undefined) return this._failed(j, new Nack(`the result is no JSON: a ${typeof result}`));
      j._size = bytes(text);
      row.result = result;
    }
    this._end(j, row, 'succeeded');
  }

  _failed(j, e) {
    const row = { task: j.task, verb: 'nack', lease_id: j.lease_id, reason: reasonOf(e) };
    if (e instanceof Nack && e.delay !== undefined) row.delay = e.delay;
    this._end(j, row, 'failed', { error: e });
  }

  _giveBack(j) {
    this._end(j, { task: j.task, verb: 'nack', lease_id: j.lease_id, reason: 'the worker stops', delay: 0 }, 'given_back');
    j._lose();
  }

  _end(j, row, name, info) {
    if (j._over) return;
    j._over = true;
    this._jobs.delete(j);
    this._untold++;
    let ends = this._ends.get(j.queue);
    if (!ends) this._ends.set(j.queue, ends = []);
    ends.push([j, row]);
    if (!ends.busy) {
      ends.busy = true;
      turn().then(() => this._settle(j.queue, ends)); // with those that end in this turn
    }
    this._say(name, j, info);
  }

  // ---- telling ----

  async _settle(q, ends) {
    while (ends.length) {
      let n = 0, size = 0;
      while (n < ends.length && n < BATCH && size < SETTLE_BYTES) size += ends[n++][0]._size;
      const rows = ends.splice(0, n);
      await this._tellOrSay(q, rows);
      this._untold -= rows.length;
      this._changed();
    }
    ends.busy = false;
  }

  async _tellOrSay(q, rows) {
    try {
      await this._tell(q, rows);
    } catch (e) { // what segq does not hear is tried again when its lease ends
      this._say('trouble', undefined, { error: e });
    }
  }

  /** Until each row has an answer, as long as its lease. */
  async _tell(q, rows) {
    const backoff = new Backoff(200), end = now() + this.leaseMs, at = `/v1/queues/${path(q)}/tasks/settle`;
    const pause = async e => {
      const ms = backoff.next(e.retryAfterMs);
      if (now() + ms > end) throw e;
      await sleep(ms);
    };
    while (rows.length) {
      let said;
      try {
        said = outcomes(await this._t.call('POST', at, rows.map(([, row]) => row), { retryForMs: 0 }), rows.length);
      } catch (e) {
        if (e instanceof NetworkError || e instanceof Unavailable || e instanceof TooFast) {
          this._say('trouble', undefined, { error: e });
          await pause(e);
          continue;
        }
        const one = !(e instanceof ApiError) || e.status === 400 || e.status === 413; // a refusal of a row, or what cannot be written
        if (rows.length > 1 && one) { // each alone tells which
          for (const pair of rows) await this._tellOrSay(q, [pair]);
          return;
        }
        const other = one && plainer(rows[0][1], e.detail || e.message);
        if (!other) throw e;
        rows = [[rows[0][0], other]];
        continue;
      }
      const again = [];
      rows.forEach(([j, row], i) => {
        const r = said[i], other = (r.status === 400 || r.status === 413) && plainer(row, r.detail);
        if (r.status === 429 || r.status === 503) again.push([j, row]);
        else if (other) again.push([j, other]);
        else if (r.status >= 400) this._say('lost', j, { status: r.status, code: r.code });
      });
      rows = again;
      if (rows.length) await pause(new NetworkError(`${rows.length} ends could not be told`));
    }
  }

  // ---- leases, progress ----

  _tick() {
    this._extend();
    for (const j of this._jobs) if (j._said && !j._saying) this._tellProgress(j);
  }

  async _tellProgress(j) {
    const said = j._said;
    j._said = undefined;
    j._saying = true;
    try {
      await this._t.call('POST', `/v1/tasks/${path(j.task)}/progress`, { lease_id: j.lease_id, ...said },
        { retryForMs: 0, timeoutMs: Math.max(1000, this.leaseMs / 4) });
    } catch (e) {
      if (e.status === 409 || e.status === 410) this._lose(j, e);
      else this._say('trouble', j, { error: e });
    } finally {
      j._saying = false;
    }
  }

  /** A request for all that are at half of their lease. */
  _extend() {
    const by = new Map();
    for (const j of this._jobs)
      if (j._extendAt <= now()) {
        if (j._until <= now()) this._lose(j, { code: 'lease_over' });
        else if (!j._extending) by.set(j.queue, [...by.get(j.queue) || [], j]);
      }
    for (const [q, jobs] of by)
      for (let i = 0; i < jobs.length; i += BATCH) this._extendSome(q, jobs.slice(i, i + BATCH));
  }

  async _extendSome(q, jobs) {
    const asked = now(), lease = this.leaseMs / 1000;
    for (const j of jobs) j._extending = true;
    try {
      const said = outcomes(await this._t.call('POST', `/v1/queues/${path(q)}/tasks/settle`,
        jobs.map(j => ({ task: j.task, verb: 'extend', lease_id: j.lease_id, lease })),
        { retryForMs: 0, timeoutMs: Math.max(1000, this.leaseMs / 4) }), jobs.length);
      jobs.forEach((j, i) => {
        if (said[i].status < 400) {
          j._until = asked + this.leaseMs;
          j._extendAt = asked + this.leaseMs / 2;
          this._say('extended', j);
        } else if (said[i].status !== 429 && said[i].status !== 503) {
          this._lose(j, said[i]);
        }
      });
    } catch (e) { // the next turn tries again
      this._say('trouble', undefined, { error: e });
    } finally {
      for (const j of jobs) j._extending = false;
    }
  }

  /** It is not ours any more: its handler is told, and its end is nobody's business. */
  _lose(j, { code, status }) {
    if (j._over) return;
    j._over = true;
    this._jobs.delete(j);
    this._say('lost', j, { code, status });
    j._lose();
    this._changed();
  }
}

/** In place of an end that is refused (a result that is too long, a delay that is none): a nack that says
 * so; undefined: it was that. */
function plainer({ result, result_base64, content_type, delay, ...row }, why) {
  if (result === undefined && result_base64 === undefined && delay === undefined) return undefined;
  return { ...row, verb: 'nack', reason: reasonOf(new Nack(`its end was refused: ${why}`)) };
}

/** new Worker(...).run(). */
export function run(client, queues, handler, { signals, ...options } = {}) {
  return new Worker(client, queues, handler, options).run({ signals });
}
