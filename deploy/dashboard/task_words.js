// task_words.js: what the figures of tasks mean. The words are those of segqctl task top.
import { clock, number, rate, span } from './dom.js';
import { ALL, problem } from './problems.js';
import { things, upper } from './words.js';

const tasks = n => n === 0 ? 'no task' : things(n, 'task');

/* ---- pools ---- */

export const poolWord = p => p.away ? ['AWAY', 'bad'] : p.paused ? ['PAUSED', 'warn'] : ['OPEN', 'good'];

// What keeps those in line from starting.
export function heldBy(p) {
  if (!p.waiting) return '';
  if (p.away) return 'partitions that are away';
  const idle = !p.started_per_s && !p.running;
  return p.held.map(h => `${h.by === 'workers' && idle ? 'missing workers' : h.says} (${number(h.tasks)})`).join(', ');
}

export function poolSays(p) {
  if (p.away) return `${things(p.away, 'partition')} of ${p.pool} ${p.away === 1 ? 'is' : 'are'} on no task node that answers: tasks there wait for it.`;
  if (p.paused) return 'Tasks are submitted and wait; none starts before it is resumed.';
  if (!p.waiting) return p.running ? `Nothing waits; ${tasks(p.running)} ${p.running === 1 ? 'runs' : 'run'}.` : p.scheduled ? 'Nothing waits in line yet.' : 'Nothing waits.';
  return `${upper(tasks(p.waiting))} ${p.waiting === 1 ? 'waits' : 'wait'}, the oldest for ${span(p.oldest_ms)}; held up by ${heldBy(p)}.`;
}

// All pools in one sentence.
export function poolsSum(pools) {
  const sum = key => pools.reduce((n, p) => n + p[key], 0), n = sum('waiting'), without = pools.map(workerProblem).filter(Boolean);
  if (!pools.length) return 'There is no pool of task queues.';
  if (!n) return `No task waits; ${number(sum('running'))} run.`;
  return `${upper(tasks(n))} ${n === 1 ? 'waits' : 'wait'}, ${number(sum('running'))} run; ${rate(sum('accepted_per_s'))} a second arrive, ${rate(sum('started_per_s'))} start` +
    (without.length ? `; no worker takes ${number(without.reduce((m, x) => m + x.n, 0))} of them.` : '.');
}

/* ---- endpoints ---- */

export const endpointWord = e => e.paused ? ['PAUSED', 'warn'] : e.tripped ? ['TRIPPED', 'warn'] : e.unusable ? ['UNUSABLE', 'bad']
  : !e.open ? e.half_open ? ['HALF-OPEN', 'warn'] : ['UP', 'good']
  : [e.open < e.nodes ? `DOWN at ${e.open} of ${e.nodes} nodes` : 'DOWN', 'bad'];

export const endpointIsShut = e => Boolean(e.tripped || e.open || e.half_open);

// What keeps its calls from going now.
export function bindsOf(e, pools) {
  if (!pools.some(p => p.endpoint === e.name && p.waiting)) return '–';
  if (e.paused) return 'its pause';
  if (e.tripped) return 'an operator (trip)';
  if (e.unusable || e.open === e.nodes) return 'the target';
  if (e.max_concurrent && e.in_flight >= 0.95 * e.max_concurrent) return 'its slots';
  return e.half_open || e.open ? 'its breaker' : e.rate_per_s ? 'its rate' : '–';
}

function endpointProblem(e, pools) {
  const waiting = pools.filter(p => p.endpoint === e.name).reduce((n, p) => n + p.waiting, 0);
  if (e.paused) return waiting ? problem('warn', 'endpoint paused', e.name, `Endpoint ${e.name} is PAUSED, ${tasks(waiting)} in line`, waiting) : null;
  if (e.tripped) return problem('warn', 'endpoint tripped', e.name, `Endpoint ${e.name} is TRIPPED by an operator: no call begins until its reset; ${tasks(waiting)} in line`, waiting);
  if (e.unusable) return problem('bad', 'endpoint unusable', e.name, `Endpoint ${e.name} is UNUSABLE: ${e.unusable}; ${tasks(waiting)} in line`, waiting);
  if (!e.open) return null;
  return problem(waiting && e.open === e.nodes ? 'bad' : 'warn', 'endpoint down', e.name, `Endpoint ${e.name} is DOWN at ${e.open} of ${things(e.nodes, 'task node')}: its calls fail, only probes are sent; ${tasks(waiting)} in line`, waiting);
}

/* ---- problems ---- */

const NO_WORKER = { warn_ms: 30000, bad_ms: 180000 }; // a worker that comes now and then is none that is gone

// Tasks that only lack a worker, and none runs: whoever should take them has gone.
function workerProblem(p) {
  const lack = p.held.find(h => h.by === 'workers'), for_ms = p.stalled_ms || 0;
  if (!lack || p.running || p.endpoint || p.paused || p.away || for_ms < NO_WORKER.warn_ms) return null;
  return problem(for_ms < NO_WORKER.bad_ms ? 'warn' : 'bad', 'pool workers', p.pool, `Pool ${p.pool}: ${tasks(lack.tasks)} ${lack.tasks === 1 ? 'waits' : 'wait'}, NO WORKER has taken one for ${span(for_ms)}: are the workers running?`, lack.tasks);
}

