// client.js BASE QUEUE: what the snippet of docs/game.md does, run by the tests: joins, polls as
// told, prints the pass.
'use strict';

// That page shows this function; the test compares the two, letter by letter.
async function waitForPass(base, queue) {
  const pause = ms => new Promise(done => setTimeout(done, ms));
  const ask = async (path, options) => {
    for (;;) {
      try {
        const r = await fetch(base + path, options);
        if (r.status !== 503 && r.status !== 429) return r;
        await pause(1000 * Number(r.headers.get('Retry-After') || 1));
      } catch (e) { await pause(1000); }
    }
  };
  let r = await ask(`/v1/queues/${queue}/tickets`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"client":"browser"}',
  });
  for (;;) {
    const t = await r.json();
    if (t.state === 'admitted') return t.pass;
    if (!r.ok) throw new Error(t.detail);
    await pause(t.poll_after_ms);
    r = await ask('/v1/tickets/' + t.token);
  }
}

waitForPass(process.argv[2], process.argv[3]).then(
  pass => console.log(pass),
  e => { console.error(e.message); process.exit(1); });
