#!/usr/bin/env node
// conformance_page.js: segq.js, the script of pages, in Node behind the line protocol of clients/conformance/README.md.
'use strict';
const readline = require('readline');
const Segq = require('./segq.js');

const STATUS = { queue_not_found: 404, queue_closed: 403, other_device: 403, not_eligible: 403, bad_request: 400 };
const opened = {};  // routers, by the number of the question

const say = line => process.stdout.write(JSON.stringify(line) + '\n');
const api = (type, status, code, reason) => ({ kind: 'api', type, status, code, reason, detail: code });

/* Waits until news(ticket, done) calls done, or the client says that there is nothing to wait for. */
function wait(routers, options, seconds, news) {
  return new Promise((ok, fail) => {
    const line = new Segq(Object.assign({ routers, storage: null, client: 'game' }, options));
    const late = seconds && setTimeout(() => { line.stop(); fail({ kind: 'deadline', detail: 'no time is left' }); }, seconds * 1000);
    const end = (f, v) => { clearTimeout(late); line.stop(); f(v); };
    line.on('ticket', t => news(t, v => end(ok, v), line));
    line.on('gone', why => end(fail, why === 'unknown' ? api(why, 404, 'ticket_unknown') : api(why, 410, 'ticket_gone', why)));
    line.on('refused', code => end(fail, api('refused', STATUS[code], code)));
    line.start();
  });
}

const verbs = {
  async open(id, a) { opened[id] = a.routers; },
  wait_pass(id, a) {
    return wait(opened[a.client], { queue: a.queue, token: a.token, device: a.device, subject: a.subject, lane: a.lane, claim: a.claim }, a.timeout_s, (t, done, line) => {
      say({ id, event: { token: t.token, device: line.device, state: t.state, position: t.position, eta_s: t.eta_s } });
      if (t.state === 'admitted') done({ token: t.token, pass: t.pass });
    });
  },
  poll(id, a) {
    return wait(opened[a.client], { queue: '', token: a.token, device: a.device }, 0,
      (t, done, line) => done({ state: t.state, position: t.position, pass: t.pass, device: line.device }));
  },
  leave(id, a) { return new Segq({ queue: '', routers: opened[a.client], storage: null, token: a.token, device: a.device }).leave(); },
};

readline.createInterface({ input: process.stdin }).on('line', text => {
  const a = JSON.parse(text);
  Promise.resolve().then(() => verbs[a.do](a.id, a)).then(
    ok => say({ id: a.id, ok: ok === undefined ? null : ok }),
    e => say({ id: a.id, error: e.kind ? e : { kind: 'other', type: e.name, detail: String(e) } }));
}).on('close', () => process.exit(0));
