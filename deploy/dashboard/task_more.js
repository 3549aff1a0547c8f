// task_more.js: what belongs to the tasks, and live has not: budgets with their members, and the
// schedules of the queue that is looked into.
import { $, el, put, list, mark, number, rate, clock } from './dom.js';
import * as api from './api.js';
import { ask, p } from './ask.js';
import { limitWords } from './words.js';

const EVERY_MS = 5000;
let lookedAt = 0, lookedFor = '', schedules = [];

/* ---- budgets ---- */

const any = (v, words) => v === null ? 'any' : words(v);
const perS = v => rate(v) + '/s';

// A budget, and below it those who share it.
const rowsOf = b => [{ key: b.name, name: b.name, kind: 'budget', weight: '', part: b.whole, used: b.used, by: b.limited_by ? limitWords(b.limited_by) : '–' },
  ...b.members.map(m => ({ key: `${b.name} ${m.kind} ${m.name}`, name: m.name, kind: m.kind, weight: number(m.weight), part: m.part, used: m.used, by: '' }))];

const BUDGETS = [ // head, words, class
  ['Budget', r => r.name], ['What', r => r.kind], ['Weight', r => r.weight, 'n'],
  ['Rate', r => any(r.part.rate_per_s, perS), 'n'], ['Rate used', r => any(r.used.rate_per_s, perS), 'n'],
  ['At once', r => any(r.part.active, number), 'n'], ['Used', r => any(r.used.active, number), 'n'], ['Rate by', r => r.by],
];

function budgets_show(budgets) {
  $('budgets').hidden = !budgets.length;
  list($('tb').tHead.rows[0], BUDGETS, c => c[0], c => el('th', { scope: 'col', class: c[2] || '' }, c[0]), () => {});
  list($('tb').tBodies[0], budgets.flatMap(rowsOf), r => r.key,
    () => el('tr', {}, ...BUDGETS.map((c, i) => i ? el('td', { class: c[2] || '', 'data-head': c[0] }) : el('th', { scope: 'row' }))),
    (e, r) => {
      BUDGETS.forEach(([, words], i) => put(e.children[i], words(r)));
      mark(e, 'class', r.kind === 'budget' ? '' : 'member');
    });
}

/* ---- schedules ---- */

const moment = s => s ? clock(1000 * s) : '–';
const SCHEDULES = [
  ['Schedule', s => s.schedule], ['Next', s => moment(s.next), 'n'], ['Last', s => moment(s.last), 'n'],
  ['Outcome', s => s.outcome || '–'], ['Its task', s => s.state ? `${s.state} (${s.id})` : '–'], ['Blocked by', s => s.why || '–'],
];

// One task, beside those of the ticks. That the newest task is not over is refused, and said.
function askRun(name) {
  const queue = lookedFor, s = schedules.find(x => x.schedule === name);
  ask(`Run schedule ${name} of ${queue} now?`, 'Run it', [p(`It makes one task now${s && s.why ? `, although it stands still (${s.why})` : ''}. ` +
    (s && s.next ? `The next tick stays: ${moment(s.next)}.` : 'No tick is to come.'))],
  async () => { await api.change('POST', `task-queues/${api.enc(queue)}/tasks/schedules/${api.enc(name)}/run`); lookedAt = 0; }, `${name} has made a task.`);
}

function schedules_show(answer) {
  const rows = schedules = answer ? answer.schedules || [] : [];
  $('ts').hidden = !rows.length;
  list($('ts').tHead.rows[0], [...SCHEDULES, ['Order']], c => c[0], c => el('th', { scope: 'col', class: c[2] || '' }, c[0]), () => {});
  list($('ts').tBodies[0], rows, s => s.schedule,
    s => el('tr', {}, ...SCHEDULES.map((c, i) => i ? el('td', { class: c[2] || '', 'data-head': c[0] }) : el('th', { scope: 'row' })),
      el('td', {}, el('button', { type: 'button', class: 'link', on: { click: () => askRun(s.schedule) } }, 'Run now …'))),
    (e, s) => {
      SCHEDULES.forEach(([, words], i) => put(e.children[i], words(s)));
      mark(e.children[3], 'class', /missed|refused/.test(s.outcome) ? 'warn' : '');
      mark(e.children[5], 'class', s.why ? 'warn' : '');
    });
  put($('ts-none'), !answer ? 'asking …' : answer.wrong ? answer.wrong : answer.away.length ? `${answer.away.length} partitions did not answer: their schedules are not known.` : rows.length ? '' : 'No schedule makes tasks for this queue.');
}

/* ---- asking ---- */

// What is refused stands where the answer would be.
export async function look(queue) {
  if (queue === lookedFor && Date.now() - lookedAt < EVERY_MS) return;
  if (queue !== lookedFor) schedules_show(null);
  [lookedAt, lookedFor] = [Date.now(), queue];
  const [b, s] = await Promise.all([api.get('budgets'),
    queue ? api.get(`task-queues/${api.enc(queue)}/tasks/schedules`).catch(e => ({ wrong: e.message })) : null]);
  budgets_show(b.budgets);
  if (queue === lookedFor) schedules_show(s);
}
