// tasks.js: the page of task queues: all pools in a table; below it the pool that is chosen, and a
// queue of it: its keys, its tasks. The address has what is shown: #tasks, #pool=ride/*&queue=ride/eu.
//
// From Grafana: figures in tables, right-aligned, in digits of one width, sparklines, and no more
// colour than there is trouble. From Linear: rows of one line, a click opens the details at the side
// and the list stays; an empty list says what to do next.
import { $, el, put, level, list, mark, number, rate, span, table, clock } from './dom.js';
import * as api from './api.js';
import { ask, p, say } from './ask.js';
import { tiles_show } from './draw.js';
import { address, wanted } from './task_door.js';
import { things } from './words.js';
import * as one from './task_page.js';
import { opens, askAddBudget, askAddEndpoint, askAddPool, askEndpointLimits, askPool, askProbe } from './task_forms.js';
import { bindsOf, endpointIsShut, endpointWord, heldBy, KINDS, limitsOf, partWord, poolSays, poolWord, rulesOf } from './task_words.js';

const EVERY_MS = 5000, ROWS = 20;
let live = null, pool = null;               // as in the last answer; the chosen one
let queue = '', kind = KINDS[0], sift = {}, pages = ['']; // the queue that is looked into, at which of its tasks, and
  // where the pages of their list begin, up to the one that is shown
let found = false; // that kind was chosen: by hand, or since there are some
let history = null, historyOf = '', queues = null, keys = null, tasks = null, lookedAt = 0, round = 0;

/* ---- what is wanted ---- */

const to = (pool, queue) => '#' + new URLSearchParams(queue ? { pool, queue } : { pool });

export function lookAnew() {
  lookedAt = 0;
  one.lookAnew();
}

/* ---- lists ---- */

// Of an answer that is not there yet, or was refused: none.
export const rowsOf = (answer, name) => (answer && answer[name]) || [];

// Below a list: nothing, or why it is empty; and what is not known.
export const below = (answer, rows, none) => !answer ? 'asking …'
  : answer.wrong ? answer.wrong
  : answer.away.length ? `${things(answer.away.length, 'partition')} did not answer.`
  : rows.length ? '' : none;

/* ---- all pools ---- */

const oldest = x => x.waiting ? span(x.oldest_ms) : '–';
const COUNTS = [['Waiting', x => number(x.waiting), 'n'], ['Oldest', oldest, 'n'], ['Running', x => number(x.running), 'n'],
  ['Delayed', x => number(x.scheduled), 'n'], ['Dead', x => number(x.dead), 'n']];
const POOLS = [
  ['Pool', x => x.pool, 'name', x => el('a', { href: to(x.pool) })],
  ['State', x => poolWord(x)[0]],
  ...COUNTS.slice(0, 2),
  ['Arrive', x => rate(x.accepted_per_s) + '/s', 'n'], ['Start', x => rate(x.started_per_s) + '/s', 'n'], ['End', x => rate(x.ended_per_s) + '/s', 'n'],
  ...COUNTS.slice(2),
  ['Held up by', x => heldBy(x) || '–'],
];

function showPools(pools) {
  $('tp-none').hidden = pools.length > 0;
  $('tp').hidden = !pools.length;
  table('tp', POOLS, pools, x => x.pool);
  for (const [i, e] of [...$('tp').tBodies[0].rows].entries()) {
    mark(e.firstChild.firstChild, 'aria-current', String(Boolean(pool) && pools[i].pool === pool.pool));
    mark(e.children[1], 'class', 'state ' + poolWord(pools[i])[1]);
    mark(e.children[9], 'class', pools[i].dead ? 'n warn' : 'n');
  }
}

/* ---- endpoints ---- */

