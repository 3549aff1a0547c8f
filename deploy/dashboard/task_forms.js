// task_forms.js: what is set up for tasks: a pool, its limits, its keys; and an endpoint tried by hand.
import { el, number } from './dom.js';
import { change, enc, get, Refused } from './api.js';
import { ask, p, say } from './ask.js';
import { askForm, choice, field, numberOf, rows, rowsOf, valueOf } from './forms.js';

/* ---- pools ---- */

const N = { inputmode: 'decimal' };
const BOTH = [ // key, label, hint: of a pool that is made, and of one that is there
  ['queue.max_concurrent', 'At once in each queue', '0: any number'], ['queue.rate_per_s', 'Starts per second in each queue', '0: any'],
  ['key.max_concurrent', 'At once for each key', '0: any number'], ['key.rate_per_s', 'Starts per second for each key', '0: any'],
  ['max_attempts', 'Attempts', 'after them a task is dead'], ['lease', 'Lease', 'of a worker that names none, like 30s'],
  ['max_waiting', 'Most tasks of one queue', 'beyond them submissions are refused'],
  ['task_ttl', 'Longest wait', 'like 3h; 0: for ever'], ['result_ttl', 'Results are kept for', 'like 1h'], ['dead_ttl', 'Dead tasks are kept for', 'like 7d'],
];
const at = (def, key) => key.split('.').reduce((x, k) => x[k], def);

// Fields -> the keys of a definition; `old` fills the maps. Of a new one what is empty is left out.
function readFields(fields, old) {
  const now = {};
  for (const [key, e] of fields) {
    const [a, b] = key.split('.'), v = numberOf(e);
    if (v === '' && !old) continue;
    if (b) now[a] = { ...(now[a] || (old ? old[a] : {})), [b]: v };
    else now[a] = v;
  }
  return now;
}

const KEY = [['match', 'Keys', 'tenant7/*'], ['max_concurrent', 'At once', '0: any'], ['rate_per_s', 'Per second', '0: any'], ['weight', 'Weight', '']];
const keyRows = items => rows('keys', 'Keys with limits of their own, the first that fits counts', items, x => KEY.map(([k, text, hint]) => field(k, text, hint, x[k])),
  { match: '', max_concurrent: 0, rate_per_s: 0, weight: 1 }, 'Add a pattern of keys');
const keysOf = box => rowsOf(box, (of, x) => ({ ...x, match: valueOf(of('match')), ...Object.fromEntries(KEY.slice(1).map(([k]) => [k, numberOf(of(k))])) }));

export async function askPool(name) {
  const old = await get('pools/' + enc(name)), fields = BOTH.map(([k, text, hint]) => [k, field(k, text, hint, at(old, k), N)]), keys = keyRows(old.keys);
  askForm(`Limits of pool ${name}`, 'Change it', { path: 'pools/' + enc(name), old, done: `Pool ${name} changed.`, body: [...fields.map(x => x[1]), keys],
    read: () => ({ ...readFields(fields, old), keys: keysOf(keys) }), says: () => 'It holds for tasks that wait, too; tasks that run go on.' });
}

// A pool takes the queues whose names its pattern fits.
export function askAddPool(endpoints, begun) {
  const match = field('match', 'Queues', 'a name, or a beginning and a star, like ride/*', '', { spellcheck: 'false', maxlength: 64 });
  const to = choice('endpoint', 'Endpoint', 'none: workers take its tasks; stays as it is', '', ['', ...endpoints.map(x => x.name)]);
  const order = choice('order', 'Order', 'strict: the next task of a key begins when the one before is over; stays as it is', 'start', ['start', 'strict', 'number']);
  const parts = field('partitions', 'Partitions', 'empty: 1 for a name, 16 for a pattern; stays as it is', '', N);
  const fields = BOTH.map(([k, text, hint]) => [k, field(k, text, hint + '; empty: the default', '', N)]);
  const named = () => { if (!valueOf(match)) throw new Refused(0, 'A pool needs the name of a queue, or a pattern.'); return 'pools/' + enc(valueOf(match)); };
  askForm('Add a pool', 'Add it', { path: named, old: null, body: [match, to, order, parts, ...fields.map(x => x[1])], done: () => { begun(valueOf(match)); return `Pool ${valueOf(match)} is there.`; },
    read: () => ({ ...readFields([['partitions', parts], ...fields], null), ...(valueOf(to) ? { endpoint: valueOf(to) } : {}), order: valueOf(order) }),
    says: () => valueOf(match) ? `Queues that fit ${valueOf(match)} and no longer pattern are in it; a queue comes with its first task.` : '' });
}

/* ---- endpoints, budgets ---- */

