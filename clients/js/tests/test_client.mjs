// test_client.mjs: the client's own tests: node tests/test_client.mjs. The last line is "client: N passed, M failed".
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac, createSecretKey, pbkdf2Sync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Client, Gate, Nack, Operator, SegqError, Transport, Webhook, Worker, run, signClaim, taskBody } from '../lib/index.mjs';
import * as all from '../lib/index.mjs';
import { path, retryAfter } from '../lib/transport.mjs';
import { Signer, answer, chunk, events, fake, problem, until } from './fake.mjs';

const tests = {};
const test = (name, f) => { tests[name] = f; };
const soon = (routers, options) => new Client([routers].flat(), { timeoutMs: 2000, retryForMs: 0, ...options });
const names = e => ({ name: e.name, code: e.code, status: e.status });
const ticket = (more = {}) => ({ token: 'T', queue: 'login', lane: 'default', state: 'waiting', position: 4, total: 9, eta_s: 1,
  poll_after_ms: 10, segment: 1, ...more });
const admitted = ticket({ state: 'admitted', position: 0, pass: 'a.b.c' });

// ---- HTTP ----

test('a connection is kept', async t => {
  const f = await fake(t, answer(200, { a: 1 }), answer(200, { a: 2 }));
  const c = soon(f.url);
  await c.count('q');
  assert.deepEqual(await c.count('q'), { a: 2 });
  assert.equal(f.connections, 1);
});

test('a connection that was closed meanwhile is no failure', async t => {
  const f = await fake(t, answer(200, { a: 1 }), '', answer(200, { a: 2 }));
  const c = soon(f.url);
  await c.count('q');
  assert.deepEqual(await c.count('q'), { a: 2 });
});

test('what is cut off is no answer', async t => {
  for (const cut of ['HTTP/1.1 200 X\r\nContent-Length: 20\r\n\r\n{"a":1}<cut>', 'HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n<cut>',
    'HTTP/1.1 200 X\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n<cut>', 'HTTP/1.1 200<cut>', answer(200, { a: 1 }).slice(0, -1) + '<cut>',
    'nonsense\r\n\r\n<cut>', answer(200).replace('200', '200').replace('Content-Length: 0', 'Content-Length: 3') + '{"a<cut>', '<cut>']) {
    const f = await fake(t, cut);
    await assert.rejects(soon(f.url).count('q'), { name: 'NetworkError' }, cut);
  }
});

test('a head and a body that drip are bounded as a whole', async t => {
  for (const begin of ['', 'HTTP/1.1 200 X\r\nContent-Length: 900\r\n\r\n']) {
    const drip = createServer().on('connection', c => {
      c.on('error', () => {});
      const timer = setInterval(() => c.write('x'), 50);
      c.on('close', () => clearInterval(timer));
      c.write(begin || 'HTTP/1.1 200 X\r\nA: ');
    });
    await new Promise(done => drip.listen(0, '127.0.0.1', done));
    t.after(() => { drip.close(); drip.closeAllConnections(); });
    const at = Date.now();
    await assert.rejects(soon(`http://127.0.0.1:${drip.address().port}`, { timeoutMs: 300 }).count('q'), { name: 'NetworkError' });
    assert.ok(Date.now() - at < 2000);
  }
});

test('busy is asked again after the told time', async t => {
  const f = await fake(t, problem(503, 'queue_unavailable', { poll_after_ms: 200 }), answer(200, {}));
  const at = Date.now();
  await soon(f.url, { retryForMs: 9000 }).count('q');
  assert.ok(Date.now() - at >= 200 && Date.now() - at < 900);
});

test('told times that are none', () => {
  assert.deepEqual(['7', '1e9', 'Fri, 1 Jan', '-1', '', null].map(retryAfter), [7000, 86400000, undefined, undefined, undefined, undefined]);
});

test('another router is asked; a refusal is not asked again', async t => {
  const dead = await fake(t, '', '', ''), f = await fake(t, problem(403, 'forbidden'));
  const c = soon([dead.url, f.url], { retryForMs: 5000 });
  c.transport.routers = [dead.url, f.url];
  await assert.rejects(c.count('q'), names({ name: 'Forbidden', code: 'forbidden', status: 403 }));
  assert.equal(f.asked.length, 1);
});

test('a join that costs work is worked for, with the key that asked', async t => {
  const nonce = Buffer.alloc(16, 'n'), salt = Buffer.alloc(16, 's'), key = pbkdf2Sync(Buffer.concat([nonce, Buffer.from([0, 0, 0, 21])]), salt, 3, 32, 'sha256');
  const asks = problem(428, 'challenge_required', { challenge: { signature: 's', parameters: {
    nonce: nonce.toString('hex'), salt: salt.toString('hex'), cost: 3, keyLength: 32, keyPrefix: key.toString('hex', 0, 16) } } });
  for (const code of ['challenge_expired', 'challenge_used', 'challenge_other_address']) {
    const f = await fake(t, asks, problem(403, code), asks, answer(201, ticket()));
    await soon(f.url).line('q').join();
    const said = f.asked.map(a => /^segq-challenge: (.*)$/im.exec(a.head)?.[1]).filter(Boolean);
    for (const x of said) assert.deepEqual(JSON.parse(atob(x)).solution, { counter: 21, derivedKey: key.toString('hex') });
    assert.equal(said.length, 2);
    assert.equal(new Set(f.asked.map(a => /^idempotency-key: (.*)$/im.exec(a.head)[1])).size, 1);
  }
  const endless = { nonce: '00', salt: '01', cost: 1e12, keyLength: 32, keyPrefix: 'ff' };
  for (const parameters of [endless, { ...endless, cost: 1, salt: 'x' }, {}]) {
    const f = await fake(t, problem(428, 'challenge_required', { challenge: { parameters } }));
    await assert.rejects(soon(f.url).line('q').join(), names({ name: 'ChallengeRequired', code: 'challenge_required', status: 428 }));
  }
  const never = await fake(t, ...Array(9).fill(asks));
  await assert.rejects(soon(never.url).line('q').join(), names({ name: 'ChallengeRequired', code: 'challenge_required', status: 428 }));
});

