#!/usr/bin/env node
// conformance.mjs: the JavaScript client behind the line protocol of clients/conformance/README.md.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import * as segq from './lib/index.mjs';
import { GONE } from './lib/errors.mjs';

const OPERATIONS = `join joinSeveral getQueue poll pollSeveral proveDevice leave leaveSeveral listen verify session getKeys countTasks submitTask submitTasks
  takeTasks takeTasksOfQueues settleTasks tellProgress getTaskByName cancelTaskByName getTask watchTask watchQueue cancelTask patchTask
  getTaskResult completeTask extendTask getGroup sealGroup cancelGroup listSchedules putSchedule getSchedule deleteSchedule runSchedule
  getCall postCall putCall patchCall deleteCall
  getRoutedCall postRoutedCall putRoutedCall patchRoutedCall deleteRoutedCall`.split(/\s+/);
const KINDS = [[segq.PassInvalid, 'pass'], [segq.SignatureInvalid, 'signature'], [segq.TaskFailed, 'task'],
  [segq.NetworkError, 'network'], [segq.ApiError, 'api']];
const opened = new Map(), workers = new Map(); // by the number of their question
const keys = new Map(); // of devices, by their names here
const say = line => process.stdout.write(JSON.stringify(line) + '\n');
const pause = ms => new Promise(done => setTimeout(done, ms));
const kindOf = e => (KINDS.find(([c]) => e instanceof c) || [])[1] ||
  { TimeoutError: 'deadline', AbortError: 'cancelled' }[e.name] || 'other';
const within = s => s ? AbortSignal.timeout(s * 1000) : undefined;

async function keyed({ key, ...options }) {
  if (!key) return options;
  if (!keys.has(key)) keys.set(key, await segq.newDeviceKey());
  return { ...options, key: keys.get(key) };
}

function gate({ client, gates }, queue) {
  if (!gates.has(queue)) gates.set(queue, new segq.Gate(client, queue));
  return gates.get(queue);
}

async function read(id, stream) {
  const decoder = new TextDecoder();
  for await (const piece of stream.pieces()) say({ id, event: { piece: decoder.decode(piece, { stream: true }) } });
  return { status: stream.status };
}

/** A server of node:http for a function of Request and Response. */
const served = go => async (q, a) => {
  const r = await go(new Request(`http://${q.headers.host}${q.url}`, { method: q.method, headers: q.headers }));
  a.writeHead(r.status, Object.fromEntries(r.headers));
  a.end(Buffer.from(await r.arrayBuffer()));
};

/** Members that the types of this client have. */
function members(name) {
  const types = readFileSync(new URL('index.d.ts', import.meta.url), 'utf8');
  const body = new RegExp(`export (?:interface|class) ${name}\\b[^{]*\\{\\n(.*?)\\n\\}`, 's').exec(types)[1];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??:/gm)].map(m => m[1]);
}

