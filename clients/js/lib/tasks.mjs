// tasks.mjs: requests in line: submit tasks, wait for their results, look, cancel; schedules; calls.
//
//   const task = await client.submit('images', { prompt: 'a cat' }, { key: 'tenant7' });
//   console.log((await client.wait(task)).result);
//
// A submission without a name gets an Idempotency-Key, so that one whose answer was lost is repeated and
// still is one task. Members of the API (proto/openapi.yaml) keep their names: max_attempts, poll_after_ms.

import { ApiError, NetworkError, TaskFailed, Unavailable, errorOf } from './errors.mjs';
import { Backoff, Transport, brief, isObject, judge, newKey, now, parsed, path, retryAfter, sleep, spread } from './transport.mjs';

export const FINAL = ['succeeded', 'dead', 'cancelled', 'expired'];
export const BATCH = 1000;
const BATCH_BYTES = 512 << 10; // of a request, about
const WAIT_S = 20; // of one question that waits
const BEAT_MS = 20000; // longest silence of a stream that has beats
const encoder = new TextEncoder();
export const bytes = text => encoder.encode(text).length;

const base64 = raw => globalThis.Buffer ? Buffer.from(raw).toString('base64') : btoa(Array.from(raw, b => String.fromCharCode(b)).join(''));

/** Of a payload or a result that is no JSON: bytes, and their Content-Type. */
export class Bytes {
  constructor(body, contentType = 'application/octet-stream') {
    this.body = body;
    this.contentType = contentType;
  }
}

/** The members of it, of a name (payload, result); undefined: it is JSON. */
export function bytesAs(name, v) {
  if (v instanceof Uint8Array) v = new Bytes(v);
  return v instanceof Bytes ? { [`${name}_base64`]: base64(v.body), content_type: v.contentType } : undefined;
}

// The trace context (W3C, `traceparent`) of what is done now: a worker sets it around a handler, submissions
// and calls hand it on.
export const trace = { current: () => undefined };

export const isOver = task => FINAL.includes(task.state);

function taskOf(said) {
  if (!isObject(said) || !said.task) throw new NetworkError('an answer that is no task: ' + brief(said));
  return said;
}

const token = task => path(typeof task === 'string' ? task : task.task);
/** The right of a `segq-complete-url`. */
const right = url => url.split('/v1/tasks/').at(-1).split('/')[0];

/** A submission (TaskSubmit of proto/openapi.yaml): a row of submitMany(), the task of a schedule, of `then`
 * (with `queue`). members.path and what belongs to it: of a queue that has an endpoint, in place of the
 * payload. A payload is JSON, a Uint8Array, or Bytes. The trace context goes into those headers, or into a payload that is an object. */
export function taskBody(payload, members = {}) {
  const out = { ...bytesAs('payload', payload), ...members }, at = trace.current();
  if (typeof out.unique === 'string') out.unique = { key: out.unique };
  if (out.path === undefined && out.payload_base64 === undefined) out.payload = payload === undefined ? null : payload;
  if (at && out.path !== undefined) {
    if (!Object.keys(out.headers || {}).some(h => h.toLowerCase() === 'traceparent')) out.headers = { ...out.headers, traceparent: at };
  } else if (at && isObject(out.payload)) {
    out.payload = { traceparent: at, ...out.payload };
  }
  return out;
}

/** The part of Client that is about tasks. */
export class Tasks {
  // ---- submit ----

  /** One task; members as of taskBody(). waitS: the answer comes with the result, or after so many seconds. */
  async submit(queue, payload, members = {}, { waitS, signal } = {}) {
    const { idempotency_key, ...body } = taskBody(payload, members), headers = {};
    const key = idempotency_key || (body.name || body.claim ? undefined : await newKey());
    if (key) headers['Idempotency-Key'] = key;
    if (waitS !== undefined) headers.Prefer = `wait=${Math.floor(waitS)}`;
    return taskOf(await this.transport.call('POST', `/v1/queues/${path(queue)}/tasks`, body, {
      headers, signal, timeoutMs: this.transport.timeoutMs + 1000 * (waitS || 0) }));
  }