test('reasons of 410 are types', async t => {
  for (const [reason, name] of [['expired', 'TicketExpired'], ['no_show', 'TicketNoShow'], ['a_new_one', 'TicketGone'], ['constructor', 'TicketGone']]) {
    const f = await fake(t, problem(410, 'ticket_gone', { reason }));
    await assert.rejects(soon(f.url).line('q', { token: 'T' }).poll(), e => e.name === name && e instanceof all.TicketGone && e instanceof SegqError);
  }
});

test('a redirect keeps method and body, and the token stays at home', async t => {
  const there = await fake(t, answer(200, { task: 'X' })), away = there.url.replace('127.0.0.1', 'localhost');
  const f = await fake(t, answer(307, undefined, { Location: `${away}/v1/x` }));
  await soon(f.url, { token: 's3cret' }).submit('q', { a: 1 });
  assert.match(there.asked[0].head, /^POST \/v1\/x/);
  assert.match(there.asked[0].body, /"a":1/);
  assert.doesNotMatch(there.asked[0].head, /s3cret/);
  assert.match(f.asked[0].head, /s3cret/);
});

test('redirects end', async t => {
  const f = await fake(t);
  for (let i = 0; i < 9; i++) f.script.push(answer(307, undefined, { Location: f.url + '/x' }));
  await assert.rejects(soon(f.url).count('q'), /circles/);
  const g = await fake(t, answer(307, undefined, { Location: 'ftp://x/' }), answer(307, undefined, { Location: 'http://[' }));
  await assert.rejects(soon(g.url).count('q'), /ftp/);
  await assert.rejects(soon(g.url).count('q'), /no address/);
});

test('a signal ends a call, a pause and a wait with its reason', async t => {
  const f = await fake(t, () => new Promise(() => {}), problem(503, 'busy'), answer(201, ticket({ poll_after_ms: 60000 })), answer(204));
  const c = soon(f.url, { retryForMs: 60000, timeoutMs: 60000 });
  for (const what of [signal => c.count('q', { signal }), signal => c.count('q', { signal }), signal => c.waitForPass('q', { signal })]) {
    const a = new AbortController(), said = what(a.signal);
    setTimeout(() => a.abort(new RangeError('enough')), 100);
    await assert.rejects(said, /enough/);
  }
});

test('wrong arguments are said at once', () => {
  assert.throws(() => new Client('q1.example'), /addresses/);
  assert.throws(() => new Client([]), /at least one/);
  assert.throws(() => new Client('http://a', { token: 'x\n' }), /line break/);
  assert.throws(() => new Worker(soon('http://a'), [], () => 1), /1 to 16/);
  assert.throws(() => new Worker(soon('http://a'), 'q', () => 1, { concurrency: 0 }), /at least 1/);
});

// ---- people ----

test('polls as told, and says who is in trouble', async t => {
  const f = await fake(t, answer(201, ticket()), answer(204, undefined, { 'Retry-After': '60' }), problem(503, 'busy', { poll_after_ms: 10 }), answer(200, admitted));
  const said = [], trouble = [];
  const got = await soon(f.url).waitForPass('login', { onTicket: x => said.push(x.position), onTrouble: w => trouble.push(w) });
  assert.equal(got.pass, 'a.b.c');
  assert.deepEqual(said, [4, 0]);
  assert.deepEqual(trouble, ['busy', '']);
});

test('events, a beat, and the pass', async t => {
  const f = await fake(t, answer(201, ticket()), events(`id: 7\ndata: ${JSON.stringify(ticket({ position: 2 }))}\n\n`, 'event: beat\ndata: 15000\n\n',
    `data: ${JSON.stringify(admitted).slice(0, 9)}`, `${JSON.stringify(admitted).slice(9)}\n\n`));
  const places = [];
  for await (const x of soon(f.url, { token: 's3cret' }).line('login')) places.push(x.position);
  assert.deepEqual(places, [4, 2, 0]);
  assert.equal(f.asked.length, 2);
  assert.ok(f.asked.every(q => !q.head.includes('s3cret')));
});

test('a stream that is cut amid an event says nothing', async t => {
  const f = await fake(t, answer(201, ticket()), events(`data: ${JSON.stringify(ticket())}\n\n`, `data: ${JSON.stringify(admitted)}\n<open>`) + '<cut>', answer(200, admitted));
  const c = soon(f.url);
  const random = Math.random;
  t.after(() => { Math.random = random; });
  Math.random = () => 0.001;
  assert.equal((await c.waitForPass('login')).pass, 'a.b.c');
  assert.equal(f.asked.length, 3);
});

test('gone by event', async t => {
  const f = await fake(t, answer(201, ticket()), events('event: gone\ndata: {"reason":"left","code":"ticket_gone"}\n\n'));
  await assert.rejects(soon(f.url).waitForPass('login'), { name: 'TicketLeft', reason: 'left' });
});

test('who leaves the loop closes the stream', async t => {
  const f = await fake(t, answer(201, ticket()), events(`data: ${JSON.stringify(ticket())}\n\n<open>`));
  for await (const x of soon(f.url).line('login')) if (f.asked.length === 2) break; else assert.ok(x);
  await until(() => [...f.open].length <= 1);
});

