#!/usr/bin/env node
// bench.mjs: tasks a second of the worker's own processor time, and the time from a submission to the
// handler. Of a cluster that runs: bench.mjs http://127.0.0.1:8080 TOKEN-FILE [N]. With BULLMQ=FOLDER (its
// node_modules) and REDIS=PORT the same jobs by BullMQ, too.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Client, Worker, taskBody } from '../lib/index.mjs';

const [router, file, n = '20000'] = process.argv.slice(2), N = Number(n);
const client = new Client(router, { token: readFileSync(file, 'utf8').trim() });
const queue = `bench-${process.pid}`;
const payload = i => ({ i, prompt: 'a cat in a hat' });
const cpuMs = from => { const { user, system } = process.cpuUsage(from); return (user + system) / 1000; };

async function measured(name, many, go) {
  const cpu = process.cpuUsage(), at = performance.now();
  await go();
  const ms = performance.now() - at, used = cpuMs(cpu);
  console.log(`${name.padEnd(26)} ${Math.round(many / ms * 1000)} a second, ${Math.round(many / used * 1000)} a second of processor time`);
  return many / used * 1000;
}

/** handler, until it was called so often; then stop(). */
function counted(many, stop) {
  let left = many;
  return async () => { if (--left === 0) stop(); };
}

async function late(name, submit, handled) {
  const took = [];
  for (let i = 0; i < 500; i++) {
    const at = performance.now(), came = handled();
    await submit(i);
    took.push(await came - at);
  }
  took.sort((a, b) => a - b);
  console.log(`${name.padEnd(26)} submit to handler: p50 ${took[250].toFixed(2)} ms, p99 ${took[495].toFixed(2)} ms`);
}

async function segq() {
  const best = {};
  await measured('segq submit', N, () => client.submitMany(queue, Array.from({ length: N }, (_, i) => taskBody(payload(i)))));
  for (const [concurrency, prefetch] of [[8, 0], [8, 56], [64, 0], [256, 0]]) {
    const some = Math.floor(N / 5), name = `segq work ${concurrency}${prefetch ? `, ${prefetch} ahead` : ''}`;
    best[concurrency] = Math.max(best[concurrency] || 0, await measured(name, some, async () => {
      const w = new Worker(client, queue, counted(some, () => w.stop()), { concurrency, prefetch, waitMs: 100 });
      await w.run({ signals: false });
    }));
  }
  let came;
  const w = new Worker(client, queue + '/late', () => came(performance.now())), run = w.run({ signals: false });
  await late('segq', i => client.submit(queue + '/late', payload(i)), () => new Promise(done => { came = done; }));
  w.stop();
  await run;
  return best;
}

async function bullmq() {
  const { Queue, Worker: Other } = createRequire(process.env.BULLMQ + '/')('bullmq'), connection = { host: '127.0.0.1', port: Number(process.env.REDIS) };
  const best = {}, q = new Queue(queue, { connection });
  for (const concurrency of [8, 64, 256]) {
    const some = Math.floor(N / 5);
    await q.addBulk(Array.from({ length: some }, (_, i) => ({ name: 'x', data: payload(i) })));
    best[concurrency] = await measured(`BullMQ work ${concurrency}`, some, () => new Promise(done => {
      const w = new Other(queue, counted(some, () => w.close().then(done)), { connection, concurrency });
    }));
  }
  let came;
  const r = new Queue(queue + '-late', { connection }), w = new Other(queue + '-late', async () => came(performance.now()), { connection });
  await late('BullMQ', i => r.add('x', payload(i)), () => new Promise(done => { came = done; }));
  await Promise.all([w.close(), q.close(), r.close()]);
  return best;
}

const ours = await segq();
if (process.env.BULLMQ) {
  const theirs = await bullmq();
  for (const c of Object.keys(ours)) console.log(`work ${c}: ${(ours[c] / theirs[c]).toFixed(1)} x BullMQ, of the worker's processor time`);
}
process.exit(0);