const poolProblem = p => [
  p.full ? problem('bad', 'pool full', p.pool, `Pool ${p.pool} REFUSES new tasks: ${p.full_says}`, p.waiting) : null,
  p.crowded ? problem('warn', 'pool crowded', p.pool, `Pool ${p.pool}: ${tasks(p.waiting)} in line, more than warn_waiting (${number(p.warn_waiting)})`, p.waiting) : null,
  workerProblem(p),
  p.away ? problem('bad', 'pool away', p.pool, poolSays(p), p.waiting) : null,
  p.paused && p.waiting ? problem('warn', 'pool paused', p.pool, `Pool ${p.pool} is PAUSED, ${tasks(p.waiting)} in line`, p.waiting) : null,
  p.dead ? problem('warn', 'pool dead', p.pool, `Pool ${p.pool} has ${things(p.dead, 'dead task')}: redrive or discard ${p.dead === 1 ? 'it' : 'them'}`) : null,
];

function taskNodeProblem(n) {
  const there = things(n.partitions, 'partition');
  if (!n.up && n.partitions) return problem('bad', 'task node down', n.name, `Task node ${n.name} is DOWN for ${span(n.silent_ms)}; ${there} there, whose tasks wait for it`);
  if (!n.up) return problem('warn', 'task node gone', n.name, `Task node ${n.name} is GONE for ${span(n.silent_ms)}, and has nothing: start it again, or forget it`);
  return n.draining && n.partitions ? problem('warn', 'task node drained', n.name, `Task node ${n.name} is being DRAINED: ${there} left`) : null;
}

export function tasksProblems(t) {
  const none = t.pools.length && !t.nodes.some(n => n.up) ? problem('bad', 'task nodes', '', 'No task node is connected: no task is taken in, none starts', ALL) : null;
  return [none, ...t.nodes.map(taskNodeProblem), ...t.endpoints.map(e => endpointProblem(e, t.pools)), ...t.pools.flatMap(poolProblem)].filter(Boolean);
}

/* ---- rules ---- */

const limit = (l, of) => [l && l.rate_per_s ? `${rate(l.rate_per_s)} a second ${of}` : '', l && l.max_concurrent ? `${number(l.max_concurrent)} at the same time ${of}` : ''];
const atMost = v => v.some(Boolean) ? `At most ${v.filter(Boolean).join(', ')}.` : '';

// What the pool's definition lets a task do; endpoints: all.
export function rulesOf(pool, endpoints) {
  const d = pool.def, to = d.endpoint ? endpoints.find(e => e.name === d.endpoint) : null;
  const limits = [
    atMost([...limit(d.queue, 'in each queue'), ...limit(d.key, 'for each key'), ...limit(d.subkey, 'for each key below it')]),
    atMost(d.keys.slice(0, 5).flatMap(k => limit(k, 'for each key ' + k.match))),
    d.keys.length > 5 ? `${things(d.keys.length - 5, 'other pattern')} of keys: segqctl pool show ${pool.pool}.` : '',
    d.limits.length ? `The pool starts by metrics (${d.limits.map(l => l.metric).join(', ')})` + (pool.limited_by ? `: now ${rate(pool.rate_per_s)} a second, by ${pool.limited_by}.` : '.') : '',
    atMost(limit(to, 'to the endpoint')),
    d.order === 'strict' ? 'The next task of a key begins when the one before it is over.' : '',
  ].filter(Boolean);
  const calls = d.endpoint ? `Its tasks are calls to the endpoint ${d.endpoint}. ` : '';
  return calls + (limits.join(' ') || 'No rate and no concurrency is set: every task in line may start.');
}

/* ---- partitions ---- */

export function partWord(p) {
  if (p.moves_to) return ['moves to ' + p.moves_to, 'warn'];
  if (p.up) return ['up', 'good'];
  return p.node ? ['away', 'bad'] : ['no node yet', 'bad'];
}

/* ---- limits, tasks ---- */

const took = ms => ms < 2000 ? Math.round(ms) + ' ms' : span(ms);

// How long an attempt took; '': none had begun.
export const tookOf = h => h.started_at ? took(1000 * (h.ended_at - h.started_at)) : '';

const LIMITS = { rate: 'its rate', max_concurrent: 'as many run as may', pause: 'a pause' };
export const limitsOf = k => k.limits.map(l => LIMITS[l] || l).join(', ') + (k.limited_until ? `, until ${clock(1000 * k.limited_until)}` : '');

export const KINDS = [ // button, states of the API, when there is none
  ['Dead', 'dead', 'No task of this queue is dead: nothing to redrive.'],
  ['Waiting', 'waiting', 'No task waits in line.'],
  ['Running', 'running', 'No task of this queue runs.'],
  ['Delayed', 'scheduled,retrying', 'No task waits for its time, or for its next attempt.'],
  ['Ended', 'succeeded,cancelled,expired', 'No task that has ended is kept.'],
];

export const orderOf = { // of one task: button, question, yes, what it does, afterwards; from which states
  run: ['Run next …', 'Give it to the next worker', 'The next worker gets it, beyond all limits and delays.', 'The next worker gets it.', /^(scheduled|waiting|retrying)$/],
  redrive: ['Redrive …', 'Redrive it', 'It waits in line again, with all of its attempts.', 'It waits in line again.', /^dead$/],
  cancel: ['Cancel …', 'Cancel the task', 'No attempt of it begins any more; one that runs is its last. There is no undo.', 'It is cancelled.', /^(scheduled|waiting|retrying|running)$/],
  discard: ['Discard …', 'Discard it', 'The task, its payload and its result are gone for good. There is no undo.', 'It is gone.', /^(dead|succeeded|cancelled|expired)$/],
};
