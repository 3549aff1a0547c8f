// types.ts: compiled by test_client.mjs, never run: programs that the types must allow, and some that they
// must not.
import { ApiError, Client, Gate, Job, Nack, Operator, TaskFailed, TicketGone, Webhook, Worker, run, signClaim, taskBody } from '../index.js';

const client = new Client(['https://a', 'https://b'], { token: 't', timeoutMs: 5000 });

export async function person(): Promise<string> {
  const line = client.line('login', { subject: 'u1', onTrouble: why => why === 'offline', signal: new AbortController().signal });
  try {
    for await (const t of line) console.log(t.position === null ? '?' : t.position.toFixed(), t.eta_s, t.message);
  } catch (e) {
    if (e instanceof TicketGone && e.reason === 'no_show') return e.code;
    if (e instanceof ApiError) return String(e.retryAfterMs);
    throw e;
  }
  return line.ticket?.pass ?? '';
}

export async function tasks(): Promise<void> {
  const t = await client.submit<{ url: string }>('images', { prompt: 'a cat' }, { key: 'tenant7', delay: '5m', unique: 'cart7' }, { waitS: 5 });
  const done = await client.wait<{ url: string }>(t, { signal: new AbortController().signal });
  console.log(done.result?.url.length, done.history?.[0]?.reason);
  const rows = await client.submitMany('images', [taskBody(1, { name: 'x' }), { payload: 2, then: { queue: 'mails', payload: { $result: '' } } }]);
  console.log(rows[0]?.error?.code);
  await client.putSchedule('images', 'daily', { cron: '@daily', zone: 'Europe/Berlin', task: taskBody({}) });
  const s = await client.call('gpu', '/v1/chat', { body: '{}', onProgress: p => p.position });
  for await (const e of s.events()) console.log(e.event, e.data);
  await new Operator('https://m', { token: 'x' }).redrive(t);
  await client.result(t).then(a => a?.text());
  // @ts-expect-error: no such member
  await client.submit('images', {}, { prio: 3 });
  // @ts-expect-error: not of this state
  if (t.state === 'done') throw new TaskFailed('');
}

export async function work(): Promise<void> {
  const handler = async (job: Job<{ prompt: string }>) => {
    if (job.attempt > 3) throw new Nack('no paper', { delay: 30 });
    return { url: job.payload.prompt + job.signal.aborted };
  };
  await run(client, ['images', 'mails'], handler, { concurrency: 8, onEvent: (name, job) => console.log(name === 'lost', job?.task) });
  const w = new Worker(client, 'images', job => job.payload.x);
  w.stop(0);
  // @ts-expect-error: a number
  await run(client, 'images', handler, { concurrency: '8' });
}

export async function door(): Promise<void> {
  const gate = new Gate(client, 'login', { ask: 'renew', room: 'https://wait.example' });
  const pass = await gate.check('x', { method: 'GET', path: '/' });
  console.log(pass.expires_at.toFixed(), (await gate.verify('x')).bypass);
  const go = gate.fetch((request, given, env: { x: number }) => new Response(`${request.url} ${given.ticket} ${env.x}`));
  await go(new Request('https://x'), { x: 1 });
  gate.express()({}, {}, () => undefined);
  signClaim('secret', { aud: 'login', lane: 'vip' }, { kid: 'shop' });
  new Webhook(['whsec_a', 'whsec_b'], { toleranceMs: 1 }).verify(new Headers(), '');
}
