// task_more.js: what belongs to the tasks, and live has not: budgets with their members, and the
// schedules of the queue that is looked into; their forms: task_schedules.js.
import { $, el, put, level, mark, number, rate, table, clock } from './dom.js';
import * as api from './api.js';
import { ask, p, say } from './ask.js';
import { askBudget, opens } from './task_forms.js';
import { askAddSchedule, askDropSchedule, askHoldSchedule, askSchedule, schedulePath } from './task_schedules.js';
import { answerOf, below, rowsOf } from './tasks.js';
import { limitWords } from './words.js';

const EVERY_MS = 5000;
let lookedAt = 0, lookedFor = '', schedules = [];

/* ---- budgets ---- */

const any = (v, words) => v === null ? 'any' : words(v);
const perS = v => rate(v) + '/s';

// A budget, and below it those who share it.
const withMembers = b => [{ key: b.name, name: b.name, kind: 'budget', weight: '', part: b.whole, used: b.used, by: b.limited_by ? limitWords(b.limited_by) : '–' },
  ...b.members.map(m => ({ key: `${b.name} ${m.kind} ${m.name}`, name: m.name, kind: m.kind, weight: number(m.weight), part: m.part, used: m.used, by: '' }))];

const BUDGETS = [ // as table() wants them
  ['Budget', r => r.name, 'name', r => r.kind === 'budget' ? opens(r.name, askBudget) : el('span')], ['What', r => r.kind], ['Weight', r => r.weight, 'n'],
  ['Rate', r => any(r.part.rate_per_s, perS), 'n'], ['Rate used', r => any(r.used.rate_per_s, perS), 'n'],
  ['At once', r => any(r.part.active, number), 'n'], ['Used', r => any(r.used.active, number), 'n'], ['Rate by', r => r.by],
];

function budgets_show(budgets) {
  const rows = budgets.flatMap(withMembers);
  $('budgets').hidden = !budgets.length;
  table('tb', BUDGETS, rows, r => r.key);
  for (const [i, e] of [...$('tb').tBodies[0].rows].entries()) mark(e, 'class', rows[i].kind === 'budget' ? '' : 'member');
}

/* ---- schedules ---- */

const moment = s => s ? clock(1000 * s) : '–';
const anew = () => { lookedAt = 0; };
const order = (needs, fn) => s => el('button', { type: 'button', class: 'link', 'data-needs': needs, on: { click: async () => { try { await fn(lookedFor, s.schedule, anew); } catch (e) { say(e.message); } } } });
const SCHEDULES = [
  ['Schedule', s => s.schedule, 'name', s => opens(s.schedule, name => askSchedule(lookedFor, name, anew))], ['Next', s => s.paused ? 'paused' : moment(s.next), 'n'], ['Last', s => moment(s.last), 'n'],
  ['Outcome', s => s.outcome || '–'], ['Its task', s => s.state ? `${s.state} (${s.id})` : '–'], ['Blocked by', s => s.why || '–'],
  ['Order', () => 'Run now …', 'name', order('operator', (queue, name) => askRun(name))],
  ['Hold', s => s.paused ? 'Resume …' : 'Pause …', 'name', order('operator', askHoldSchedule)], ['Removal', () => 'Delete …', 'name', order('admin', askDropSchedule)],
];

// One task, beside those of the ticks. That the newest task is not over is refused, and said.
function askRun(name) {
  const queue = lookedFor, s = schedules.find(x => x.schedule === name);
  ask(`Run schedule ${name} of ${queue} now?`, 'Run it', [p(`It makes one task now${s && s.why ? `, although it stands still (${s.why})` : ''}. ` +
    (s && s.next ? `The next tick stays: ${moment(s.next)}.` : s && s.paused ? 'It stays paused.' : 'No tick is to come.'))],
  async () => { await api.change('POST', schedulePath(queue, name) + '/run'); anew(); }, `${name} has made a task.`);
}

function schedules_show(answer) {
  schedules = rowsOf(answer, 'schedules');
  $('ts').hidden = !schedules.length;
  table('ts', SCHEDULES, schedules, s => s.schedule);
  level('ts', 3, i => /missed|refused/.test(schedules[i].outcome) ? 'warn' : '');
  level('ts', 5, i => schedules[i].why ? 'warn' : '');
  put($('ts-none'), below(answer, schedules, 'No schedule makes tasks for this queue.'));
}

$('add-schedule').addEventListener('click', () => askAddSchedule(lookedFor, anew));

/* ---- asking ---- */

// What is refused stands where the answer would be.
export async function look(queue) {
  if (queue === lookedFor && Date.now() - lookedAt < EVERY_MS) return;
  if (queue !== lookedFor) schedules_show(null);
  [lookedAt, lookedFor] = [Date.now(), queue];
  const [b, s] = await Promise.all([api.get('budgets'),
    queue ? answerOf(`task-queues/${api.enc(queue)}/tasks/schedules`) : null]);
  budgets_show(b.budgets);
  if (queue === lookedFor) schedules_show(s);
}