const ENDPOINTS = [
  ['Endpoint', x => x.name, 'name', x => opens(x.name, askEndpointLimits)], ['State', x => endpointWord(x)[0]],
  ['Rate', x => x.rate_per_s ? rate(x.rate_per_s) + '/s' : 'any', 'n'], ['At once', x => x.adaptive ? number(x.adaptive) + ', adaptive' : x.max_concurrent ? number(x.max_concurrent) : 'any', 'n'],
  ['Under way', x => number(x.in_flight) + (x.held ? `, ${number(x.held)} held` : ''), 'n'], ['Succeeded', x => number(x.succeeded), 'n'], ['Failed', x => number(x.failed), 'n'],
  ['Mean time', x => x.succeeded + x.failed ? number(x.ms / (x.succeeded + x.failed)) + ' ms' : '–', 'n'], ['Limited by', x => bindsOf(x, live.tasks.pools)],
  ['URL', x => x.url || x.targets.map(t => `${t.url} ${t.state}`).join(', '), 'url'], ['Order', x => x.paused ? 'Resume …' : 'Pause …', 'name', x => el('button', { type: 'button', class: 'link', 'data-needs': 'operator', on: { click: () => askEndpoint(x.name) } })],
  ['Breaker', x => endpointIsShut(x) ? 'Reset …' : 'Trip …', 'name', x => el('button', { type: 'button', class: 'link', 'data-needs': 'operator', on: { click: () => askBreaker(x.name) } })],
  ['Try', x => endpointIsShut(x) ? 'Probe …' : '–', 'name', x => el('button', { type: 'button', class: 'link', 'data-needs': 'operator', on: { click: () => askProbe(x.name) } })],
];

function showEndpoints(endpoints) {
  $('endpoints').hidden = !endpoints.length;
  table('te', ENDPOINTS, endpoints, x => x.name);
  level('te', 1, i => 'state ' + endpointWord(endpoints[i])[1]);
  for (const [i, e] of [...$('te').tBodies[0].rows].entries()) e.lastChild.firstChild.disabled = !endpointIsShut(endpoints[i]);
}

function askEndpoint(name) {
  const e = live.tasks.endpoints.find(x => x.name === name);
  if (!e) return;
  ask(e.paused ? `Resume endpoint ${name}?` : `Pause endpoint ${name}?`, e.paused ? 'Resume it' : 'Pause it',
    [p(e.paused ? 'Its calls go on.' : 'No call of it begins; submissions go on, and calls under way end.')],
    () => api.change('POST', `endpoints/${api.enc(name)}/${e.paused ? 'resume' : 'pause'}`), e.paused ? `${name} is resumed.` : `${name} is paused.`);
}

function askBreaker(name) {
  const e = live.tasks.endpoints.find(x => x.name === name);
  if (!e) return;
  const shut = endpointIsShut(e);
  ask(shut ? `Reset endpoint ${name}?` : `Trip endpoint ${name}?`, shut ? 'Reset it' : 'Trip it',
    [p(shut ? `Its breaker closes, and failures are forgotten: it starts at 10 % of its rate. “Probe” tries it before.`
      : 'Its breaker opens until a reset, whatever the target says; submissions go on, and calls under way end.')],
    () => api.change('POST', `endpoints/${api.enc(name)}/${shut ? 'reset' : 'trip'}`), shut ? `${name} is reset.` : `${name} is tripped.`);
}

/* ---- a pool ---- */

const perS = h => h === null ? '–' : rate(h) + '/s';
// Of all attempts that have ended.
function failedWords(x) {
  const failed = x.retried + x.died, ended = failed + x.succeeded;
  return failed ? `${rate(100 * failed / ended)} % of all attempts, so far` : 'none so far';
}

const TILES = [ // as tiles_show() wants them
  ['Waiting', 'waiting', x => number(x.waiting), x => 'in line now'],
  ['Oldest', 'oldest_ms', oldest, () => 'the longest wait in line'],
  ['Arrive', 'accepted_per_s', (x, h) => perS(h), x => `${number(x.accepted)} so far`],
  ['Start', 'started_per_s', (x, h) => perS(h), x => `${number(x.started)} so far`],
  ['End', 'ended_per_s', (x, h) => perS(h), x => `${number(x.succeeded)} have succeeded`],
  ['Running', 'running', x => number(x.running), () => 'attempts under way'],
  ['Failed attempts', 'failed_per_s', (x, h) => perS(h), failedWords],
  ['Dead', null, x => number(x.dead), x => x.dead ? 'redrive or discard them' : 'nothing to redrive'],
];
const PARTS = [['Partition', x => String(x.partition), 'name', () => el('span')], ['Task node', x => x.node || '–'], ['State', x => partWord(x)[0]], ...COUNTS];

