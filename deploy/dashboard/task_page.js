// task_page.js: the page of one task, #task=ID: where it is, what was tried, what it carries, and what may be
// done with it. Payload and result are asked for by hand: who has read them is noted.
import { $, el, put, level, mark, number, table, clock } from './dom.js';
import * as api from './api.js';
import { ask, p, say } from './ask.js';
import { area } from './forms.js';
import { orderOf, tookOf } from './task_words.js';
import { things, upper } from './words.js';

const EVERY_MS = 2000, SHOWN = 65536, OVER = /^(dead|succeeded|cancelled|expired)$/, FOLD = 200, HEX = 256;
let id = '', task = null, body = null, wrong = '', lookedAt = 0, round = 0;

export const toTask = (of, id) => '#' + new URLSearchParams({ ...of, task: id });
const may = role => document.body.dataset.role === 'admin' || document.body.dataset.role === role;
const moment = s => s ? clock(1000 * s) : '';
const size = n => n < 2048 ? things(n, 'byte') : n < 2097152 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`;

/* ---- the page: made once ---- */

const heading = (id, text) => el('h3', { id }, text);
const tableOf = id => el('table', { id }, el('thead', {}, el('tr')), el('tbody'));

function make() {
  $('tasks').append(el('section', { id: 'one', 'aria-labelledby': 'task-head', hidden: true },
    el('p', {}, el('a', { id: 'task-back' })),
    el('div', { class: 'title' }, el('h2', { id: 'task-head', class: 'name' }), el('p', { id: 'task-state' }), el('div', { id: 'task-orders', class: 'row' })),
    el('p', { id: 'task-says', role: 'status' }),
    el('div', { id: 'task-all' },
      el('div', { id: 'task-progress' }), el('dl', { id: 'task-lines' }),
      heading('th-head', 'What was tried'), tableOf('th'), el('p', { id: 'th-none', class: 'none' }),
      heading('task-body-head', 'Payload and result'), el('div', { id: 'task-body' }))));
}

/* ---- its lines ---- */

const line = (name, text) => text === null || text === undefined || text === '' ? []
  : [el('dt', {}, name), el('dd', {}, text instanceof Node ? text : String(text))];
const link = id => id ? el('a', { href: toTask({}, id) }, id) : '';
const because = t => t.because.replace(/\b(ends_at|limited_until)\b/, key => moment(t[key]) || key);
const traceOf = () => {
  const field = Object.entries((body && body.request && body.request.headers) || {}).find(([k]) => /^traceparent$/i.test(k));
  return field ? field[1].split('-')[1] || field[1] : '';
};

const linesOf = t => [
  ...line('Place', t.position ? `${number(t.position)} in its queue, ${number(t.ahead_of_key)} before it in its key` : ''),
  ...line('Queue', t.queue), ...line('Pool', t.pool), ...line('Key', t.key),
  ...line('Limited by', t.limited_by), ...line('Until', moment(t.limited_until)), ...line('Since', moment(t.entered_at)),
  ...line('Started', moment(t.started_at)), ...line('Ended', moment(t.ended_at)), ...line('Ends', moment(t.ends_at)),
  ...line('Attempts', number(t.attempts)), ...line('Priority', t.priority), ...line('Cost', t.cost), ...line('Labels', t.labels.join(', ')),
  ...line('Made of', link(t.after)), ...line('Then', t.then_task ? link(t.then_task) : t.then), ...line('Trace', traceOf()),
  ...line('Target', t.target), ...line('Task node', t.node), ...line('Token', t.task),
];

// What its worker has said.
function progressOf(x) {
  if (!x) return [];
  const known = x.percent !== undefined, words = [known ? `${x.percent} %` : '', x.text || '', `said ${moment(x.at)}`].filter(Boolean).join('; ');
  return [...known ? [el('progress', { max: 100, value: x.percent, 'aria-label': 'Progress of the task' })] : [], el('p', {}, words), ...x.data === undefined ? [] : [treeOf(x.data)]];
}

const HISTORY = [
  ['Attempt', h => h.attempt ? String(h.attempt) : 'End', 'name', () => el('span')], ['Ended by', h => h.end + (h.status ? ' ' + h.status : '')],
  ['Started', h => moment(h.started_at) || '–', 'n'], ['Took', h => tookOf(h) || '–', 'n'], ['Again from', h => moment(h.retry_at) || '–', 'n'], ['Reason', h => h.reason || '–'],
];

function showHistory(t) {
  const rows = t.history || [];
  $('th').hidden = !rows.length;
  table('th', HISTORY, rows, h => `${h.attempt} ${h.ended_at}`);
  level('th', 1, i => /^(ack|succeeded|ok)/.test(rows[i].end) ? '' : 'warn');
  put($('th-none'), t.earlier_attempts ? `${things(t.earlier_attempts, 'attempt')} before these.` : rows.length ? '' : 'No attempt of it has ended.');
}

/* ---- payload and result ---- */

// A value, folded: what is short stands open.
function treeOf(v, open) {
  if (v === null || typeof v !== 'object') return el('code', {}, JSON.stringify(v));
  const all = Object.entries(v), text = JSON.stringify(v), kind = Array.isArray(v) ? things(all.length, 'item') : things(all.length, 'member');
  if (!all.length) return el('code', {}, text);
  return el('details', { class: 'json', open: open || text.length < FOLD },
    el('summary', {}, kind), el('dl', {}, ...all.flatMap(([k, x]) => [el('dt', {}, k), el('dd', {}, treeOf(x))])));
}

function hexOf(base64) {
  const bytes = [...atob(base64)].slice(0, HEX).map(c => c.charCodeAt(0)), lines = [];
  for (let i = 0; i < bytes.length; i += 16) {
    const row = bytes.slice(i, i + 16);
    lines.push(i.toString(16).padStart(4, '0') + '  ' + row.map(b => b.toString(16).padStart(2, '0')).join(' ').padEnd(47) + '  ' +
      row.map(b => b > 31 && b < 127 ? String.fromCharCode(b) : '.').join(''));
  }
  return lines.join('\n');
}

function valueOf(text) {
  try {
    return treeOf(JSON.parse(text), true);
  } catch {
    return null;
  }
}

const raw = text => el('pre', { tabindex: 0, 'aria-label': 'The bytes as they are' }, el('code', {}, text));

// Bytes of it, with what they are.
function shownOf(name, b, none) {
  const head = el('h4', {}, name);
  if (!b) return [head, p(none)];
  const is = p(`${size(b.length)}, ${b.content_type || 'of no type'}` + (!b.data ? b.length ? '; in a file of its own, not shown' : '' : b.truncated ? '; the begin of it' : ''));
  if (!b.data) return [head, is];
  if (b.encoding === 'base64') return [head, is, raw(hexOf(b.data))];
  const tree = /json/.test(b.content_type) && !b.truncated ? valueOf(b.data) : null;
  return [head, is, ...tree ? [tree, el('details', {}, el('summary', {}, 'As it is'), raw(b.data))] : [raw(b.data)]];
}

function bodyParts() {
  if (!may('operator')) return [p('An operator may read them.')];
  if (!body) return [p('Who reads them is noted.'), el('button', { type: 'button', id: 'task-read', on: { click: () => read().catch(e => say(e.message)) } }, 'Show payload and result')];
  const r = body.request;
  return [
    ...r ? [el('h4', {}, 'Request'), raw([`${r.method} ${r.path}`, ...Object.entries(r.headers || {}).map(([k, v]) => `${k}: ${v}`)].join('\n'))] : [],
    ...shownOf('Payload', body.payload, body.why || (task.state === 'succeeded' ? 'It has succeeded: its result stands in its place.' : 'None is kept.')),
    ...shownOf(body.status ? `Result, status ${body.status}` : 'Result', body.result, 'There is none.'),
  ];
}

async function read() {
  const of = id, b = await api.get(`tasks/${api.enc(of)}/payload?bytes=${SHOWN}`);
  if (of !== id) return;
  body = b;
  $('task-body').replaceChildren(...bodyParts());
  showLines();
}

/* ---- orders ---- */

function orderOne(t, verb) {
  const [, yes, does, done] = orderOf[verb];
  ask(`${yes}?`, yes, [p(`Task ${t.id} of ${t.queue}. ${does}`)], async () => {
    await api.change('POST', `tasks/${api.enc(t.id)}/${verb}`);
    lookedAt = 0;
    if (verb === 'discard') location.hash = $('task-back').hash;
  }, done, verb === 'discard' ? t.id : '', /^(cancel|discard)$/.test(verb));
}

const base64 = text => btoa(Array.from(new TextEncoder().encode(text), b => String.fromCharCode(b)).join(''));

// Another task like it, with what stands in the field.
async function askAnother(t) {
  if (!body) await read();
  const b = body.payload, whole = b && b.encoding === 'text' && !b.truncated && !b.data.includes('\r'), isCall = Boolean(body.request), json = !b || /json/.test(b.content_type);
  const text = area('payload', isCall ? 'Body of the request' : 'Payload', json ? 'JSON' : b.content_type, whole ? b.data : '', { rows: 12, spellcheck: 'false' });
  const why = whole ? [] : [p(b ? 'What it carries is no text, has CR, or is too long to be edited here: begin anew, or take segqctl task redrive --payload FILE.' : 'Its payload is not kept: begin anew.')];
  ask('Make another task of it?', 'Make it', [p(`Of task ${t.id} of ${t.queue}: the same queue, key, priority and rules. The old one stays, and the new one says of which it was made.`), ...why, text],
    () => {
      const v = text.control.value;
      if (json && !isCall) try { JSON.parse(v); } catch { throw new api.Refused(0, 'That is no JSON.'); }
      return api.change('POST', `tasks/${api.enc(t.id)}/redrive`, { payload_base64: base64(v), ...isCall ? {} : { content_type: json ? 'application/json' : b.content_type } });
    }, made => { location.hash = toTask({}, made.id); return `Task ${made.id} is made of ${t.id}.`; });
  text.addEventListener('input', () => put($('ask-why'), ''));
  $('ask').classList.add('form');
}

function ordersOf(t) {
  const verbs = Object.keys(orderOf).filter(v => orderOf[v][4].test(t.state));
  const one = (text, role, danger, fn) => el('button', { type: 'button', class: danger ? 'danger' : '', 'data-needs': role, on: { click: fn } }, text);
  return [
    ...verbs.filter(v => v !== 'discard').map(v => one(orderOf[v][0], 'operator', v === 'cancel', () => orderOne(t, v))),
    ...OVER.test(t.state) ? [one('Redrive with another payload …', 'operator', false, () => askAnother(t).catch(e => say(e.message)))] : [],
    ...verbs.filter(v => v === 'discard').map(v => one(orderOf[v][0], 'admin', true, () => orderOne(t, v))),
  ];
}

/* ---- the page ---- */

function showLines() {
  $('task-lines').replaceChildren(...linesOf(task));
}

let ordersFor = '';
function showTask() {
  put($('task-head'), 'Task ' + (task ? task.id : id));
  put($('task-says'), wrong || (task ? upper(because(task)) + '.' : 'asking …'));
  $('task-all').hidden = !task;
  put($('task-state'), task ? task.state.toUpperCase() + (task.stopping ? ', being cancelled' : '') : '');
  mark($('task-state'), 'class', 'word ' + (task && task.state === 'dead' ? 'bad' : task && task.state === 'succeeded' ? 'good' : 'plain'));
  const back = $('task-back');
  put(back, task ? `Queue ${task.queue}` : 'All pools');
  mark(back, 'href', task ? '#' + new URLSearchParams({ pool: task.pool, queue: task.queue }) : '#tasks');
  const of = task ? `${task.id} ${task.state} ${document.body.dataset.role}` : '';
  if (of !== ordersFor) $('task-orders').replaceChildren(...task ? ordersOf(task) : []); // they keep the focus
  ordersFor = of;
  if (!task) return;
  $('task-progress').replaceChildren(...progressOf(task.progress));
  showLines();
  showHistory(task);
}

// id '': another page is shown.
export function show(now) {
  if (!$('one')) make();
  for (const e of $('tasks').children) e.style.display = now && e.id !== 'one' ? 'none' : '';
  $('one').hidden = !now;
  if (now === id) return;
  [id, task, body, wrong, lookedAt] = [now, null, null, '', 0];
  if (!now) return;
  $('task-body').replaceChildren(...bodyParts());
  showTask();
  scrollTo(0, 0);
}

export function lookAnew() {
  lookedAt = 0;
}

export async function look() {
  if (Date.now() - lookedAt < EVERY_MS) return;
  const mine = ++round, of = id;
  lookedAt = Date.now();
  try {
    const t = await api.get('tasks/' + api.enc(of));
    if (mine !== round || of !== id) return;
    if (task && task.state !== t.state && body) body = null; // a result may be there now
    const first = !task || task.state !== t.state;
    [task, wrong] = [t, ''];
    if (first) $('task-body').replaceChildren(...bodyParts());
  } catch (e) {
    if (!(e instanceof api.Refused)) throw e;
    if (of !== id) return;
    [task, wrong] = [null, e.message];
  }
  showTask();
}