test('a leave proves a key whose cookie is old, also after the wait was given up', async t => {
  const f = await fake(t, answer(201, ticket()), problem(401, 'proof_required'), answer(204), answer(204));
  const given = new AbortController(), line = soon(f.url).line('login', { key: await all.newDeviceKey(), signal: given.signal });
  await line.join();
  given.abort();
  await line.leave();
  assert.deepEqual(f.asked.map(q => q.head.split(' ')[0] + (/^dpop: /im.test(q.head) ? '!' : '')), ['POST!', 'DELETE', 'POST!', 'DELETE']);
});

// ---- gate ----

const jwks = (...signers) => answer(200, { keys: signers.map(s => s.jwk()) }, { 'Cache-Control': 'max-age=60' });
const claims = (more = {}) => {
  const s = Math.floor(Date.now() / 1000);
  return { aud: 'login', jti: '17-1', sub: 'u1', lane: 'default', iat: s, nbf: s, exp: s + 60, ...more };
};

test('a good pass; keys are asked for once', async t => {
  const s = new Signer(), f = await fake(t, jwks(s)), g = new Gate(f.url, 'login');
  for (let i = 0; i < 3; i++) assert.equal((await g.check(s.jwt(claims({ i })))).subject, 'u1');
  assert.equal(f.asked.length, 1);
});

test('what opens nothing', async t => {
  const s = new Signer(), f = await fake(t, jwks(s)), g = new Gate(f.url, 'login'), good = s.jwt(claims());
  const at = Math.floor(Date.now() / 1000), { exp, ...lacks } = claims();
  assert.ok(exp);
  for (const [pass, code] of [['', 'malformed'], ['a.b', 'malformed'], [good + '=', 'malformed'], [good + 'A', 'signature'], [good.slice(0, -4) + 'AAAA', 'signature'],
    [s.jwt(claims(), { alg: 'none' }), 'algorithm'], [s.jwt(claims(), { crit: ['x'] }), 'algorithm'], [s.jwt(claims(), { kid: 7 }), 'malformed'],
    [new Signer().jwt(claims()), 'unknown_key'], [s.jwt(claims({ aud: 'other' })), 'other_queue'], [s.jwt(lacks), 'malformed'],
    [s.jwt(claims({ exp: at - 31 })), 'expired'], [s.jwt(claims({ nbf: at + 60 })), 'not_yet_valid'], [s.jwt(claims({ use: 'once' })), 'once'],
    [s.jwt([1]), 'malformed'], ['x'.repeat(9000), 'malformed'], [s.jwt(claims({ exp: 'x' })), 'malformed'], [undefined, 'none']])
    await assert.rejects(g.check(pass), { code }, `${code}: ${pass}`);
  assert.ok(await g.check(s.jwt(claims({ exp: at - 20 }))));
});

test('headers of strangers cost little', async () => {
  const g = new Gate('http://127.0.0.1:1', 'login', { ask: 'never' }), spaces = ' '.repeat(60000);
  for (const h of [{ cookie: `a=b;${spaces}x` }, { cookie: `a=${spaces}x` }, { authorization: `bearer${spaces}\xa0` }]) {
    const at = performance.now();
    assert.equal((await g.decide('GET', '/', h)).status, 401);
    assert.ok(performance.now() - at < 500, Object.keys(h)[0]);
  }
});

test('names stay within their path', () => {
  for (const name of ['.', '..']) assert.throws(() => path(name), TypeError);
  assert.equal(new URL(`/v1/queues/${path('../x')}/tasks`, 'http://h').pathname, '/v1/queues/..%2Fx/tasks');
});

test('bound passes', async t => {
  const s = new Signer(), f = await fake(t, jwks(s)), g = new Gate(f.url, 'login'), pass = s.jwt(claims({ htm: 'POST', htu: '/buy' }));
  for (const [method, path, good] of [['POST', '/buy', 1], ['POST', '/buy/7?x=/../', 1], ['GET', '/buy', 0], ['POST', '/buyer', 0], ['POST', '/buy/../x', 0],
    ['POST', '/buy/%2e%2e/x', 0], ['POST', '/buy//x', 0], [undefined, undefined, 0]])
    await (good ? g.check(pass, { method, path }) : assert.rejects(g.check(pass, { method, path }), { name: 'PassInvalid' }, `${method} ${path}`));
});

test('keys rotate; unknown ones do not ask each time; a key of a small order is none', async t => {
  const a = new Signer(), b = new Signer(), f = await fake(t, jwks(a), jwks(a, b)), g = new Gate(f.url, 'login');
  await g.check(a.jwt(claims()));
  await assert.rejects(g.check(b.jwt(claims())), { code: 'unknown_key' });
  await assert.rejects(g.check(b.jwt(claims())), { code: 'unknown_key' });
  assert.equal(f.asked.length, 1);
  g._keys._asked -= 5001;
  assert.ok(await g.check(b.jwt(claims())));
  const small = { ...a.jwk(), x: Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]).toString('base64url') };
  const h = await fake(t, answer(200, { keys: [small] }));
  await assert.rejects(new Gate(soon(h.url), 'login').check(a.jwt(claims())), { name: 'NetworkError' });
});

test('old keys do while no router answers', async t => {
  const s = new Signer(), f = await fake(t, jwks(s)), g = new Gate(f.url, 'login');
  await g.check(s.jwt(claims()));
  g._keys._until = g._keys._asked = -1e9;
  assert.ok(await g.check(s.jwt(claims({ x: 1 }))));
});

const cookies = a => a.headers.getSetCookie?.() || (a.headers.get('set-cookie') || '').split(', ').filter(Boolean); // Debian's Node 18