  /** Many, 1000 in a request: rows as taskBody() makes them. Their outcomes in that order, {status, task,
   * error}; rows that were put off are asked again as long as retryForMs says. status 0: no answer. */
  async submitMany(queue, rows, { signal } = {}) {
    const bodies = [], sizes = [], out = [];
    for (const r of rows) {
      const b = r.name || r.idempotency_key ? r : { ...r, idempotency_key: await newKey() };
      bodies.push(b);
      sizes.push(bytes(JSON.stringify(b)));
    }
    while (out.length < bodies.length) {
      const first = out.length;
      let end = first, size = 0;
      while (end < bodies.length && end - first < BATCH && (end === first || size + sizes[end] <= BATCH_BYTES)) size += sizes[end++];
      try {
        out.push(...await this._rows(`/v1/queues/${path(queue)}/tasks/batch`, bodies.slice(first, end), signal));
      } catch (e) {
        if (!(e instanceof NetworkError || e instanceof ApiError)) throw e;
        if (e.status === 413 && end === first + 1) out.push({ status: 413, task: undefined, error: e }); // this one alone is too large
        else if (!out.length) throw e;
        else while (out.length < bodies.length) out.push({ status: e.status || 0, task: undefined, error: e }); // those before it are there
      }
    }
    return out;
  }

  async _rows(at, bodies, signal) {
    const out = [], backoff = new Backoff(), end = now() + this.transport.retryForMs;
    let todo = bodies.map((_, i) => i);
    for (;;) {
      let said;
      try {
        said = await this.transport.call('POST', at, todo.map(i => bodies[i]), { signal });
      } catch (e) {
        if (todo.length === bodies.length || signal?.aborted) throw e;
        return out; // what was put off stays so
      }
      if (!Array.isArray(said) || said.length !== todo.length || !said.every(isObject))
        throw new NetworkError('an answer that is no list of outcomes');
      said.forEach((row, k) => {
        const { status = 0, task } = row;
        out[todo[k]] = { status, task, error: status >= 400 ? errorOf(status, row, retryAfter(row.retry_after_s)) : undefined };
      });
      todo = todo.filter(i => out[i].error instanceof Unavailable);
      const pause = backoff.next();
      if (!todo.length || now() + pause > end) return out;
      await sleep(pause, signal);
    }
  }

  // ---- look ----

  async look(task, options) { return taskOf(await this.transport.call('GET', `/v1/tasks/${token(task)}`, undefined, options)); }
  async lookByName(queue, name, options) {
    return taskOf(await this.transport.call('GET', `/v1/queues/${path(queue)}/tasks/${path(name)}`, undefined, options));
  }
  /** How many wait, and how long one that is submitted now would (TaskCount). */
  count(queue, options) { return this.transport.ask('GET', `/v1/queues/${path(queue)}/tasks`, undefined, options); }

  /** Until it is over. TaskFailed: without success. */
  async wait(task, { signal } = {}) {
    for (;;) {
      const asked = now();
      const t = taskOf(await this.transport.call('GET', `/v1/tasks/${token(task)}`, undefined, {
        headers: { Prefer: `wait=${WAIT_S}` }, timeoutMs: this.transport.timeoutMs + 1000 * WAIT_S, retryForMs: Infinity, signal }));
      if (t.state === 'succeeded') return t;
      if (isOver(t)) throw new TaskFailed(t);
      if (now() < asked + 500) await sleep(500, signal); // a router that stops does not wait
    }
  }

  /** What becomes of it, as it comes: state, place, progress; the last one is over. A stream that breaks off is
   * asked for again; where a router has no room for one, it is looked at. */
  async* watch(task, { signal } = {}) {
    const id = typeof task === 'string' ? task : task.task, at = `/v1/tasks/${token(task)}/events`, backoff = new Backoff();
    for (;;) {
      const s = await this.transport.untilAnswered(async router => {
        const a = await this.transport.stream(router, 'GET', at, { headers: { Accept: 'text/event-stream' }, signal });
        if (a.status !== 200 && a.status !== 204) judge(await a.read());
        return a;
      }, { signal });
      const router = this.transport.routers[0];
      let pause = 0;
      if (s.status === 204) {
        s.close();
        const t = await this.look(id, { signal });
        yield t;
        if (isOver(t)) return;
        pause = spread(Math.max(1000, Math.min(86400000, t.poll_after_ms) || 0));
      } else {
        s.patienceMs = BEAT_MS;
        try {
          for await (const e of s.events()) {
            backoff.fails = 0;
            if (e.event === 'beat') continue;
            const said = parsed(e.data);
            if (e.event === 'gone') throw errorOf(said.status, said);
            if (e.event === 'away') pause = Math.min(86400000, said.poll_after_ms || 0);
            if (e.event === 'message' || e.event === 'end') yield { task: id, ...said };
            if (e.event === 'end') return;
          }
        } catch (e) {
          if (!(e instanceof NetworkError)) throw e;
          this.transport.rotate(router); // it may be dead: another one knows
        }
      }
      await sleep(pause > 0 ? pause : backoff.next(), signal);
    }
  }