function showPool() {
  $('pool').hidden = !pool;
  if (!pool) return;
  const [word, is] = poolWord(pool);
  put($('tp-name'), pool.pool);
  put($('tp-state'), word);
  mark($('tp-state'), 'class', 'word ' + is);
  put($('tp-says'), poolSays(pool));
  put($('tp-rules'), pool.def ? rulesOf(pool, live.tasks.endpoints) : '');
  put($('tp-pause'), pool.paused ? 'Resume …' : 'Pause …');
  tiles_show($('tp-tiles'), TILES, pool, historyOf === pool.pool ? history : null);
  const parts = pool.partitions || [];
  put($('parts-sum'), `${things(parts.length, 'partition')} on ${things(new Set(parts.map(x => x.node).filter(Boolean)).size, 'task node')}`);
  table('parts', PARTS, parts, x => x.partition);
  level('parts', 2, i => 'state ' + partWord(parts[i])[1]);
}

function askPause() {
  const { pool: name, paused, running, waiting } = pool;
  ask(paused ? `Resume pool ${name}?` : `Pause pool ${name}?`, paused ? 'Resume it' : 'Pause it',
    [p(paused ? `Its tasks start again: ${waiting === 1 ? '1 waits' : number(waiting) + ' wait'}.`
      : `No task of it starts; submissions go on. ${running ? things(running, 'task') + ' that run go on to their end.' : 'No task of it runs.'}`)],
    () => api.change('PATCH', 'pools/' + api.enc(name), { paused: !paused }), paused ? `${name} is resumed.` : `${name} is paused.`);
}

/* ---- its queues ---- */

const QUEUES = [['Queue', x => x.queue, 'name', x => el('a', { href: to(pool.pool, x.queue) })], ['Waiting', x => number(x.waiting), 'n'],
  ['Running', x => number(x.running), 'n'], ['Dead', x => number(x.dead), 'n'], ['Stopped by', x => limitsOf(x) || '–']];

function showQueues() {
  const pattern = Boolean(pool) && pool.pool.endsWith('*');
  $('pool-queues').hidden = !pattern;
  if (!pattern) return;
  const rows = rowsOf(queues, 'queues');
  table('tqs', QUEUES, rows, x => x.queue);
  $('tqs').hidden = !rows.length;
  for (const e of $('tqs').tBodies[0].rows) mark(e.firstChild.firstChild, 'aria-current', String(e.dataset.key === queue));
  put($('tqs-none'), below(queues, rows, 'No queue of it has a task in line, or a dead one.'));
}

/* ---- a queue ---- */

const KEYS = [['Key', x => x.key || '(none)', 'name', () => el('span')], ['Waiting', x => number(x.waiting), 'n'], ['Running', x => number(x.running), 'n'],
  ['Stopped by', x => limitsOf(x) || '–'], ['Pinned', x => x.pinned ? 'pinned' : '–']];
const TASKS = [['Task', x => x.id, 'name', x => el('a', { href: one.toTask({ pool: pool.pool, queue }, x.id) })], ['Key', x => x.key || '–'],
  ['Attempts', x => number(x.attempts), 'n'], ['Since', x => x.entered_at ? clock(1000 * x.entered_at) : '–'], ['Because', x => x.because]];

// The queue's own figures are in the list of the busiest: all that has dead ones is.
function showRedrive() {
  const own = rowsOf(queues, 'queues').find(x => x.queue === queue);
  $('tq-redrive').hidden = !own || !own.redriving;
  if (own) put($('tq-redrive'), `A redrive goes on: its dead wait again, ${number(own.dead)} are still to come.`);
}

