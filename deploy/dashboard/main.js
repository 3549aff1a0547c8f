// main.js: asks once a second while the page is visible, and shows the answer.
import { $, el, put, list, mark, number, rate, span, clock } from './dom.js';
import * as api from './api.js';
import * as ask from './ask.js';
import * as controls from './controls.js';
import * as tasks from './task_door.js';
import { gauges_show, tiles_show } from './draw.js';
import * as graph from './graph.js';
import * as happened from './events.js';
import { nodes_show } from './nodes.js';
import { problem, problemsOf } from './problems.js';
import { hearMoves, lanes_show } from './strip.js';
import { poolsSum, tasksProblems } from './task_words.js';
import { bySlots, etaOf, inLine, knowMetrics, limitWords, saysOf, slotWords, stateOf, sumOf, sumOfAll, wordOf } from './words.js';

const EVERY_MS = 1000, OLD_MS = 4000, KEPT_EVENTS = 400;
let chosen = location.hash.startsWith('#queue=') ? decodeURIComponent(location.hash.slice(7)) : '';
let timer, first = true, known = false, looking = false, answeredAt = 0, wrong = '', events = [], since = 0, live = null, auditAt = 0, me = {};

/* ---- signing in ---- */

function askToken(why) {
  clearTimeout(timer);
  $('all').hidden = true;
  $('sign').hidden = false;
  $('out').hidden = true;
  put($('refused'), why);
  put($('me'), '');
  delete document.body.dataset.role;
  $('who').value = api.who();
  $('token').focus();
  answeredAt = 0;
  stale();
}

// Whoever has a session already is asked for nothing.
async function signIn(how) {
  try {
    await how();
    put($('refused'), '');
    begin();
  } catch (e) {
    api.forget();
    askToken(e.status !== 401 || / has ended/.test(e.message) ? e.message : 'queuemng does not know this token.');
  }
}

const WITHOUT = { viewer: 'orders are not shown', operator: 'definitions, flush, delete and forget are not shown' };

// Who is signed in, by a token or by a proxy: what it is not for is not offered, and this line says so.
function showMe(it) {
  me = it;
  const part = ['queues', 'pools'].map(k => `${k} ${me[k].join(', ') || 'none'}`).join('; ');
  document.body.dataset.role = me.role;
  document.body.toggleAttribute('data-part', !me.all);
  put($('me'), `${me.name}, ${me.role}` + (WITHOUT[me.role] ? `: ${WITHOUT[me.role]}` : '') + (me.all ? '' : ` (for ${part}; orders to nodes need a token for all)`));
}

function begin() {
  wrong = '';
  known = false;
  $('sign').hidden = true;
  $('all').hidden = false;
  $('out').hidden = false;
  look();
}

/* ---- asking ---- */

async function look() {
  clearTimeout(timer);
  if (looking || !api.isIn()) return;
  looking = true;
  try {
    if (!known) showMe(await api.get('whoami')); // what is shown is what may be done
    known = true;
    const q = chosen ? '&queue=' + api.enc(chosen) : '';
    live = await api.get(`live?since=${since}&find=${api.enc($('find').value)}${q}&pool=${api.enc(tasks.wanted().pool)}`);
    answeredAt = Date.now();
    first = false;
    if (!chosen || !live.queue) choose((live.queues[0] || {}).queue || '');
    knowMetrics(live.metrics);
    take(live.events);
    show();
    await Promise.all([lookAtAudit(), tasks.isShown() ? tasks.look() : graph.look(chosen).then(showTiles)]);
    wrong = '';
  } catch (e) {
    await noAnswer(e);
  }
  looking = false;
  stale();
  if (api.isIn() && !document.hidden && $('sign').hidden) timer = setTimeout(look, EVERY_MS);
}

async function noAnswer(e) {
  wrong = e.message;
  if (e.status === 401) {
    api.forget();
    askToken(me.by === 'proxy' ? 'Reload this page.' : first && !/proxy/.test(e.message) ? '' : e.message);
  } else if (e.status === 307) {
    await showLeader().catch(() => {});
  }
}

