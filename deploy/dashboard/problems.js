// problems.js: what is wrong, the worst first, what is alike in one line.
import { clock, number, span } from './dom.js';
import { inLine, isOpen, limitWords, offHours, people, slotWords, stateOf, things, wait } from './words.js';

// kind and name are what a problem is, whatever its figures say meanwhile; n: people, or tasks, that
// it concerns.
export const ALL = Infinity; // of them: it concerns everybody
export const problem = (level, kind, name, says, n = 0) => ({ level, kind, name, says, n });

/* ---- queues ---- */

// People of a node that is gone: places come back with their polls, until the rebuild is over.
function lostProblem(q) {
  if (!q.rebuilding) return null;
  const segments = q.rebuilding === 1 ? '1 lost segment' : `${number(q.rebuilding)} lost segments`;
  return problem('bad', 'lost', q.queue, `${q.queue}: ` + (q.missing ? `up to ${people(q.missing)} of ${segments} ${q.missing === 1 ? 'is' : 'are'} not back yet`
    : `${segments} ${q.rebuilding === 1 ? 'is' : 'are'} being brought back by the people in it`) +
    '; whoever goes on polling keeps the place', inLine(q));
}

const warnedQueue = q => q.warning ? problem('warn', 'queue warned', q.queue, `${q.queue}: ${q.warning}`) : null;

function stateProblem(q) {
  const n = inLine(q), waits = wait(n), warn = (kind, says) => problem('warn', kind, q.queue, says, n);
  if (q.state === 'closed' && !q.waiting) return null; // on purpose, and nobody is in it
  if (!isOpen(q)) return warn('is ' + q.state, `${q.queue} is ${stateOf(q.state)[0]}: ${stateOf(q.state)[2]}` + (q.waiting ? `; ${waits}` : ''));
  if (offHours(q) || !q.waiting) return null; // as planned, or nobody is kept waiting
  if (q.limited_by === 'recovery') return warn('recovery', `${q.queue}: a segment is being recovered, ${waits}`);
  if (q.limited_by === 'flushed') return warn('flushed', `${q.queue}: ${slotWords(q)}, ${waits}`);
  if (q.mode !== 'slots' && q.allowed_per_s === 0) return warn('shut', `${q.queue} lets NOBODY in (${limitWords(q.limited_by)}), ${waits}`);
  if (q.limited_by === 'fallback') return warn('fallback', `${q.queue} uses its FALLBACK rate: a metric is missing, ${waits}`);
  return null;
}

const deletedProblem = d => d.waiting ? problem('warn', 'deleted', d.queue, `${d.queue} is DELETED, ${wait(d.waiting)}: until ${clock(d.restore_until_ms)} segqctl queue restore ${d.queue} brings it back`, d.waiting) : null;

/* ---- nodes ---- */

/* What holds a drain up, if anything does. */
const stays = d => d && d.why ? `; segment ${d.segment} stays: ${d.why}${d.again_in_ms === null ? '' : `, tried again in ${span(d.again_in_ms)}`}` : '';

function nodeProblem(n) {
  const segments = n.segments === 1 ? '1 segment is' : `${n.segments} segments are`;
  if (!n.up && n.segments > 0) return problem('bad', 'node down', n.name, `Node ${n.name} is DOWN for ${span(n.silent_ms)}; ${segments} there, whose people keep their places`);
  if (!n.up && n.retired) return null; // drained and gone: it is forgotten soon
  if (!n.up) return problem('warn', 'node gone', n.name, `Node ${n.name} is GONE for ${span(n.silent_ms)}, and nobody is on it: start it again, or forget it`);
  return n.draining && n.segments > 0 ? problem('warn', 'node drained', n.name, `Node ${n.name} is being DRAINED: ${segments} left${stays(n.drain)}`) : null;
}

/* ---- what is alike ---- */

const ALONE = 2; // so many of a kind have a line each
const NAMES = 6;

const GROUPS = { // of which kinds: how many of what, and how they are
  lost: ['queue', 'have lost segments, whose people keep their places while they go on polling'], recovery: ['queue', 'have a segment that is being recovered'],
  'queue warned': ['queue', 'cannot tell browsers that the turn comes: no pool QUEUE/HOST has the endpoint of a push service'], flushed: ['queue', 'have their slots taken by passes from before a flush'], shut: ['queue', 'let NOBODY in'],
  fallback: ['queue', 'use their FALLBACK rates: metrics are missing'], deleted: ['queue', 'are DELETED: segqctl queue restore NAME brings them back'],
  'node down': ['segment node', 'are DOWN; people there keep their places'], 'node gone': ['segment node', 'are GONE, and nobody is on them: start them again, or forget them'],
  'router gone': ['router', 'are GONE: start them again, or look at the load of the others'],
  'node drained': ['segment node', 'are being DRAINED'], warned: ['process', 'say that something is wrong (/healthz)'], metric: ['metric', 'are not read'],
  'task node down': ['task node', 'are DOWN; tasks there wait for them'], 'task node gone': ['task node', 'are GONE, and have nothing: start them again, or forget them'],
  'task node drained': ['task node', 'are being DRAINED'],
  'endpoint paused': ['endpoint', 'are PAUSED'], 'endpoint tripped': ['endpoint', 'are TRIPPED by an operator'], 'endpoint unusable': ['endpoint', 'are UNUSABLE'], 'endpoint down': ['endpoint', 'are DOWN: their calls fail, only probes are sent'],
  'pool workers': ['pool', 'have tasks that NO WORKER takes'], 'pool full': ['pool', 'REFUSE new tasks: they have as many as they may'], 'pool away': ['pool', 'have partitions on no task node that answers: tasks there wait'], 'pool paused': ['pool', 'are PAUSED'], 'pool dead': ['pool', 'have dead tasks: redrive or discard them'],
};

