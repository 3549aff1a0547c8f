// words.js: what the figures mean, in words that can be understood at three in the morning.
import { number, rate, span } from './dom.js';

export const STATES = { // word, how it is shown, what it means; the state's name if not here
  open: ['OPEN', 'good', 'people join, and are let in'],
  paused: ['PAUSED', 'warn', 'people join and wait, nobody is let in'],
  closed: ['CLOSED', 'warn', 'nobody may join; who waits is let in'],
  passthrough: ['PASSTHROUGH', 'warn', 'everybody goes straight in, nobody waits'],
  reject: ['REJECT', 'bad', 'everybody is sent away'],
};
export const stateOf = name => STATES[name] || [name.toUpperCase(), 'warn', name];
// By the clock: its state is open, and yet it is too early, or too late.
const offHours = q => q.state === 'open' && q.limited_by === 'not_open';
export const wordOf = q => offHours(q) ? ['NOT OPEN', 'warn', 'the clock says so'] : stateOf(q.state);
export const isOpen = q => q.state === 'open';

const LIMITS = {
  fixed: 'a fixed rate', fallback: 'the fallback: a metric is missing', paused: 'the pause',
  slots: 'the free slots', not_open: 'the clock: it is not open now', max_rise: 'how fast the rate may rise', recovery: 'a segment being recovered',
};
let metrics = new Set();
export const knowMetrics = v => { metrics = new Set(v.map(m => m.name)); };
// A later queuemng may say what is not known here: said as it is.
export const limitWords = by => LIMITS[by] || (metrics.has(by) ? 'the metric ' + by : STATES[by] ? 'its state' : `“${by}”`);

const MS = { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 };
const lasts = text => parseFloat(text) * (MS[String(text).replace(/^[\d.]+/, '')] || 1) || 0; // "30m"

function early(def, left, waiting) {
  const ms = lasts(def.prequeue);
  if (!ms) return ' Until then nobody may join.';
  return left > ms ? ` People may come early from ${span(left - ms)} from now on.`
    : ` ${number(waiting)} are here early: they draw their places then.`;
}

function hours(def, waiting) {
  const at = t => new Date(t).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  const now = Date.now();
  const opens = Date.parse(def.opens_at) || 0;
  if (opens > now) return `It opens at ${at(def.opens_at)}, in ${span(opens - now)}.` + early(def, opens - now, waiting);
  if (def.closes_at && Date.parse(def.closes_at) <= now) return `It was closed by the clock at ${at(def.closes_at)}.`;
  return 'The clock says that it is not open now.';
}

export function saysOf(q) {
  if (offHours(q)) return hours(q.def, q.waiting);
  if (!isOpen(q)) return stateOf(q.state)[2] + '.';
  const what = q.mode === 'slots' ? `${number(q.active + q.ready)} of ${number(q.max_active)} slots taken`
    : `${rate(q.allowed_per_s)} a second may go in`;
  return `${what}; what limits it is ${limitWords(q.limited_by)}.`;
}

/* ---- how it stands ---- */

function queueProblem(q) {
  const waits = `${number(q.waiting + q.returning)} wait`;
  if (q.state === 'open' && q.waiting > 0 && q.limited_by === 'recovery') return ['warn', `${q.queue}: a segment is being recovered, ${waits}`];
  if (offHours(q)) return null; // as planned
  if (q.state === 'open' && q.waiting > 0 && q.mode !== 'slots' && q.allowed_per_s === 0)
    return ['warn', `${q.queue} lets NOBODY in (${limitWords(q.limited_by)}), ${waits}`];
  if (q.limited_by === 'fallback' && q.has_limits !== false && q.state === 'open' && q.waiting > 0)
    return ['warn', `${q.queue} goes by its FALLBACK rate: a metric is missing, ${waits}`];
  if (q.state === 'closed' && !q.waiting) return null; // on purpose, and nobody is in it
  if (!isOpen(q)) return ['warn', `${q.queue} is ${stateOf(q.state)[0]}: ${stateOf(q.state)[2]}` + (q.waiting ? `, ${waits}` : '')];
  return null;
}

export function problemsOf(live) {
  const v = [];
  if (!live.healthy) v.push(['bad', 'queuemng: ' + live.why]);
  if (live.audit_unwritten) v.push(['bad', `${live.audit_unwritten} changes could not be written to the audit log (disk full?)`]);
  if (!live.routers.length) v.push(['bad', 'No router is connected: nobody can join or ask']);
  for (const n of live.nodes) {
    if (!n.up && n.segments > 0) v.push(['bad', `Node ${n.name} is DOWN for ${span(n.silent_ms)}; ${n.segments} segment${n.segments === 1 ? ' is' : 's are'} there, whose people keep their places`]);
    else if (n.draining) v.push(['warn', `Node ${n.name} is being DRAINED: ${n.segments} segments left`]);
  }
  if (!live.nodes.some(n => n.up)) v.push(['bad', 'No segment node is connected: nobody can join']);
  for (const m of live.metrics) if (!m.ok) v.push(['warn', `No reading of ${m.name}: ${m.why}`]);
  for (const q of live.queues) {
    const p = queueProblem(q);
    if (p) v.push(p);
  }
  return v.sort((a, b) => (a[0] === 'bad' ? 0 : 1) - (b[0] === 'bad' ? 0 : 1));
}

