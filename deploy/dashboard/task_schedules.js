// task_schedules.js: schedules of a queue: made, changed, paused, deleted; and when one would fire, before
// it is there.
import { el, put } from './dom.js';
import { change, changeFrom, enc, get, Refused } from './api.js';
import { ask, p } from './ask.js';
import { area, askForm, choice, field, numberOf, valueOf } from './forms.js';

export const schedulePath = (queue, name) => `task-queues/${enc(queue)}/tasks/schedules/${enc(name)}`;

/* ---- when it would fire ---- */

const firesAt = ticks => ticks.length ? 'Fires ' + ticks.map(t => t.local.replace('T', ' ')).join(', then ') : 'Does not fire again.';
const LATE_MS = 300;
const ASKED = ['cron', 'every', 'zone', 'from', 'until'];

// The next times of what the fields say, a moment after the last key.
function preview(fields) {
  const out = el('p', { class: 'none', role: 'status' });
  let timer, last = 0;
  const look = async () => {
    const mine = ++last, said = ASKED.map(k => [k, valueOf(fields[k])]).filter(x => x[1]);
    const text = said.some(x => x[0] === 'cron' || x[0] === 'every') ? await get('ticks?' + new URLSearchParams(said)).then(a => firesAt(a.ticks), e => e.message) : '';
    if (mine === last) put(out, text);
  };
  for (const k of ASKED) fields[k].addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(look, LATE_MS); });
  look();
  return out;
}

/* ---- the form ---- */

const TEXT = { spellcheck: 'false' }, N = { inputmode: 'decimal' };
const parsed = text => { try { return JSON.parse(text); } catch { return text; } }; // the manager says what is wrong with it

function fieldsOf(d) {
  const v = k => d[k] === undefined ? '' : d[k];
  return {
    cron: field('cron', 'Times', 'minute hour day month weekday, like 30 2 * * *, or @daily; or else:', v('cron'), TEXT),
    zone: field('zone', 'Time zone of these', 'like Europe/Berlin; empty: UTC', v('zone'), TEXT),
    every: field('every', 'Again after', 'like 15m, 1 second to 400 days', v('every'), TEXT),
    task: area('task', 'What it submits', 'JSON: {"payload": …} for workers; {"path": "/x", "body_json": …} where an endpoint is called', JSON.stringify(d.task || { payload: {} }, null, 1), { class: 'code', spellcheck: 'false' }),
    overlap: choice('overlap', 'If the task before is not over', 'empty: allow', v('overlap'), ['', 'allow', 'skip', 'cancel_old']),
    catch_up: choice('catch_up', 'After a stop', 'times that were missed; empty: none', v('catch_up'), ['', 'none', 'last', 'all']),
    catch_up_max: field('catch_up_max', 'At most so many of all', '1 to 100; empty: 10', v('catch_up_max'), N),
    jitter: field('jitter', 'Spread over', 'like 30s, at most a day; empty: not', v('jitter'), TEXT),
    from: field('from', 'Not before', 'Unix seconds; empty: at once', v('from'), N),
    until: field('until', 'Not after', 'Unix seconds; empty: for ever', v('until'), N),
  };
}

const NUMBERS = /^(catch_up_max|from|until)$/;
const valueFor = (k, e) => k === 'task' ? parsed(valueOf(e)) : NUMBERS.test(k) ? numberOf(e) : valueOf(e);

// What is empty is not said; of one that is there null takes away what it had.
const read = (fields, old) => Object.fromEntries(Object.entries(fields).map(([k, e]) => [k, valueFor(k, e)])
  .filter(([k, v]) => v !== '' || (old && k in old)).map(([k, v]) => [k, v === '' ? null : v]));

function askIt(question, yes, { name, old, path, done, anew }) {
  const fields = fieldsOf(old || {}), { cron, zone, every, ...rest } = fields;
  askForm(question, yes, { path, old, body: [...name ? [name] : [], cron, zone, every, preview(fields), ...Object.values(rest)], read: () => read(fields, old),
    done: () => { anew(); return done(); } });
}

export async function askSchedule(queue, name, anew) {
  const path = schedulePath(queue, name), { definition, version } = await get(path);
  askIt(`Change schedule ${name} of ${queue}`, 'Change it', { old: { ...definition, version }, path, done: () => `${name} changed.`, anew });
}

export function askAddSchedule(queue, anew) {
  const name = field('name', 'Name', 'letters, digits and . _ -', '', { ...TEXT, maxlength: 64 });
  const path = () => { if (!valueOf(name)) throw new Refused(0, 'The schedule needs a name.'); return schedulePath(queue, valueOf(name)); };
  askIt(`Add a schedule to ${queue}`, 'Add it', { name, old: null, path, done: () => `${valueOf(name)} is there.`, anew });
}

/* ---- pause, delete ---- */

export async function askHoldSchedule(queue, name, anew) {
  const path = schedulePath(queue, name), { definition: d, ticks, version } = await get(path);
  const over = !d.paused && !ticks.length ? [p('It is not paused: no time of it is to come.')] : [];
  ask(`${d.paused ? 'Resume' : 'Pause'} schedule ${name} of ${queue}?`, d.paused ? 'Resume it' : 'Pause it', [...over, p(d.paused
    ? 'It makes tasks again, from its next time on; what it left out meanwhile is not made up for.' : 'It makes no more tasks. Those that it made stay.')],
  async () => { await changeFrom(version, path, { paused: !d.paused }); anew(); }, `${name} is ${d.paused ? 'resumed' : 'paused'}.`);
}

export async function askDropSchedule(queue, name, anew) {
  const path = schedulePath(queue, name), { ticks, version } = await get(path);
  ask(`Delete schedule ${name} of ${queue}?`, 'Delete it', [p(`${firesAt(ticks)} It makes no more tasks, those that it made stay. The log of changes keeps its times, but not what it submits.`)],
    async () => { await change('DELETE', path, undefined, { 'If-Match': `"${version}"` }); anew(); }, `${name} is deleted.`, name);
}
