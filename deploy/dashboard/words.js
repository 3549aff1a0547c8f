// words.js: what the figures mean, in words that can be understood at three in the morning.
import { clock, number, rate, span } from './dom.js';

export const STATES = { // word, how it is shown, what it means, the order; else the state's name
  open: ['OPEN', 'good', 'people join, and are let in', 'Open'],
  paused: ['PAUSED', 'warn', 'people join and wait, nobody is let in', 'Pause'],
  closed: ['CLOSED', 'warn', 'no new joins; those in line are let in', 'Close'],
  passthrough: ['PASSTHROUGH', 'warn', 'everybody goes straight in, nobody waits', 'Let everybody pass'],
  reject: ['REJECT', 'bad', 'joins are refused and nobody is let in; those in line keep their places', 'Reject'],
};
export const DANGEROUS = new Set(['passthrough', 'reject']); // states that are asked with the name typed
export const stateOf = name => STATES[name] || [name.toUpperCase(), 'warn', name, name];
// By the clock: its state is open, and yet it is too early, or too late.
export const offHours = q => q.state === 'open' && q.limited_by === 'not_open';
export const wordOf = q => offHours(q) ? ['NOT OPEN', 'warn', 'the clock says so'] : stateOf(q.state);
export const isOpen = q => q.state === 'open';

const LIMITS = {
  fixed: 'a fixed rate', fallback: 'the fallback rate: a metric is missing', no_limits: 'the fallback rate: no metric limits it',
  paused: 'the pause', slots: 'the free slots', flushed: 'passes from before the flush', not_open: 'the clock: it is not open now',
  max_rise: 'how fast the rate may rise', recovery: 'a segment being recovered',
};
let metrics = new Set();
export const knowMetrics = v => { metrics = new Set(v.map(m => m.name)); };
// A later queuemng may have words that are not known here: they are shown as they are.
export const limitWords = by => LIMITS[by] || (metrics.has(by) ? 'the metric ' + by : by.startsWith('budget:') ? 'its part of the budget ' + by.slice(7) : STATES[by] ? 'its state' : `“${by}”`);

export const inLine = x => x.waiting + x.returning; // of a queue, a lane, a segment
export const people = n => n === 0 ? 'nobody' : n === 1 ? '1 person' : number(n) + ' people';
export const things = (n, one) => `${number(n)} ${one}${n === 1 ? '' : one.endsWith('s') ? 'es' : 's'}`;
export const wait = n => `${people(n)} ${n === 1 || n === 0 ? 'waits' : 'wait'}`;

const MS = { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 };
const lasts = text => parseFloat(text) * (MS[String(text).replace(/^[\d.]+/, '')] || 1) || 0; // "30m"

function early(def, left, waiting) {
  const ms = lasts(def.prequeue);
  if (!ms) return ' Until then nobody may join.';
  return left > ms ? ` People may come early from ${span(left - ms)} from now on.`
    : ` ${number(waiting)} are here early: their places are drawn then.`;
}

function hours(def, waiting) {
  const at = t => new Date(t).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const now = Date.now();
  const opens = Date.parse(def.opens_at) || 0;
  if (opens > now) return `It opens at ${at(def.opens_at)}, in ${span(opens - now)}.` + early(def, opens - now, waiting);
  if (def.closes_at && Date.parse(def.closes_at) <= now) return `It was closed by the clock at ${at(def.closes_at)}.`;
  return 'The clock says that it is not open now.';
}

export const bySlots = q => q.mode === 'slots' || q.mode === 'both';
export const slotWords = q => `${number(q.inside)} of ${number(q.max_active)} slots taken` +
  (q.inside_flushed ? `, ${number(q.inside_flushed)} by passes from before the flush` +
    (q.flushed_until_ms ? ` (the last ends at ${clock(q.flushed_until_ms)})` : '') : '');

export function saysOf(q) {
  if (offHours(q)) return hours(q.def, q.waiting);
  if (q.shadow && q.limited_by === 'shadow') return `A shadow: everybody goes in at once; ${people(q.shadow.waiting)} would wait, up to ${span(1000 * q.shadow.wait_s)} (so far up to ${span(1000 * q.shadow.longest_s)}).`;
  if (!isOpen(q)) return upper(stateOf(q.state)[2]) + '.';
  const what = [q.mode === 'slots' ? '' : `${rate(q.allowed_per_s)} a second may go in`, bySlots(q) ? slotWords(q) : ''];
  return `${upper(what.filter(Boolean).join('; '))}; limited by ${limitWords(q.limited_by)}.`;
}

export const upper = s => s.charAt(0).toUpperCase() + s.slice(1);

/* ---- the wait of the last in line ---- */

const UNKNOWN = {
  paused: 'it is paused', stopped: 'a limit lets nobody in', not_open: 'it is not open', measuring: 'it is being measured',
};
// The first that has people, of a lane that is listed.
const headIsAway = q => (q.lanes || []).some(l => { const head = l.segments.find(inLine); return head && !head.reachable; });
// The limit, or what holds the releases back whatever it is: slots have no rate.
function stoppedBy(q) {
  const shut = q.state === 'reject' || q.mode !== 'slots' && q.allowed_per_s === 0;
  if (q.limited_by === 'recovery') return 'a lost segment comes back first';
  return !shut ? 'the node of its head is away' : headIsAway(q) ? `${UNKNOWN.stopped}, and the node of its head is away` : UNKNOWN.stopped;
}
export const etaOf = q => !inLine(q) ? ['–', 'nobody waits']
  : q.eta_last_s === null ? ['not known', q.eta_reason === 'stopped' ? stoppedBy(q) : UNKNOWN[q.eta_reason] || 'not measured yet']
    : [span(1000 * q.eta_last_s), 'for the last in line' + (q.eta_reason === 'slower' ? ', slower than told' : q.eta_reason === 'faster' ? ', faster than told' : q.eta_reason === 'stay' ? ', if nobody leaves' : '')];

