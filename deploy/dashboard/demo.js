// demo.js: the page of `make demo-calls`: so many calls, and a target that bears 300 a second. It has
// nothing of its own in the manager: it is a client of the API, and without the demo's endpoint it
// shows nothing and orders nothing. What the target shall do stands in that endpoint's url
// (/demo/MODE/ROUND/BASE/CALLS), which the demo's program reads (deploy/demo_calls.py).
import { $, el, put, list, mark, number, rate } from './dom.js';
import * as api from './api.js';
import * as picture from './demo_picture.js';

const NAME = 'demo-calls', EVERY_MS = 1000;
let endpoint = null, pool = null, at = null, seen = [], busy = false;

/* ---- what is known ---- */

function read(url) {
  const m = /^http:\/\/127\.0\.0\.1:\d+\/demo\/(\w+)\/(\d+)\/(\d+)\/(\d+)$/.exec(url);
  return m && { mode: m[1], round: Number(m[2]), base: Number(m[3]), calls: Number(m[4]) };
}

function figures() {
  const answered = Math.max(0, Math.min(pool.succeeded - at.base, at.calls)), { running, scheduled, dead } = pool;
  const line = Math.max(0, at.calls - answered - dead - running - scheduled);
  return { line, way: running, again: scheduled, answered, dead };
}

/* ---- in words ---- */

const MODES = {
  slow: 'The target is slow, a second for each call: with 64 slots it gives 64 answers a second.',
  fail: 'The target fails.', busy: 'The target says 429: nothing goes before the moment that it named, and no attempt is spent.',
};

function why(f) {
  const left = f.line + f.way + f.again, wait = `${number(f.line + f.again)} wait. `;
  if (!at.calls) return 'The calls are about to come.';
  if (!left) return `All ${number(at.calls)} are over: ${number(f.answered)} were answered, ${f.dead ? number(f.dead) + ' are dead' : 'none was lost'}; ${number(pool.retried)} attempts were made again.`;
  if (endpoint.paused) return wait + 'The endpoint is paused: nothing is sent.';
  if (endpoint.open) return wait + 'The target is down: only a probe is sent now and then, and nobody’s attempts are spent.';
  if (endpoint.half_open) return wait + 'Some calls try whether the target is well; then more and more go.';
  if (MODES[at.mode]) return wait + MODES[at.mode];
  if (f.way >= endpoint.max_concurrent) return wait + 'As many are under way as the target bears at once.';
  return wait + 'The target bears 300 a second: each call goes when its turn has come.';
}

// Of the last seconds.
function pace() {
  const [a, b] = [seen[0], seen[seen.length - 1]];
  return seen.length > 1 ? rate(Math.max(0, b.n - a.n) / ((b.t - a.t) / 1000)) : '–';
}

const COUNTS = [['In line', '', f => number(f.line)], ['Under way', 'way', f => number(f.way)], ['Wait to try again', 'again', f => number(f.again)],
  ['Answered', 'answered', f => number(f.answered)], ['Dead', 'dead', f => number(f.dead)], ['Answers a second', 'pace', pace]];

function show() {
  const f = figures(), over = f.answered + f.dead;
  put($('why'), why(f));
  list($('counts'), COUNTS, c => c[0], c => el('li', { class: c[1] }, el('b'), el('span', {}, el('i'), c[0])), (e, c) => put(e.firstChild, c[2](f)));
  mark($('picture'), 'aria-label', COUNTS.map(c => `${c[0]}: ${c[2](f)}`).join(', '));
  picture.show(at.calls, { out: over + f.way + f.again, over, again: f.again, dead: f.dead }, EVERY_MS);
  showOrders(f);
}

/* ---- orders ---- */

async function order(todo, said) {
  busy = true;
  try {
    await todo();
    put($('done'), said);
    setTimeout(() => put($('done'), ''), 4000);
  } catch (e) {
    put($('done'), e.message);
  }
  busy = false;
}

const turn = (mode, round) => () => api.change('PATCH', 'endpoints/' + NAME,
  { url: endpoint.url.replace(/\/demo\/.*/, `/demo/${mode}/${round}/${at.base}/${at.calls}`) });

const ORDERS = [ // text, pressed, what it does, what is said
  [() => 'Slow', () => at.mode === 'slow', () => turn(at.mode === 'slow' ? 'well' : 'slow', at.round), () => at.mode === 'slow' ? 'It is as fast as it was.' : 'Each call takes a second.'],
  [() => 'Fail for 5 s', () => at.mode === 'fail', () => turn('fail', at.round), () => 'It fails for 5 s.'],
  [() => 'Say 429 for 5 s', () => at.mode === 'busy', () => turn('busy', at.round), () => 'It says 429 for 5 s.'],
  [() => endpoint.paused ? 'Resume' : 'Pause', () => endpoint.paused, () => () => api.change('POST', `endpoints/${NAME}/${endpoint.paused ? 'resume' : 'pause'}`), () => endpoint.paused ? 'Calls go on.' : 'No call begins.'],
  [() => 'Once more', () => null, () => turn(at.mode, at.round + 1), () => 'The same number of calls again.'],
];

function showOrders(f) {
  const isOver = at.calls > 0 && !f.line && !f.way && !f.again;
  list($('orders'), ORDERS, (o, i) => ORDERS.indexOf(o), o => el('button', { type: 'button', on: { click: () => busy || order(o[2](), o[3]()) } }), (e, o) => {
    put(e, o[0]());
    if (o[1]() !== null) mark(e, 'aria-pressed', String(Boolean(o[1]())));
    e.disabled = o[1]() === null && !isOver;
  });
}

/* ---- asking ---- */

function nothing(text) {
  put($('why'), text);
  for (const id of ['counts', 'orders']) $(id).replaceChildren();
}

async function look() {
  try {
    const live = await api.get('live?since=0&pool=' + NAME), t = performance.now();
    endpoint = live.tasks.endpoints.find(e => e.name === NAME) || null;
    pool = live.tasks.pools.find(p => p.pool === NAME) || null;
    at = endpoint && read(endpoint.url);
    put($('link'), 'live');
    if (!at || !pool) {
      seen = [];
      nothing('The demo does not run. Start it: make demo-calls');
    } else {
      seen = [...seen, { n: pool.succeeded, t }].slice(-4);
      show();
    }
  } catch (e) {
    put($('link'), 'not answered: ' + e.message);
  }
  setTimeout(look, EVERY_MS);
}

picture.begin($('picture'));
api.takeFragment().then(() => api.get('whoami')).then(look, () => nothing('Open the address that make demo-calls prints: it has the token in it.'));