async function showLeader() {
  const m = await api.get('manager');
  answeredAt = Date.now();
  mark($('verdict'), 'class', 'warn');
  put($('word'), 'This manager is a standby');
  put($('sum'), '');
  const to = m.leader ? m.leader.admin : '';
  list($('problems'), [to], x => x, () => el('li', {}, to
    ? el('a', { href: to + '/' }, 'The leader’s dashboard: ' + to)
    : 'No manager leads at present.'), () => {});
  $('columns').hidden = true;
}

async function lookAtAudit() {
  if (Date.now() - auditAt < 5000) return;
  auditAt = Date.now();
  try {
    happened.hearAudit((await api.get('audit?n=' + happened.auditWanted())).entries);
  } catch (e) {
    auditAt = 0; // it is asked again at once
    throw e;
  }
}

function take(more) {
  if (live.events_last < since) events = []; // another manager, or a new one
  if (since) hearMoves(more);
  events.push(...more);
  events = events.slice(-KEPT_EVENTS);
  since = live.events_last;
}

function stale() {
  const old = Date.now() - answeredAt;
  const late = answeredAt > 0 && old > OLD_MS;
  document.body.classList.toggle('stale', late);
  put($('link'), !$('sign').hidden ? '' : late ? `NO ANSWER from queuemng for ${span(old)}: what is shown is old${wrong ? ` (${wrong})` : ''}`
    : wrong ? 'not answered: ' + wrong : answeredAt ? 'live' : 'asking …');
  if (!late) return;
  mark($('verdict'), 'class', 'bad');
  put($('word'), 'NO ANSWER from queuemng');
  put($('sum'), `What is shown is from ${clock(answeredAt)}.`);
}

function choose(name) {
  chosen = name;
}

/* ---- showing ---- */

function show() {
  $('columns').hidden = false;
  put($('manager'), `${live.manager}, epoch ${live.epoch}`);
  showVerdict();
  showQueues();
  showQueue(live.queue);
  tasks.show(live);
  graph.show(live);
  nodes_show(live, tasks.isShown());
  graph.hear(events, tasks.isShown() ? tasks.wanted().pool : chosen);
  happened.hearEvents(events);
  document.title = $('word').textContent + ' · segq';
}

const PROBLEMS = 8; // lines of them
const WORD = { good: 'ALL WELL', warn: 'WARNING', bad: 'TROUBLE' };

function showVerdict() {
  const v = problemsOf(live, tasksProblems(live.tasks)), level = v.length ? v[0].level : 'good', more = v.length - PROBLEMS;
  mark($('verdict'), 'class', level);
  put($('word'), WORD[level]);
  put($('sum'), tasks.isShown() ? poolsSum(live.tasks.pools) : live.queues_total > 1 ? sumOfAll(live.all, live.queues_total) : live.queue ? sumOf(live.queue) : 'There is no queue.');
  list($('problems'), more > 0 ? [...v.slice(0, PROBLEMS), problem('', 'more', '', `and ${number(more)} more`)] : v, x => `${x.level} ${x.kind}/${x.name}`, () => el('li'), (e, x) => put(e, x.says));
}

// The busiest first; none moves away from under a pointer, or the focus.
let order = [];
function inOrder(queues) {
  const at = q => { const i = order.indexOf(q.queue); return i < 0 ? order.length : i; };
  if (!$('queues').matches(':hover,:focus-within')) order = queues.map(q => q.queue);
  return [...queues].sort((a, b) => at(a) - at(b));
}