/** A site behind the middleware, of each kind. */
async function site(t, g, kind, handler) {
  const express = g.express();
  const fetching = g.fetch(async (q, pass) => handler({ headers: Object.fromEntries(q.headers), segq: pass, url: new URL(q.url).pathname }));
  const server = createServer(async (q, a) => {
    if (kind === 'fetch') {
      const r = await fetching(new Request(`http://x${q.url}`, { method: q.method, headers: q.headers }));
      r.headers.forEach((v, k) => { if (k !== 'set-cookie') a.setHeader(k, v); });
      a.setHeader('Set-Cookie', cookies(r));
      a.writeHead(r.status).end(Buffer.from(await r.arrayBuffer()));
    } else {
      express(q, a, async () => {
        const r = handler(q);
        const head = kind === 'array' ? [...r.headers].flat() : kind === 'object' ? Object.fromEntries(r.headers) : undefined;
        if (head) a.writeHead(200, 'OK', head);
        else r.headers.forEach((v, k) => a.setHeader(k, v)); // and the head by itself
        a.end(await r.text());
      });
    }
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}`;
}

test('middleware: renews, refuses, obeys, hides what a visitor says of himself', async t => {
  for (const kind of ['express', 'array', 'object', 'fetch']) {
    const f = await fake(t, answer(204, undefined, { 'X-Segq-Ticket': '17-1', 'X-Segq-Queue': 'login', 'Set-Cookie': 'segq_pass=new; Secure', 'X-Segq-Pass': 'new' }),
      problem(401, 'unauthorized'), problem(403, 'pass_revoked'));
    const g = new Gate(f.url, 'login', { ask: 'always' });
    g._keys.warm = () => {};
    let saw;
    const url = await site(t, g, kind, q => { saw = q; return new Response('in', { headers: { 'X-Segq-Command': 'release', 'Set-Cookie': 'mine=1', A: 'b' } }); });
    f.script.splice(1, 0, answer(204));
    const a = await fetch(`${url}/cart?x=1`, { headers: { cookie: 'a=b; segq_pass=old', 'X-Segq-Ticket': 'forged' } });
    assert.equal(a.status, 200, kind);
    assert.equal(await a.text(), 'in');
    assert.equal(a.headers.get('x-segq-command'), null, kind);
    assert.equal(a.headers.get('a'), 'b', kind);
    assert.equal(a.headers.get('x-segq-pass'), 'new', kind);
    assert.deepEqual(cookies(a), ['mine=1', 'segq_pass=new; Secure'], kind);
    assert.equal(saw.headers['x-segq-ticket'], undefined);
    assert.equal(saw.segq.ticket, '17-1');
    await until(() => f.asked.length === 2);
    assert.match(f.asked[0].head, /X-Original-URI: \/cart\?x=1/i);
    assert.match(f.asked[0].head, /Cookie: segq_pass=old\r\n/i);
    assert.match(f.asked[1].body, /release/);
    const b = await fetch(`${url}/cart`, { redirect: 'manual', headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' } });
    assert.ok(b.status === 303 || b.status === 401, kind); // Node's fetch says the mode itself
    assert.match(b.headers.get('x-segq-location'), /^\/q\/login\?return=\/cart$/);
    assert.equal((await fetch(`${url}//evil.example`, { headers: { cookie: 'segq_pass=x' } })).status, 403, kind);
  }
});

test('who cannot be asked about is refused; nobody gets in while nobody can say', async t => {
  const g = new Gate('http://127.0.0.1:9', 'login', { timeoutMs: 500 });
  assert.equal((await g.decide('GET', '/x', { authorization: 'Bearer \u00e9\u0100' })).status, 401);
  assert.equal((await g.decide('GET', '/x', {})).status, 503);
});

test('claims', () => {
  const [h, b, s] = signClaim(' secret\n', { aud: 'login', lane: 'vip' }, { kid: 'shop', ttlS: 9 }).split('.');
  assert.equal(createHmac('sha256', createSecretKey('secret', 'utf8')).update(`${h}.${b}`).digest('base64url'), s);
  const c = JSON.parse(Buffer.from(b, 'base64url'));
  assert.equal(c.exp - c.iat, 9);
  assert.deepEqual(JSON.parse(Buffer.from(h, 'base64url')), { alg: 'HS256', typ: 'JWT', kid: 'shop' });
  const signer = new Signer(), pem = signer.key.export({ type: 'pkcs8', format: 'pem' });
  assert.equal(signClaim(pem, {}, { alg: 'EdDSA' }).split('.').length, 3);
});

// ---- webhooks ----

test("the standard's own example", () => {
  const hook = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { toleranceMs: Infinity });
  assert.equal(hook.verify({ 'Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek', 'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' }, '{"test": 2432232314}'), 'msg_p5jXN8AQM9LWM0D4loKWxJek');
});

test('signatures of public keys, of Headers, of bytes', () => {
  const s = new Signer(), at = String(Math.floor(Date.now() / 1000));
  const key = 'whpk_' + Buffer.from(s.public, 'base64url').toString('base64');
  const headers = new Headers({ 'webhook-id': 'id7', 'webhook-timestamp': at, 'webhook-signature': `v1a,${s.sign(`id7.${at}.x`).toString('base64')}` });
  assert.equal(new Webhook(['whsec_' + Buffer.alloc(24).toString('base64'), key]).verify(headers, Buffer.from('x')), 'id7');
  assert.throws(() => new Webhook(key).verify(headers, 'y'), { name: 'SignatureInvalid', status: 401 });
  assert.throws(() => new Webhook('whsec_x'), /a webhook key/);
  assert.throws(() => new Webhook([]), /no keys/);
});

// ---- tasks ----

test('a lost answer is repeated under its key', async t => {
  const f = await fake(t, '', answer(201, { task: 'X', state: 'waiting' }));
  assert.equal((await soon(f.url, { retryForMs: 5000 }).submit('a/b', { a: 1 }, { unique: 'cart7', delay: '5m' })).task, 'X');
  const keys = f.asked.map(q => /idempotency-key: (.*)/i.exec(q.head)[1]);
  assert.ok(keys[0] === keys[1] && keys[0].length >= 16);
  assert.match(f.asked[0].head, /^POST \/v1\/queues\/a%2Fb\/tasks /);
  assert.deepEqual(JSON.parse(f.asked[0].body), { unique: { key: 'cart7' }, delay: '5m', payload: { a: 1 } });
});