const verbs = {
  async open(id, { routers, token, timeout_s = 10, retry_for_s = 60 }) {
    opened.set(id, { gates: new Map(), client: new segq.Client(routers, {
      token, timeoutMs: timeout_s * 1000, retryForMs: retry_for_s * 1000 }) });
  },
  async wait_pass(id, { queue, timeout_s, ...options }, { client }) {
    const line = client.line(queue, { ...await keyed(options), signal: within(timeout_s) });
    const t = await line.wait(({ token, state, position, eta_s }) => say({ id, event: { token, device: line.device, state, position, eta_s } }));
    return { token: t.token, pass: t.pass };
  },
  async poll(id, options, { client }) {
    const line = client.line('', await keyed(options)), { state, position, pass } = await line.poll();
    return { state, position, pass, device: line.device };
  },
  async leave(id, options, { client }) { return client.line('', await keyed(options)).leave(); },
  wait_places(id, { queues, ...options }, { client }) { return client.several(queues, options).wait(event => say({ id, event })); },
  leave_places(id, { group }, { client }) { return client.several([], { group }).leave(); },
  check_pass(id, { queue, token }, o) { return gate(o, queue).check(token); },
  verify_pass(id, { queue, token }, o) { return gate(o, queue).verify(token); },
  /** A site behind the middleware: tells its address, and whom it lets in. /bye ends the session. */
  async serve(id, { queue, ask = 'always', kind }, { client }) {
    const g = new segq.Gate(client, queue, { ask, timeoutMs: 1000 });
    const bye = path => path === '/bye' ? { 'X-Segq-Command': 'release' } : {};
    const express = g.express(), go = kind === 'asgi'
      ? served(g.fetch((q, pass) => { const path = new URL(q.url).pathname; return Response.json({ ticket: pass.ticket, path }, { headers: bye(path) }); }))
      : (q, a) => express(q, a, () => a.writeHead(200, { 'Content-Type': 'application/json', ...bye(q.url) })
        .end(JSON.stringify({ ticket: q.segq.ticket, path: q.url })));
    const server = createServer(go);
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    return { url: `http://127.0.0.1:${server.address().port}` };
  },
  async claim(id, { secret, kid, members }) { return segq.signClaim(secret, members, { kid }); },
  async submit(id, { queue, payload, ...members }, { client }) {
    const { task, state } = await client.submit(queue, payload, members);
    return { task, state };
  },
  async submit_many(id, { queue, rows }, { client }) {
    return (await client.submitMany(queue, rows)).map(({ status, task, error }) => ({ status, task: task ?? null, code: error?.code }));
  },
  async wait_task(id, { task, timeout_s }, { client }) {
    const { state, result } = await client.wait(task, { signal: within(timeout_s) });
    return { state, result };
  },
  async watch(id, { task }, { client }) {
    let state;
    for await (const t of client.watch(task)) say({ id, event: { state: state = t.state, position: t.position ?? null, progress: t.progress ?? null } });
    return { state };
  },
  async watch_queue(id, { queue, after }, { client }) {
    for await (const event of client.watchQueue(queue, { after })) say({ id, event });
  },
  look(id, { task }, { client }) { return client.look(task); },
  cancel(id, { task, force }, { client }) { return client.cancel(task, { force }); },
  group(id, { queue, group, then = '' }, { client }) { return client[{ '': 'group', seal: 'sealGroup', cancel: 'cancelGroup' }[then]](queue, group); },
  async call(id, { endpoint, path, method = 'GET', progress }, { client }) {
    if (!progress) return read(id, await client.call(endpoint, path, { method }));
    const s = await client.call(endpoint, path, { method, onProgress: event => say({ id, event }) });
    for await (const e of s.events()) say({ id, event: { piece: e.data } });
    return { status: s.status };
  },
  async follow(id, { task }, { client }) { return read(id, await client.follow(task)); },
  async fields() {
    const types = ['TaskSubmit', 'TaskPatch', 'SchedulePut', 'TaskComplete', 'Join', 'Ticket', 'TaskTaken'];
    return { operations: OPERATIONS, reasons: Object.keys(GONE), final: segq.FINAL,
      ...Object.fromEntries(types.map(t => [t, members(t)])) };
  },
  async webhook(id, { keys, headers, body }) { return new segq.Webhook(keys).verify(headers, body); },
  async work(id, { queues, concurrency = 4, lease_s = 30, coroutines }, { client }) {
    const handle = async job => {
      if (job.content_type) return new segq.Bytes(job.payload.reverse(), job.content_type);
      const { payload: p, attempt } = job;
      if (p.progress) job.progress(p.progress);
      if (p.then_ms) await pause(p.then_ms);
      if (p.fail && attempt <= (p.times ?? 99)) throw new Error(p.fail);
      if (p.nack && attempt <= (p.times ?? 99)) throw new segq.Nack(p.nack, { delay: p.delay });
      return p.result;
    };
    const handler = coroutines ? async job => { await pause(job.payload.ms || 0); return handle(job); }
      : job => job.payload.ms ? pause(job.payload.ms).then(() => handle(job)) : handle(job);
    const w = new segq.Worker(client, queues, handler, { concurrency, leaseMs: lease_s * 1000, waitMs: 1000,
      onEvent: (what, job) => say({ id, event: { what, task: job?.task, attempt: job?.attempt } }) });
    const run = w.run({ signals: false });
    workers.set(id, { w, run });
    await run;
  },
  async stop(id, { work, drain_s = 10 }) {
    const { w, run } = workers.get(work);
    w.stop(drain_s * 1000);
    await run;
  },
};

process.on('SIGTERM', async () => {
  for (const { w } of workers.values()) w.stop(10000);
  await Promise.allSettled([...workers.values()].map(x => x.run));
  process.exit(0);
});

createInterface({ input: process.stdin }).on('line', text => {
  const { id, do: verb, client, ...a } = JSON.parse(text);
  Promise.resolve().then(() => verbs[verb](id, Object.fromEntries(Object.entries(a).filter(([, v]) => v !== null)), opened.get(client) || {})).then(
    ok => say({ id, ok: ok === undefined ? null : ok }),
    e => say({ id, error: { kind: kindOf(e), type: e.name, status: e.status, code: e.code, reason: e.reason, detail: String(e.message) } }));
}).on('close', () => process.exit(0));