function showQueue() {
  $('tq').hidden = !pool || !queue;
  if ($('tq').hidden) return;
  put($('tq-name'), 'Queue ' + queue); // its pool may have the same name
  showRedrive();
  const hottest = rowsOf(keys, 'keys'), rows = rowsOf(tasks, 'tasks');
  table('keys', KEYS, hottest, x => x.key);
  $('keys').hidden = !hottest.length;
  put($('keys-none'), below(keys, hottest, 'No key has a task in line.'));
  list($('kinds'), KINDS, k => k[0], k => el('button', { type: 'button', on: { click: () => listAnew(() => { kind = k; }) } }, k[0]),
    (e, k) => mark(e, 'aria-pressed', String(k === kind)));
  table('tasks-of', TASKS, rows, x => x.id);
  $('tasks-of').hidden = !rows.length;
  put($('tasks-none'), below(tasks, rows, Object.keys(sift).length || pages.length > 1 ? 'None of them here.' : kind[2]));
  $('tasks-first').hidden = pages.length < 2;
  $('tasks-more').hidden = !tasks || !tasks.next;
}

// Other tasks of the queue, from the first page on.
function listAnew(choose) {
  choose();
  [found, pages, tasks] = [true, [''], null];
  showQueue();
  look();
}

// Only those of a key, with a label, of a time, or the one of a name.
function askSift() {
  if ($('sift-name').value.trim()) for (const id of ['key', 'label', 'since', 'until']) $('sift-' + id).value = ''; // it means one task
  const text = id => $('sift-' + id).value.trim(), at = id => text(id) && new Date(text(id)).toISOString();
  const is = { name: text('name'), key: text('key'), label: text('label'), since: at('since'), until: at('until') };
  listAnew(() => { sift = Object.fromEntries(Object.entries(is).filter(([, v]) => v)); });
}

const pathOf = word => `task-queues/${api.enc(queue)}/tasks${word}`;

// A long order is many calls: each changes so many tasks that its answer comes in time.
async function orderAll(word, query, goOn) {
  let n = 0, next = null, lost = 0;
  const path = pathOf('/' + word);
  do {
    const a = await api.change('POST', `${path}?${new URLSearchParams(next ? { ...query, after: next } : query)}`);
    n += a.tasks;
    lost += a.away.length;
    next = a.next;
  } while (next && goOn(`${things(n, 'task')} so far …`));
  if (lost) throw new api.Refused(503, `${things(n, 'task')}; ${things(lost, 'partition')} did not answer.`);
  return (next ? 'Stopped after ' : '') + things(n, 'task');
}

function askRedrive() {
  const text = $('redrive-n').value.trim(), per = Number(text);
  if (text && !(per >= 0.001)) return say('A rate is a number above 0.');
  ask(`Redrive all dead tasks of ${queue}?`, 'Redrive them',
    [p(`They wait in line again, with all of their attempts, ${text ? rate(per) + ' a second' : 'all at once'}.`), p('What made them fail should be mended first.')],
    goOn => orderAll('redrive', text ? { rate_per_s: text } : {}, goOn), said => `${said} of ${queue} ${text ? `wait again, ${rate(per)} a second` : 'wait again'}.`);
}

function askStop() {
  ask(`Stop the redrive of ${queue}?`, 'Stop it', [p('Tasks that wait again stay in line; the others stay dead.')],
    goOn => orderAll('stop', {}, goOn), () => `The redrive of ${queue} is stopped.`);
}

function askDiscard() {
  ask(`Discard all dead tasks of ${queue}?`, 'Discard them', [p('All dead tasks of the queue, and their payloads, are gone for good. There is no undo.')],
    goOn => orderAll('discard', {}, goOn), said => `${said} discarded.`, queue);
}