test('rows that are put off are asked again; large ones are several; what broke off is told', async t => {
  const f = await fake(t, answer(200, [{ status: 201, task: 'A' }, { status: 503, code: 'x' }]), answer(200, [{ status: 201, task: 'B' }]));
  assert.deepEqual((await soon(f.url, { retryForMs: 9000 }).submitMany('q', [taskBody(1), taskBody(2)])).map(r => r.task), ['A', 'B']);
  const rows = [1, 2, 3].map(i => taskBody('x'.repeat(300000) + i));
  const g = await fake(t, answer(200, [{ status: 201, task: 'A' }]), problem(413, 'too_large'), problem(403, 'forbidden'));
  assert.deepEqual((await soon(g.url).submitMany('q', rows)).map(r => r.status), [201, 413, 403]);
});

test('a failed task is thrown; a router that does not wait is not asked all the time', async t => {
  const f = await fake(t, answer(200, { task: 'X', state: 'waiting' }), answer(200, { task: 'X', state: 'dead', history: [{ reason: 'no paper' }] }));
  const at = Date.now();
  await assert.rejects(soon(f.url).wait('X'), { name: 'TaskFailed', code: 'dead', detail: 'no paper' });
  assert.ok(Date.now() - at >= 490);
});

test('a call is not repeated, but where nothing was done; its answer is passed on', async t => {
  const f = await fake(t, problem(503, 'queue_unavailable', { poll_after_ms: 5 }), answer(500, { a: 1 }, { 'segq-status': '500' }), '');
  const c = soon(f.url, { retryForMs: 5000, token: 's3cret' }), s = await c.call('gpu', '/x', { body: '{}', headers: { authorization: 'theirs' } });
  assert.equal(s.status, 500);
  assert.deepEqual((await s.read()).json(), { a: 1 });
  assert.match(f.asked[0].head, /segq-token: s3cret/i);
  await assert.rejects(c.call('gpu', '/x'), { name: 'NetworkError' });
  assert.equal(f.asked.length, 3);
});

test('progress of a call, and a refusal amid it', async t => {
  const f = await fake(t, events('event: segq.progress\ndata: {"position":2}\n\n', 'data: a\ndata: b\n\n'),
    events('event: error\ndata: {"status":502,"error":{"code":"endpoint_failed"}}\n\n'));
  const c = soon(f.url), said = [], got = [];
  for await (const e of (await c.call('gpu', '/x', { onProgress: p => said.push(p.position) })).events()) got.push(e.data);
  assert.deepEqual([said, got], [[2], ['a\nb']]);
  await assert.rejects(async () => { for await (const e of (await c.call('gpu', '/x', { onProgress() {} })).events()) assert.fail(e); }, { code: 'endpoint_failed' });
});

test('who reads slowly is no silence, silence is', async t => {
  const f = await fake(t, events('data: a\n\n', 'data: b\n\n'), events('data: a\n\n<open>'));
  const c = soon(f.url), got = [];
  for await (const e of (await c.call('gpu', '/x', { timeoutMs: 200 })).events()) {
    got.push(e.data);
    await new Promise(done => setTimeout(done, 300));
  }
  assert.deepEqual(got, ['a', 'b']);
  await assert.rejects(async () => { for await (const e of (await c.call('gpu', '/x', { timeoutMs: 200 })).events()) got.push(e); }, /no answer within 200 ms/);
});

test('a task is watched over streams that break off, and looked at where there is no room', async t => {
  const f = await fake(t, events('data: {"state":"waiting","position":3}\n\n', 'event: beat\ndata: 15000\n\n<open>') + '<cut>',
    answer(204), answer(200, { task: 'X', state: 'running' }), events('event: away\ndata: {"poll_after_ms":1}\n\n'),
    events('event: end\ndata: {"state":"succeeded"}\n\n'), events('event: gone\ndata: {"status":410,"code":"task_gone"}\n\n'));
  const got = [];
  for await (const x of soon(f.url).watch('X')) got.push(`${x.task} ${x.state}`);
  assert.deepEqual(got, ['X waiting', 'X running', 'X succeeded']);
  await assert.rejects(soon(f.url).watch('X').next(), { name: 'TaskGone' });
});

test('a queue is heard on behind the last event that could be read', async t => {
  const start = (id, task) => `id: ${id}\ndata: {"task":"${task}","state":"running","attempts":1,"at":1}\n\n`;
  const f = await fake(t, events('id: 4\nevent: beat\ndata: 15000\n\n', start(5, 'A'), 'id: 6\ndata: {"ta\n\n<open>'),
    events('id: 6\ndata: {"state":"running"}\n\n'), events(start(6, 'B')));
  const got = [];
  for await (const e of soon(f.url).watchQueue('q')) if (got.push(`${e.id} ${e.task}`) === 2) break;
  assert.deepEqual(got, ['5 A', '6 B']);
  assert.deepEqual(f.asked.map(q => /last-event-id: (\w+)/i.exec(q.head)?.[1]), [undefined, '5', '5']);
});