function showQueues() {
  $('finder').hidden = live.queues_total < 8 && !$('find').value;
  list($('queues'), inOrder(live.queues), q => q.queue,
    q => el('li', {}, el('button', { on: { click: () => { choose(q.queue); look(); } } }, el('b'), el('span'), el('small'))),
    (e, q) => {
      const [name, state, small] = e.firstChild.children;
      mark(e.firstChild, 'aria-pressed', String(q.queue === chosen));
      put(name, q.queue);
      const [word, level] = wordOf(q);
      put(state, word);
      mark(state, 'class', level);
      put(small, `${number(inLine(q))} wait, ${rate(q.rate_per_s)}/s go in`);
    });
  const more = live.queues_total - live.queues.length;
  put($('more'), more > 0 && !$('find').value ? `and ${number(more)} quieter ones: find them by name` : '');
}

function showQueue(q) {
  for (const s of document.querySelectorAll('#graph,#limits,#limit-now,#open-drawer,#q-events')) s.hidden = !q;
  controls.show(q, live);
  if (!q) {
    put($('q-name'), 'No queue');
    put($('q-state'), '');
    put($('q-says'), 'Make one: Add a queue, segqctl queue add NAME, or in queuemng.yaml.');
    return;
  }
  const [word, level] = wordOf(q);
  put($('q-name'), q.queue);
  put($('q-state'), word);
  mark($('q-state'), 'class', 'word ' + level);
  put($('q-says'), saysOf(q));
  showTiles();
  put($('limit-now'), q.state === 'open' ? `Now: ${limitWords(q.limited_by)}.` +
    (bySlots(q) ? ` Slots: ${slotWords(q)}.` : '') +
    (q.def.release_per_s > 0 ? ` The rate is fixed at ${rate(q.def.release_per_s)} a second; the metrics are not looked at.` : '')
    : stateOf(q.state)[2] + '.');
  gauges_show($('limits'), q, live.metrics);
  lanes_show($('lanes'), q.lanes, live.moves);
}

const perS = column => q => { const v = graph.lastOf(q.queue, column); return v === null ? '–' : rate(v) + '/s'; };
const TILES = [ // as tiles_show() wants them
  ['Waiting', null, q => number(inLine(q)), () => 'in line now'],
  ['Wait', null, q => etaOf(q)[0], q => etaOf(q)[1]],
  ['Arrivals', null, perS('joined_per_s'), q => `${number(q.joined)} so far`],
  ['Let in', null, q => rate(q.rate_per_s) + '/s', q => `${number(q.released)} since this manager leads`],
  ['May go in', null, q => q.mode === 'slots' ? 'slots' : rate(q.allowed_per_s) + '/s', q => 'by ' + limitWords(q.limited_by)],
  ['Inside', null, q => number(q.inside), q => q.mode === 'rate' ? `${number(q.ready)} have to collect the pass` : `of at most ${number(q.max_active)}`],
  ['Did not come', null, perS('no_shows_per_s'), q => `${number(q.no_shows)} so far`],
  ['Left the line', null, perS('left_per_s'), q => `${number(q.left + q.expired)} so far, ${number(q.expired)} fell silent`],
];

function showTiles() {
  if (live.queue) tiles_show($('tiles'), TILES, live.queue, null);
}

/* ---- start ---- */

$('in').addEventListener('submit', e => {
  e.preventDefault();
  signIn(() => api.sign($('token').value, $('who').value));
  $('token').value = '';
});
$('out').addEventListener('click', async () => {
  askToken('');
  put($('refused'), await api.signOut());
  if (me.sign_out) location.assign(me.sign_out); // the proxy's
});
$('find').addEventListener('input', () => look());
document.addEventListener('visibilitychange', () => document.hidden || look());
addEventListener('hashchange', () => { if (live && $('sign').hidden) show(); if (location.hash.startsWith('#token=')) signIn(api.takeFragment); else if (api.isIn()) begin(); });
setInterval(stale, EVERY_MS);
document.addEventListener('look', look);
document.addEventListener('sift', () => { auditAt = 0; });
$('q-events').addEventListener('click', () => live.queue && happened.showOnly(live.queue.queue));
ask.begin(() => { auditAt = 0; tasks.lookAnew(); look(); });
controls.begin(choose);
graph.begin();
happened.begin();
signIn(api.takeFragment);