function askCancel() {
  const key = $('cancel-key').value.trim();
  ask(`Cancel ${key ? `all tasks of key ${key}` : 'ALL tasks'} of ${queue}?`, 'Cancel them', [p('No attempt of them begins any more; one that runs is its last. There is no undo.')],
    goOn => orderAll('cancel', key ? { key } : {}, goOn), said => `${said} cancelled.`, queue);
}

/* ---- asking ---- */

// The answer; of a question that was refused, what is wrong with it: its list says so.
export const answerOf = path => api.get(path).catch(e => ({ wrong: e instanceof api.Refused ? e.message : 'No answer: ' + e.message, away: [] }));

const askTasks = states => {
  const after = pages[pages.length - 1];
  return answerOf(pathOf('?' + new URLSearchParams({ n: ROWS, state: states, ...sift, ...(after ? { after } : {}) })));
};

// A queue opens on what there is: the dead, those that wait ...; the rest of the answers as they come.
async function firstTasks(mine) {
  for (const k of KINDS) {
    const t = await askTasks(k[1]);
    if (mine !== round) return null;
    if (!rowsOf(t, 'tasks').length && !t.wrong) continue;
    [kind, found] = [k, true];
    return t;
  }
  kind = KINDS[1];
  return askTasks(kind[1]);
}

// What live has not: the history of the pool, its queues, a queue's keys and tasks.
async function look() {
  lookedAt = Date.now();
  const mine = ++round, name = pool.pool, q = queue;
  const [h, qs, k, t] = await Promise.all([
    answerOf('history?pool=' + api.enc(name)),
    answerOf(`task-queues/busiest?pool=${api.enc(name)}&top=20`),
    q ? answerOf(pathOf('/keys?top=20')) : null,
    !q ? null : found ? askTasks(kind[1]) : firstTasks(mine),
  ]);
  if (mine !== round) return; // another question is younger
  [history, historyOf, queues, keys, tasks] = [h.wrong ? null : h, name, qs, k, t];
  showAll();
}

export async function lookCloser() {
  if (address().has('task')) return one.look();
  if (pool && Date.now() - lookedAt >= EVERY_MS) await look();
}

function showAll() {
  showPool();
  showQueues();
  showQueue();
}

export function show(now) {
  const want = wanted();
  live = now;
  one.show(address().get('task') || '');
  pool = live.tasks.pools.find(x => x.pool === want.pool) || null;
  if (want.queue !== queue || (pool && historyOf && historyOf !== pool.pool)) {
    [queue, found, pages, sift, keys, tasks, queues, lookedAt] = [want.queue, false, [''], {}, null, null, historyOf === want.pool ? queues : null, 0];
    historyOf = historyOf === want.pool ? historyOf : '';
  }
  put($('tp-unknown'), want.pool && !pool ? `There is no pool ${want.pool}.` : '');
  showPools(live.tasks.pools);
  showEndpoints(live.tasks.endpoints);
  showAll();
}

export function begin() {
  const form = (id, fn) => $(id).addEventListener('submit', e => { e.preventDefault(); fn(); });
  $('tp-pause').addEventListener('click', askPause);
  $('tp-edit').addEventListener('click', () => askPool(pool.pool).catch(e => say(e.message)));
  $('add-pool').addEventListener('click', () => askAddPool(live.tasks.endpoints, name => { location.hash = to(name); }));
  $('add-endpoint').addEventListener('click', askAddEndpoint);
  $('add-budget').addEventListener('click', askAddBudget);
  $('redrive-stop').addEventListener('click', askStop);
  $('discard').addEventListener('click', askDiscard);
  $('tasks-more').addEventListener('click', () => { pages.push(tasks.next); tasks = null; showQueue(); look(); });
  $('tasks-first').addEventListener('click', () => listAnew(() => {}));
  form('f-sift', askSift);
  form('f-redrive', askRedrive);
  form('f-cancel', askCancel);
  form('f-queue', () => { if ($('queue-name').value.trim()) location.hash = to(pool.pool, $('queue-name').value.trim()); });
  form('f-task', () => { if ($('task-name').value.trim()) location.hash = one.toTask({}, $('task-name').value.trim()); });
}