test('an id that is none of ours is not sent back', async t => {
  for (const id of ['\u20ac', 'a\rX: y', '1'.repeat(9000)]) {
    const said = (i, task) => events(`id: ${i}\ndata: {"task":"${task}","state":"running","attempts":1,"at":1}\n\n`);
    const f = await fake(t, said(id, 'A'), said(6, 'B')), got = [];
    for await (const e of soon(f.url).watchQueue('q', { after: '4' })) if (got.push(`${e.id} ${e.task}`) === 2) break;
    assert.deepEqual(got, ['4 A', '6 B']);
    assert.equal(/last-event-id: (.*)/i.exec(f.asked[1].head)[1].trim(), '4');
    const g = await fake(t, answer(201, ticket()), events(`id: ${id}\ndata: ${JSON.stringify(ticket())}\n\n`), answer(200, ticket()),
      events(`data: ${JSON.stringify(admitted)}\n\n`));
    assert.equal((await soon(g.url).waitForPass('login')).pass, 'a.b.c');
  }
});

test('streams that bring nothing are asked for more and more seldom', async t => {
  for (const [first, what] of [['data: {"state":"waiting"}\n\n', c => c.watch('X')], ['id: 1\ndata: {"task":"X","state":"running"}\n\n', c => c.watchQueue('q')]]) {
    const f = await fake(t, events(), events(), events(first)), at = [];
    const ask = what(soon(f.url));
    for (let i = 0; i < 3; i++) f.script[i] = (said => () => { at.push(performance.now()); return said; })(f.script[i]);
    assert.equal((await ask.next()).done, false);
    assert.ok(at[1] - at[0] >= 990 && at[1] - at[0] < 1800 && at[2] - at[1] >= 1990 && at[2] - at[1] < 4000, at.join());
  }
});

test('lines, whose ends and characters come in two pieces', async t => {
  const f = await fake(t, 'HTTP/1.1 200 X\r\nsegq-status: 200\r\nTransfer-Encoding: chunked\r\n\r\n' + chunk('a\r') + chunk('\nb\n\n') + chunk('c') + '0\r\n\r\n');
  const got = [];
  for await (const line of (await soon(f.url).call('gpu', '/x')).lines()) got.push(line);
  assert.deepEqual(got, ['a', 'b', '', 'c']);
});

test('the paths of all the rest', async t => {
  const f = await fake(t), c = soon(f.url), o = new Operator(f.url, { token: 'x', retryForMs: 0 });
  f.script.push(...Array(20).fill(answer(200, { task: 'X', schedules: [1] })));
  await c.look('T'); await c.lookByName('q', 'n/1'); await c.cancel({ task: 'T' }, { force: true }); await c.cancelByName('q', 'n');
  await c.change('T', { order: 1 }); await c.group('q', 'g'); await c.sealGroup('q', 'g'); await c.cancelGroup('q', 'g');
  await c.putSchedule('q', 's', { every: '1h', task: {} }); await c.schedule('q', 's'); assert.deepEqual(await c.schedules('q'), [1]);
  await c.runSchedule('q', 's'); await c.deleteSchedule('q', 's'); await c.result('T', { ack: true });
  await c.complete('https://x/v1/tasks/R-7/complete', { result: 1 }); await c.keep('https://x/v1/tasks/R-7/complete', '5m');
  await o.redrive('T'); await o.redriveAll('q', { ratePerS: 5 }); await o.discard('T'); await c.figures('q');
  assert.deepEqual(f.asked.map(q => q.head.split(' ').slice(0, 2).join(' ')), ['GET /v1/tasks/T', 'GET /v1/queues/q/tasks/n%2F1', 'DELETE /v1/tasks/T?force=1',
    'DELETE /v1/queues/q/tasks/n', 'PATCH /v1/tasks/T', 'GET /v1/groups/q/g', 'POST /v1/groups/q/g/seal', 'POST /v1/groups/q/g/cancel', 'PUT /v1/schedules/q/s',
    'GET /v1/schedules/q/s', 'GET /v1/schedules/q/', 'POST /v1/schedules/q/s/run', 'DELETE /v1/schedules/q/s', 'GET /v1/tasks/T/result?ack=1',
    'POST /v1/tasks/R-7/complete', 'POST /v1/tasks/R-7/extend', 'POST /v1/admin/tasks/T/redrive', 'POST /v1/admin/task-queues/q/tasks/redrive?rate_per_s=5',
    'POST /v1/admin/tasks/T/discard', 'GET /v1/queues/q']);
});

// ---- workers ----