  /** Starts and ends of a queue's tasks, as they come, without end (TaskEvent). A stream that breaks off is asked
   * for again behind the last one; after: the id of one that was heard before. The token may `look`. */
  async* watchQueue(queue, { after = '', signal } = {}) {
    const backoff = new Backoff();
    for (let last = after;;) {
      const s = await this.transport.untilAnswered(async router => {
        const a = await this.transport.stream(router, 'GET', `/v1/queues/${path(queue)}/tasks/events`, {
          headers: { Accept: 'text/event-stream', ...(last && { 'Last-Event-ID': last }) }, signal });
        if (a.status !== 200 && a.status !== 204) judge(await a.read());
        return a;
      }, { signal });
      const router = this.transport.routers[0];
      let pause = 0;
      if (s.status === 204) { // no room
        s.close();
        pause = backoff.next(retryAfter(s.headers.get('retry-after')));
      } else {
        s.patienceMs = BEAT_MS;
        try {
          for await (const e of s.events()) {
            backoff.fails = 0;
            const said = e.event === 'beat' ? {} : parsed(e.data);
            if (e.event === 'gone') throw errorOf(said.status, said);
            if (e.event === 'message' && !said.task) throw new NetworkError('an event that names no task: ' + brief(e.data));
            if (e.event === 'away') pause = Math.min(86400000, said.poll_after_ms || 0);
            last = e.id || last;
            if (e.event === 'gap') yield { id: last, gap: true };
            if (e.event === 'message') yield { id: last, gap: false, ...said };
          }
        } catch (e) {
          if (!(e instanceof NetworkError)) throw e;
          this.transport.rotate(router); // it may be dead: another one knows
        }
      }
      await sleep(pause > 0 ? pause : backoff.next(), signal);
    }
  }

  /** Its result, byte for byte (an Answer: body, text(), json()); undefined: it is not over. ack: deletes it. */
  async result(task, { ack, ...options } = {}) {
    const a = await this.transport.call('GET', `/v1/tasks/${token(task)}/result${ack ? '?ack=1' : ''}`, undefined, { ...options, raw: true });
    return a.status === 202 ? undefined : a;
  }

  // ---- change ----

  /** After the answer no attempt begins; force: the one that runs is over, too. */
  cancel(task, { force, ...options } = {}) {
    return this.transport.ask('DELETE', `/v1/tasks/${token(task)}${force ? '?force=1' : ''}`, undefined, options);
  }
  cancelByName(queue, name, { force, ...options } = {}) {
    return this.transport.ask('DELETE', `/v1/queues/${path(queue)}/tasks/${path(name)}${force ? '?force=1' : ''}`, undefined, options);
  }
  /** Of a task that has not begun; labels also of one that runs (TaskPatch). */
  async change(task, members, options) {
    return taskOf(await this.transport.call('PATCH', `/v1/tasks/${token(task)}`, members, options));
  }

  // ---- groups ----

  /** Its tasks, counted by their states (TaskGroup). */
  group(queue, name, options) { return this._group('GET', queue, name, '', options); }
  /** No more tasks get in; when all are over, the group is. */
  sealGroup(queue, name, options) { return this._group('POST', queue, name, '/seal', options); }
  /** Seals it, and cancels what is left of it. */
  cancelGroup(queue, name, options) { return this._group('POST', queue, name, '/cancel', options); }
  _group(method, queue, name, then, options) {
    return this.transport.ask(method, `/v1/groups/${path(queue)}/${path(name)}${then}`, undefined, options);
  }

  // ---- schedules ----

  /** Creates or changes it: members as of SchedulePut, `task` as taskBody() makes it, without a trace. */
  putSchedule(queue, name, members, options) { return this._schedule('PUT', queue, name, '', members, options); }
  schedule(queue, name, options) { return this._schedule('GET', queue, name, '', undefined, options); }
  async schedules(queue, options) {
    return (await this.transport.ask('GET', `/v1/schedules/${path(queue)}/`, undefined, options)).schedules || [];
  }
  async runSchedule(queue, name, { idempotencyKey, ...options } = {}) {
    const headers = { 'Idempotency-Key': idempotencyKey || await newKey() };
    return this._schedule('POST', queue, name, '/run', undefined, { ...options, headers });
  }
  async deleteSchedule(queue, name, options) {
    await this.transport.call('DELETE', `/v1/schedules/${path(queue)}/${path(name)}`, undefined, options);
  }
  _schedule(method, queue, name, then, members, options) {
    return this.transport.ask(method, `/v1/schedules/${path(queue)}/${path(name)}${then}`, members, options);
  }