const ifAllStay = reason => reason === 'stay' ? ', if all who are inside stay as long as they may' : '';

// The truth about one queue, in one sentence.
export function sumOf(q) {
  const n = inLine(q);
  if (!n) return `Nobody waits in ${q.queue}.`;
  const [eta] = etaOf(q), [, , , order] = stateOf(q.state);
  const goes = offHours(q) ? 'it is not open yet' : q.state === 'paused' || q.state === 'reject' ? `nobody is let in (${order.toLowerCase()})`
    : q.rate_per_s > 0 ? `${rate(q.rate_per_s)} a second go in, limited by ${limitWords(q.limited_by)}` : `nobody goes in now, limited by ${limitWords(q.limited_by)}`;
  return `${upper(wait(n))} in ${q.queue}; ${goes}` + (q.eta_last_s === null ? '; the wait of the last in line is not known.'
    : `; the last in line waits about ${eta}${ifAllStay(q.eta_reason)}.`);
}

// All of them in one sentence: `all` has their sums; one alone has more to say.
export function sumOfAll(all, total) {
  const n = inLine(all);
  if (!n) return `Nobody waits in any of ${things(total, 'queue')}.`;
  return `${upper(wait(n))} in ${all.queues_waiting} of ${things(total, 'queue')}; ` + (all.rate_per_s > 0 ? `${rate(all.rate_per_s)} a second go in` : 'nobody goes in now') +
    (all.longest ? `; the longest wait is about ${span(1000 * all.longest.eta_s)}, in ${all.longest.queue}${ifAllStay(all.longest.eta_reason)}.` : '; how long they wait is not known.');
}

/* ---- nodes ---- */

// Of a segment node, or a task node.
export function nodeWord(n) {
  const holds = n.segments || n.partitions;
  if (!n.up && n.retired) return ['GONE, drained' + (n.forget_in_ms === null ? '' : ': forgotten in ' + span(n.forget_in_ms)), 'warn'];
  if (!n.up) return holds ? ['DOWN for ' + span(n.silent_ms), 'bad'] : ['GONE for ' + span(n.silent_ms), 'warn'];
  return n.draining ? holds ? ['DRAINING', 'warn'] : ['DRAINED: it can be stopped', 'warn'] : ['UP', 'good'];
}

/* ---- changes by operators ---- */

// A list of lanes, of texts, of keys: the name of each, and what is set of it.
const isFlat = v => Array.isArray(v) && v.length > 0 && v.every(x => x && typeof x === 'object' && Object.values(x).every(y => typeof y !== 'object'));
export const short = v => {
  const s = v === null || v === undefined ? 'nothing' : isFlat(v) ? v.map(x => Object.entries(x).filter(y => y[1] !== '' && y[1] !== 0).map((y, i) => i ? y.join(' ') : y[1]).join(' ')).join(', ') : typeof v === 'string' ? `“${v}”` : JSON.stringify(v);
  return s.length > 120 ? s.slice(0, 117) + '…' : s;
};

// An order about all tasks of a queue, by its path: [queue, order]; null: another one.
export function taskOrder(path) {
  const m = path.match(/task-queues\/(.+)\/tasks\/(\w+)$/);
  return m && [m[1], { cancel: 'tasks cancelled', redrive: 'dead tasks wait again', stop: 'redrive stopped', discard: 'dead tasks discarded' }[m[2]] || m[2]];
}

// An order by its path: /v1/admin/budgets/gpu -> "define budget gpu".
export const VERBS = { PUT: 'define', PATCH: 'change', DELETE: 'remove' };
export function didWords(method, path) {
  const [kind, ...name] = path.replace(/^\/v1\/admin\//, '').split('/');
  return `${VERBS[method] || method} ${kind.replace(/s$/, '')} ${name.join('/')}`;
}

const DROPPED = { key: 'not pinned any more', pool: 'removed, with its tasks', endpoint: 'removed, with its pools and their tasks' };

export function changeWords(a) {
  const what = a.name ? a.name + ': ' : '', order = taskOrder(a.path);
  const verb = a.path.split('/').pop();
  if (order) return order.join(': ') + (a.query ? ` (${[...new URLSearchParams(a.query)].map(x => x.join(' ')).join(', ')})` : '');
  if (a.changes && a.changes.length)
    return what + a.changes.map(c => `${c.key} ${short(c.from)} → ${short(c.to)}`).join(', ');
  if (DROPPED[a.kind] && a.method !== 'POST') return what + (a.method === 'DELETE' ? DROPPED[a.kind] : a.status === 201 ? 'made' : 'defined anew, as it was');
  if (verb === 'release') return `${what}released ${new URLSearchParams(a.query).get('n')} by hand`;
  if (a.kind === 'queue' && a.method === 'PUT') return what + (a.status === 201 ? 'made' : 'defined anew, as it was');
  if (a.kind === 'queue' && a.method === 'DELETE') return what + 'deleted';
  return a.method === 'POST' ? what + verb : didWords(a.method, a.path);
}