/** A queue: gives out its tasks, hears how they end. rule(row): another outcome. */
async function line(t, todo, rule = () => undefined) {
  const w = { todo, ends: [], extended: 0, takes: [] };
  const server = createServer(async (q, a) => {
    let body = '';
    for await (const piece of q) body += piece;
    const said = JSON.parse(body), tell = (status, v) => a.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(v));
    if (q.url.endsWith('/take')) {
      w.takes.push(said);
      const tasks = w.todo.splice(0, said.n);
      if (!tasks.length) await new Promise(done => setTimeout(done, 50));
      tell(200, { tasks: tasks.map(x => ({ attempt: 1, lease_id: 'L', lease_expires_at: 0, queue: said.queues && (x.queue || 'q'), ...x })) });
      return;
    }
    const out = rule(said, q) || said.map(row => rule(row, q) || { status: 200 });
    if (out === 'drop') { q.socket.destroy(); return; }
    if (!Array.isArray(out)) { tell(out.status, out); return; }
    for (const [i, row] of said.entries()) if (row.verb === 'extend') w.extended++; else if (out[i].status < 400) w.ends.push(row);
    tell(200, out);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  t.after(() => { server.close(); server.closeAllConnections(); });
  w.client = soon(`http://127.0.0.1:${server.address().port}`);
  return w;
}
const task = (i, more = {}) => ({ task: `T${i}`, payload: { i }, ...more });
const work = (w, handler, options = {}) => {
  const k = new Worker(w.client, options.queues || 'q', handler, { waitMs: 100, ...options });
  k.over = k.run({ signals: false });
  k.over.catch(() => {});
  return k;
};

test('each is done once, never more than told, and told together', async t => {
  const w = await line(t, Array.from({ length: 300 }, (_, i) => task(i)));
  let running = 0, most = 0;
  const k = work(w, async j => {
    most = Math.max(most, ++running);
    await new Promise(done => setTimeout(done, 1));
    running--;
    return j.payload.i;
  }, { concurrency: 20 });
  await until(() => w.ends.length === 300);
  k.stop();
  await k.over;
  assert.ok(most <= 20 && most > 10, `${most}`);
  assert.ok(w.takes.every(x => x.n <= 20 && x.n > 0));
  assert.deepEqual(new Set(w.ends.map(e => e.result)).size, 300);
  assert.equal(k.counts.succeeded, 300);
});

test('handlers that throw whatever, and results that cannot be told', async t => {
  const odd = { toString() { throw new Error('no'); } }, ring = {};
  ring.ring = ring;
  const what = [() => { throw new Error('no\npaper'); }, () => { throw new Nack('later', { delay: '5m' }); }, () => { throw odd; }, () => { throw null; },
    () => ring, () => 1n, () => () => 1, () => undefined, () => { throw new Error('é'.repeat(200)); }];
  const w = await line(t, what.map((_, i) => task(i))), k = work(w, j => what[j.payload.i]());
  await until(() => w.ends.length === what.length);
  k.stop();
  await k.over;
  const by = Object.fromEntries(w.ends.map(e => [e.task, e]));
  assert.equal(by.T0.reason, 'Error: no paper');
  assert.deepEqual([by.T1.reason, by.T1.delay], ['later', '5m']);
  assert.deepEqual([2, 3, 4, 5, 6].map(i => by['T' + i].verb), Array(5).fill('nack'));
  assert.deepEqual([by.T7.verb, 'result' in by.T7], ['ack', false]);
  assert.ok(Buffer.byteLength(by.T8.reason) <= 200 && by.T8.reason.endsWith('é'));
});

test('leases are extended; a lost one is told to its handler, and its end to nobody', async t => {
  const w = await line(t, [task(1), task(2)], row => row.verb === 'extend' && row.task === 'T2' ? { status: 409, code: 'lease_lost' } : undefined);
  let lost;
  const k = work(w, j => new Promise(done => {
    j.signal.addEventListener('abort', () => { lost = j.task; done(1); });
    if (j.task === 'T1') setTimeout(done, 900, 1);
  }), { leaseMs: 400 });
  await until(() => w.ends.length === 1);
  k.stop();
  await k.over;
  assert.equal(lost, 'T2');
  assert.ok(w.extended >= 2);
  assert.deepEqual(w.ends.map(e => e.task), ['T1']);
  assert.deepEqual([k.counts.lost, k.counts.succeeded], [1, 1]);
});

test('progress: the newest word is told, a refusal is a lost task', async t => {
  const said = [], w = await line(t, [task(1), task(2)], (row, q) => {
    if (!q.url.endsWith('/progress')) return undefined;
    said.push([q.url, row]);
    return { status: q.url.includes('/T2/') ? 409 : 200 };
  });
  const k = work(w, async j => {
    for (let i = 0; i < 50; i++) j.progress({ percent: i, text: 'a\nb' + 'é'.repeat(100), data: [i] });
    await until(() => j.task === 'T1' ? said.length === 2 : j.lost);
  });
  await until(() => w.ends.length === 1 && k.counts.lost);
  k.stop();
  await k.over;
  assert.equal(said.length, 2);
  const { text, ...row } = said.find(([url]) => url === '/v1/tasks/T1/progress')[1];
  assert.deepEqual(row, { lease_id: 'L', percent: 49, data: [49] });
  assert.ok(Buffer.byteLength(text) <= 200 && text.startsWith('a bé') && text.endsWith('é'));
});

test('what does not end is given back; a second stop does not wait', async t => {
  const w = await line(t, [task(1)]), k = work(w, () => new Promise(() => {}));
  await until(() => k.counts.started === 1);
  k.stop(60000);
  k.stop();
  await k.over;
  assert.deepEqual([w.ends[0].verb, w.ends[0].reason, w.ends[0].delay], ['nack', 'the worker stops', 0]);
});

test('broken connections lose nothing, one refused end spoils no others, a refused one is told plainly', async t => {
  let broken = 3;
  const w = await line(t, Array.from({ length: 40 }, (_, i) => task(i)), (said, q) => {
    if (Array.isArray(said)) return broken-- > 0 ? 'drop' : said.length > 1 && said.some(r => r.result === 7) ? { status: 400, code: 'bad_request' } : undefined;
    assert.ok(q);
    return said.result === 7 ? { status: 413, detail: 'too long' } : undefined;
  });
  const k = work(w, j => j.payload.i);
  await until(() => w.ends.length === 40, 9000);
  k.stop();
  await k.over;
  assert.equal(new Set(w.ends.map(e => e.task)).size, 40);
  assert.match(w.ends.find(e => e.task === 'T7').reason, /its end was refused: too long/);
});

test('payloads and results that are no JSON', async t => {
  assert.deepEqual(taskBody(new all.Bytes(Buffer.from([0, 255]), 'image/png'), { key: 'a' }), { payload_base64: 'AP8=', content_type: 'image/png', key: 'a' });
  assert.deepEqual(taskBody(new Uint8Array([1])), { payload_base64: 'AQ==', content_type: 'application/octet-stream' });
  assert.deepEqual(taskBody(undefined, { payload_base64: 'AQ==' }), { payload_base64: 'AQ==' });
  const w = await line(t, [task(1, { payload: undefined, payload_base64: 'AP8=', content_type: 'image/png' })]);
  const k = work(w, j => new all.Bytes(j.payload.reverse(), j.content_type));
  await until(() => w.ends.length === 1);
  k.stop();
  await k.over;
  assert.deepEqual([w.ends[0].result_base64, w.ends[0].content_type, 'result' in w.ends[0]], ['/wA=', 'image/png', false]);
});

test('several queues; the one whose node is away delays no others', async t => {
  const w = await line(t, [task(1, { queue: 'a' }), task(2, { queue: 'b' })], (said, q) => q.url.includes('/a/') ? { status: 503 } : undefined);
  const k = work(w, () => 1, { queues: ['a', 'b'], leaseMs: 700 });
  await until(() => w.ends.length === 1);
  assert.deepEqual([w.ends[0].task, w.takes[0].queues], ['T2', ['a', 'b']]);
  k.stop();
  await k.over;
});

test('the trace context is handed on', async t => {
  const w = await line(t, [task(1, { payload: { traceparent: '00-1' } }), task(2)]);
  const seen = {};
  const k = work(w, async j => {
    await new Promise(done => setTimeout(done, 5));
    seen[j.task] = [taskBody({ a: 1 }), taskBody(undefined, { path: '/x' }), taskBody([1])];
  });
  await until(() => w.ends.length === 2);
  k.stop();
  await k.over;
  assert.deepEqual(seen.T1, [{ payload: { traceparent: '00-1', a: 1 } }, { path: '/x', headers: { traceparent: '00-1' } }, { payload: [1] }]);
  assert.deepEqual(seen.T2[0], { payload: { a: 1 } });
});

test('a refusal ends it, whatever else is answered does not', async t => {
  const f = await fake(t, answer(200, []), answer(200, { tasks: 7 }), '', problem(401, 'unauthorized'));
  await assert.rejects(run(soon(f.url), 'q', () => 1, { signals: false }), { name: 'Unauthorized' });
});

test('a router that does not wait is not asked all the time', async t => {
  const f = await fake(t), k = new AbortController();
  f.script.push(...Array(99).fill(answer(200, { tasks: [] })));
  const over = run(soon(f.url), 'q', () => 1, { signal: k.signal, signals: false, waitMs: 2000 });
  setTimeout(() => k.abort(), 450);
  await over;
  assert.ok(f.asked.length <= 6, `${f.asked.length}`);
});

test('SIGTERM drains', async t => {
  const w = await line(t, [task(1)]);
  const code = `import { Client, run } from '${new URL('../lib/index.mjs', import.meta.url)}';
    await run(new Client('${w.client.transport.routers[0]}'), 'q', async () => { console.log('begun'); await new Promise(d => setTimeout(d, 300)); return 7; }, { waitMs: 100 });
    console.log('ended');`;
  const p = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => p.kill('SIGKILL'));
  let out = '';
  p.stdout.on('data', d => { out += d; });
  await until(() => out.includes('begun'));
  p.kill('SIGTERM');
  assert.equal(await new Promise(done => p.on('close', done)), 0);
  assert.match(out, /ended/);
  assert.equal(w.ends[0].result, 7);
});