  // ---- calls ----

  /** A request to an endpoint, when its turn has come: a Stream of the answer, whatever its status; segq's own
   * refusals are thrown. Not repeated, but where segq says that nothing was done: give an Idempotency-Key,
   * and repeat it yourself. timeoutMs: until it begins, and its longest silence. onProgress: hears of the
   * place in line while events() is read (its answer is a stream of events then; what is none is thrown).
   * base: "/v1/route" where `endpoint` is a route. */
  async call(endpoint, at, { method = 'POST', headers, body, waitS, cost, onProgress, timeoutMs = 600000,
    base = '/v1/call', signal } = {}) {
    const all = { ...headers }, has = h => Object.keys(all).some(k => k.toLowerCase() === h);
    if (has('authorization') && this.transport.token) all['segq-token'] = this.transport.token; // theirs is the target's
    if (trace.current() && !has('traceparent')) all.traceparent = trace.current();
    if (waitS !== undefined) all.Prefer = `wait=${Math.floor(waitS)}`;
    if (cost !== undefined) all['segq-cost'] = String(cost);
    if (onProgress) {
      all['segq-progress'] = 'events';
      if (!has('accept')) all.Accept = 'text/event-stream';
    }
    const end = now() + this.transport.retryForMs, backoff = new Backoff();
    for (;;) {
      const router = this.transport.routers[0];
      const s = await this.transport.stream(router, method, `${base}/${path(endpoint)}/${at.replace(/^\/+/, '')}`, {
        body, headers: all, timeoutMs, signal, repeat: false });
      if (s.status < 400 || s.headers.has('segq-status')) return Object.assign(s, { onProgress, patienceMs: timeoutMs });
      try {
        judge(await s.read());
      } catch (e) {
        const pause = backoff.next(e.retryAfterMs);
        if (e.code !== 'queue_unavailable' || now() + pause > end) throw e;
        this.transport.rotate(router);
        await sleep(pause, signal);
      }
    }
  }

  /** The answer of a task's call, as it comes: what there is, then the rest. Waits until there is something.
   * One that breaks off may be asked for again. timeoutMs: its longest silence. */
  async follow(task, { timeoutMs = 600000, signal } = {}) {
    const at = `/v1/tasks/${token(task)}/result?follow=1&wait=${WAIT_S}`;
    for (;;) {
      const asked = now();
      const s = await this.transport.untilAnswered(async router => {
        const a = await this.transport.stream(router, 'GET', at, { timeoutMs: this.transport.timeoutMs + 1000 * WAIT_S, signal });
        if (a.status >= 400) judge(await a.read());
        return a;
      }, { signal });
      if (s.status !== 202) return Object.assign(s, { patienceMs: timeoutMs });
      s.close();
      if (now() < asked + 500) await sleep(500, signal); // likewise
    }
  }

  // ---- as a target that answered `segq-command: pending` ----

  /** Says how the call ended: outcome "succeeded", "failed" (tried again), "dead" (TaskComplete). url: its
   * `segq-complete-url`, of which only the right counts; routers are this client's. */
  complete(url, members, options) {
    return this.transport.ask('POST', `/v1/tasks/${path(right(url))}/complete`, { outcome: 'succeeded', ...members }, options);
  }
  /** Gives such a call more time. */
  keep(url, lease, options) { return this.transport.ask('POST', `/v1/tasks/${path(right(url))}/extend`, { lease }, options); }
}

/** The few calls of operators that programs make: at queuemng, with an admin token. */
export class Operator {
  constructor(admin, options) { this.transport = new Transport(admin, options); }
  /** A dead task waits again, with all of its attempts. */
  redrive(task, options) { return this.transport.ask('POST', `/v1/admin/tasks/${token(task)}/redrive`, undefined, options); }
  /** All dead tasks of a queue, at most so many a second. */
  redriveAll(queue, { ratePerS, ...options } = {}) {
    const atMost = ratePerS === undefined ? '' : `?rate_per_s=${ratePerS}`;
    return this.transport.ask('POST', `/v1/admin/task-queues/${path(queue)}/tasks/redrive${atMost}`, undefined, options);
  }
  /** Deletes a task that is over, and its result. */
  discard(task, options) { return this.transport.ask('POST', `/v1/admin/tasks/${token(task)}/discard`, undefined, options); }
}