const ENDPOINT = [ // key, label, hint, attributes; what else a definition has: segqctl endpoint set
  ['url', 'Address', 'http or https; a call’s path goes behind it; empty with several targets', { spellcheck: 'false', maxlength: 1024 }],
  ['max_concurrent', 'Calls at once', '0: any number', N], ['rate_per_s', 'Calls that begin per second', '0: any', N],
  ['deadline', 'Longest time of a call', 'like 30s'], ['connect_timeout', 'Longest time until it is connected', 'like 3s'],
  ['budget', 'Budget', 'shared with others; empty: none', { spellcheck: 'false' }],
  ['allow', 'Private networks that it may be in', 'like 10.0.0.0/8, with commas; empty: public addresses alone', { spellcheck: 'false' }],
];
const BUDGET = [['rate_per_s', 'Per second', 'people let in and calls begun, together; 0: by its metrics', N], ['max_active', 'At once', 'people inside and calls under way; 0: any number', N],
  ['fallback_per_s', 'Per second without readings', 'of its metrics', N]];
const LISTS = /^allow$/;
const textOf = (key, v) => LISTS.test(key) ? v.join(', ') : v;
const valueFor = (key, e) => LISTS.test(key) ? valueOf(e).split(/[\s,]+/).filter(Boolean) : numberOf(e);

// Of a new one what is empty is left out: the defaults hold.
const readAll = (fields, old) => Object.fromEntries(fields.filter(([, e]) => old || valueOf(e)).map(([k, e]) => [k, valueFor(k, e)]));

async function askOne(kind, table, name) {
  const path = `${kind}s/${enc(name)}`, old = await get(path), fields = table.map(([k, text, hint, a]) => [k, field(k, text, hint, textOf(k, old[k]), a)]);
  askForm(`Change ${kind} ${name}`, 'Change it', { path, old, done: `${name} changed.`, body: fields.map(x => x[1]), read: () => readAll(fields, old) });
}

function askNew(kind, table) {
  const name = field('name', 'Name', 'letters, digits and . _ -', '', { spellcheck: 'false', maxlength: 57 });
  const fields = table.map(([k, text, hint, a]) => [k, field(k, text, hint + '; left empty: the default', '', a)]);
  const path = () => { if (!valueOf(name)) throw new Refused(0, `The ${kind} needs a name.`); return `${kind}s/${enc(valueOf(name))}`; };
  askForm(kind === 'budget' ? 'Add a budget' : 'Add an endpoint', 'Add it', { path, old: null, body: [name, ...fields.map(x => x[1])], done: () => `${valueOf(name)} is there.`,
    read: () => readAll(fields, null) });
}

// A name that opens the form of what it names, for those who may change it.
export const opens = (name, form) => document.body.dataset.role === 'admin'
  ? el('button', { type: 'button', class: 'link', title: 'Change it', on: { click: () => form(name).catch(e => say(e.message)) } }) : el('span');

export const askEndpointLimits = name => askOne('endpoint', ENDPOINT, name);
export const askBudget = name => askOne('budget', BUDGET, name);
export const askAddEndpoint = () => askNew('endpoint', ENDPOINT);
export const askAddBudget = () => askNew('budget', BUDGET);

const PROBE = { // the words of segqctl endpoint probe
  not_asked: 'came later, was not asked', asked: 'has not said anything', sent: 'has no answer yet', no_task: 'no task waits that may start', not_down: 'is not down, calls go',
  paused: 'is paused', limited: 'rate and slots let none go now', unusable: 'cannot call it as it is defined', cancelled: 'its task was cancelled meanwhile', away: 'is away',
};
const LOOKS = 25, EVERY_MS = 200;
const probeSays = x => `${x.node}: ` + (x.outcome === 'ended' ? `${x.answer}, ${number(x.ms)} ms` : PROBE[x.outcome] || x.outcome);
const isOver = a => a.probe.every(x => !/^(asked|sent)$/.test(x.outcome));

export function askProbe(name) {
  const path = `endpoints/${enc(name)}/probe`;
  ask(`Probe endpoint ${name}?`, 'Probe it', [p('Each task node that calls it sends one task that waits, now. A failure costs no attempt, unless it is the last. A good answer closes a breaker that failures have opened.')],
    async goOn => {
      let a = await change('POST', path);
      for (let i = 0; i < LOOKS && !isOver(a) && goOn('It is under way …'); i++) {
        await new Promise(done => setTimeout(done, EVERY_MS));
        a = await get(path);
      }
      return a.probe.length ? `${name} probed. ${a.probe.map(probeSays).join('; ')}.` : `${name}: no task node calls it.`;
    }, said => said);
}