// ---- types ----

test('what the types name is there, and the other way round', () => {
  const types = readFileSync(new URL('../index.d.ts', import.meta.url), 'utf8');
  const named = new Set([...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(m => m[1]));
  assert.deepEqual([...named].sort(), Object.keys(all).sort());
  for (const c of ['Client', 'Line', 'Worker', 'Gate', 'Webhook', 'Operator', 'Stream', 'Answer', 'Job']) {
    const body = new RegExp(`^export class ${c}\\b[^{]*\\{\\n(.*?)^\\}`, 'sm').exec(types)[1];
    const methods = [...body.matchAll(/^ {2}(\w+)(?:<[^(]*>)?\(/gm)].map(m => m[1]).filter(m => m !== 'constructor');
    const there = new Set();
    for (let p = all[c].prototype; p && p !== Object.prototype; p = Object.getPrototypeOf(p))
      for (const n of Object.getOwnPropertyNames(p))
        if (n[0] !== '_' && n !== 'constructor' && typeof Object.getOwnPropertyDescriptor(p, n).value === 'function') there.add(n);
    assert.deepEqual([...there].sort(), methods.sort(), c);
  }
  const version = JSON.parse(readFileSync(new URL('../package.json', import.meta.url))).version;
  assert.equal(all.VERSION, version);
  assert.ok(Transport);
});

const tsc = (process.env.PATH || '').split(':').map(d => `${d}/tsc`).find(existsSync);
if (!tsc) console.log('     types are not compiled: there is no tsc (Debian\'s node-typescript)');
else test('programs of types.ts are compiled', () => {
  const here = fileURLToPath(new URL('.', import.meta.url));
  const said = spawnSync(tsc, ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable',
    '--module', 'nodenext', '--moduleResolution', 'nodenext', '--typeRoots', here, 'types.ts', '../index.d.ts'], { cwd: here, encoding: 'utf8' });
  assert.equal(said.status, 0, said.stdout);
});

test('browsers load no module of Node', () => {
  const seen = new Set(), load = file => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(new URL(`../lib/${file}`, import.meta.url), 'utf8');
    for (const [, from] of text.matchAll(/^(?:import|export) .*?from '(.*?)';/gms)) {
      assert.match(from, /^\.\//, `${file} loads ${from}`);
      load(from.slice(2));
    }
  };
  load('client.mjs');
  assert.equal(seen.size, 6);
});

// ---- all of them ----

let passed = 0, failed = 0;
const wanted = process.argv[2];
for (const [name, f] of Object.entries(tests).filter(([n]) => !wanted || n.includes(wanted))) {
  const ends = [];
  const late = setTimeout(() => { console.log(`FAIL ${name}: it hangs`); process.exit(1); }, 30000);
  try {
    await f({ after: g => ends.unshift(g) });
    passed++;
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${e.stack}`);
  }
  clearTimeout(late);
  for (const g of ends) g();
}
console.log(`client: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