const groupOf = kind => kind.startsWith('is ') ? ['queue', `are ${stateOf(kind.slice(3))[0]} (${stateOf(kind.slice(3))[2]})`] : GROUPS[kind];

function together(kind, v) {
  const [noun, how] = groupOf(kind), n = v.reduce((sum, x) => sum + x.n, 0), more = v.length - NAMES;
  const ofTasks = /task|endpoint|pool/.test(kind);
  return problem(v[0].level, kind, '', `${things(v.length, noun)} ${how}: ${v.slice(0, NAMES).map(x => x.name).join(', ')}${more > 0 ? ` and ${more} more` : ''}` +
    (n ? `; ${ofTasks ? things(n, 'task') + ' in line' : wait(n)}` : ''), n);
}

// The worst first: red before yellow, then what concerns most.
const LEVELS = { bad: 0, warn: 1 };
const worst = (a, b) => LEVELS[a.level] - LEVELS[b.level] || b.n - a.n;

function grouped(v) {
  const kinds = new Map();
  for (const x of v.sort(worst)) kinds.set(x.level + x.kind, [...kinds.get(x.level + x.kind) || [], x]);
  return [...kinds.values()].flatMap(of => of.length > ALONE && groupOf(of[0].kind) ? together(of[0].kind, of) : of).sort(worst);
}

/* ---- all ---- */

// The answer lists those that concern most people.
function unlistedProblem(live) {
  const more = (live.unusual_total || 0) - live.unusual.length;
  return more > 0 ? problem('warn', 'unlisted', '', `${things(more, 'more queue')} with fewer people ${more === 1 ? 'is' : 'are'} not open, or ${more === 1 ? 'keeps' : 'keep'} people waiting: segqctl status lists all`) : null;
}

// more: others, in the same form. live.unusual: queues with something to say, whatever is listed.
export function problemsOf(live, more = []) {
  const v = [...more];
  if (!live.healthy) v.push(problem('bad', 'manager', '', 'queuemng: ' + live.why, ALL));
  if (live.tokens_wrong) v.push(problem('warn', 'tokens', '', `The file of tokens was refused, those from before are used: ${live.tokens_wrong}`, ALL));
  else if (live.healthy && live.why) v.push(problem('warn', 'manager', '', 'queuemng: ' + live.why));
  if (live.reload_refused) v.push(problem('warn', 'reload', '', `queuemng's last HUP was refused, or a file that it reads: ${live.reload_refused}`, ALL));
  if (live.audit_unwritten) v.push(problem('bad', 'audit', '', `${live.audit_unwritten} changes could not be written to the operators' log (disk full?)`, ALL));
  if (!live.routers.length) v.push(problem('bad', 'routers', '', 'No router is connected: nobody can join or poll', ALL));
  if (!live.nodes.some(n => n.up)) v.push(problem('bad', 'nodes', '', 'No segment node is connected: nobody can join', ALL));
  else if (live.nodes.every(n => !n.up || n.draining)) v.push(problem('bad', 'nowhere', '', 'All segment nodes are being DRAINED: nothing moves, no segment opens, and joins are refused when the open ones are full. Use one again', ALL));
  v.push(...(live.routers_gone || []).map(r => problem('warn', 'router gone', r.name, `Router ${r.name} is GONE for ${span(r.silent_ms)}: start it again, or look at the load of the others`)));
  for (const x of [...live.nodes, ...(live.tasks ? live.tasks.nodes : []), ...live.routers]) if (x.load && x.load.warning) v.push(problem('warn', 'warned', x.name, `${x.name}: ${x.load.warning}`));
  v.push(...live.nodes.map(nodeProblem), ...live.unusual.map(lostProblem), ...live.unusual.map(warnedQueue));
  for (const m of live.metrics) if (!m.ok) v.push(problem('warn', 'metric', m.name, `No reading of ${m.name}: ${m.why}`));
  v.push(...live.unusual.map(stateProblem), ...(live.deleted || []).map(deletedProblem), unlistedProblem(live));
  return grouped(v.filter(Boolean));
}