/* ---- events ---- */

const SENTENCES = {
  node_down: e => `Segment node ${e.node} is GONE (${e.segments} segments)`,
  node_registered: e => `Segment node ${e.node} is there (${e.segments} segments)`,
  router_up: e => `Router ${e.router} is there`,
  router_down: e => `Router ${e.router} is gone`,
  monitor_bad: e => `Metric ${e.metric}: no usable reading (${e.why})`,
  monitor_failed: e => `Metric ${e.metric}: no reading (${e.why})`,
  monitor_ok: e => `Metric ${e.metric} is read again: ${e.value}`,
  limit: e => `${e.queue}: ${e.allowed_per_s} a second by ${e.by}, was ${e.was_per_s} by ${e.was_by}`,
  queue_created: e => `Queue ${e.queue} created`,
  queue_changed: e => `Queue ${e.queue}: definition changed (version ${e.version})`,
  queue_applied: e => `Queue ${e.queue} taken from queuemng.yaml`,
  queue_state: e => `Queue ${e.queue}: another state`,
  queue_deleted: e => `Queue ${e.queue} deleted`,
  queue_flushed: e => `Queue ${e.queue}: everybody sent away`,
  queue_full: e => `Queue ${e.queue} is FULL (${e.waiting} wait)`,
  queue_not_full: e => `Queue ${e.queue} has room again`,
  schedule: e => `Queue ${e.queue}, by the clock: ${e.phase} (was ${e.was})`,
  prequeue: e => `Queue ${e.queue}: the early ones may come`,
  draw: e => `Queue ${e.queue}: the order of ${e.count} early ones in #${e.seg} is drawn`,
  release_by_hand: e => `Queue ${e.queue}: ${e.n} released by hand`,
  drain: e => `Node ${e.node}: drain ${e.on === '1' ? 'begun' : 'ended'}`,
  changed: e => `${e.by} changed ${e.queue || e.node}: ${e.change}`,
  operator: e => `${e.who}: ${e.did === 'POST' ? e.what.split('/').slice(-2).reverse().join(' ') : e.did + ' ' + e.what}`,
  segment_opened: e => `#${e.seg} opened for ${e.queue} on ${e.node}`,
  segment_sealed: e => `#${e.seg} of ${e.queue} is full and sealed (${e.joined} joined)`,
  segment_removed: e => `#${e.seg} of ${e.queue} removed, nobody is in it`,
  segment_dropped: e => `#${e.seg} dropped by ${e.node}`,
  segment_rebuild: e => `#${e.seg} of ${e.queue} is RE-CREATED on ${e.node}, was on ${e.was}`,
  segment_rebuilt: e => `#${e.seg} of ${e.queue} is whole again (${e.waiting} wait)`,
  segment_back: e => `#${e.seg} is back on ${e.node}`,
  tail_unreachable: e => `The tail #${e.seg} cannot be reached (${e.node}); another one is opened`,
  pop_skipped: e => `Releases go past #${e.seg}: it cannot be reached`,
  move: e => `Merge ${e.move}: #${e.from} into #${e.to}, ${e.state}`,
  move_aborted: e => `Merge ${e.move} given up: ${e.why}`,
  term: e => `This manager leads (epoch ${e.epoch})`,
  step_down: e => `This manager leads no more: ${e.why}`,
  ready: () => 'queuemng started',
  reloaded: () => 'Configuration read again',
  audit_not_written: e => `The audit log CANNOT BE WRITTEN: ${e.why}`,
  audit_written: () => 'The audit log is written again',
};
const ROUTINE = /^(move|segment_(opened|sealed|removed|dropped))$/;

// key=value, key="quoted \"value\""
export function readEvent(text) {
  const e = {};
  for (const m of text.matchAll(/(\w+)=("((?:[^"\\]|\\.)*)"|\S*)/g))
    e[m[1]] = m[3] !== undefined ? m[3].replace(/\\x([0-9a-f]{2})/g, (_, h) => String.fromCharCode(parseInt(h, 16))).replace(/\\(.)/g, '$1') : m[2];
  return e;
}

export function sentence(text) {
  const e = readEvent(text), s = SENTENCES[e.event];
  return s ? s(e) : text.replace(/^event=/, '');
}

export const isRoutine = text => ROUTINE.test(readEvent(text).event);

/* ---- changes by operators ---- */

const short = v => {
  const s = v === null || v === undefined ? 'nothing' : typeof v === 'string' ? `“${v}”` : JSON.stringify(v);
  return s.length > 120 ? s.slice(0, 117) + '…' : s;
};

export function changeWords(a) {
  const what = a.name ? a.name + ': ' : '';
  const verb = a.path.split('/').pop();
  if (a.changes && a.changes.length)
    return what + a.changes.map(c => `${c.key} ${short(c.from)} → ${short(c.to)}`).join(', ');
  if (verb === 'release') return `${what}released ${new URLSearchParams(a.query).get('n')} by hand`;
  if (a.kind === 'queue' && a.method === 'PUT') return what + (a.status === 201 ? 'made' : 'defined anew, as it was');
  if (a.kind === 'queue' && a.method === 'DELETE') return what + 'deleted';
  return a.method === 'POST' ? what + verb : `${a.method} ${a.path}`;
}
