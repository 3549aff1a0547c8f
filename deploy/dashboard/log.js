// log.js: what happened, and who changed what: two lists that one can sift.
import { $, el, put, list, mark, number, clock } from './dom.js';
import { fold, isRoutine, readEvent } from './events.js';
import { changeWords } from './words.js';

let events = [], entries = [];
const line = () => el('li', {}, el('time'), el('span'));

const KINDS = [ // name, of which events
  ['Everything', () => true],
  ['Trouble', e => e.level !== 'info'],
  ['Changes', e => /^(changed|operator|applied|not_applied|release_by_hand|drain|(queue|pool|endpoint|budget|key)_(created|changed|removed|restored|pinned|unpinned))$/.test(readEvent(e.text).event)],
  ['Nodes and routers', e => /^(node_|router_|segment_|partition|source_lost|drain|directory|foreign)/.test(readEvent(e.text).event)],
  ['Limits and metrics', e => /^(limit|metric_|monitor_|poll_failed|no_monitor)/.test(readEvent(e.text).event)],
  ['Manager and store', e => /^(term|lease|leader|step_down|cannot_lead|ready|stopping|reload|store_|journal_|redis_|write_|load_|op_log|torn|no_memory|fenced)/.test(readEvent(e.text).event)],
];

const AUDIT = [['Everything', () => true], ['Queues', a => a.kind === 'queue'], ['Nodes', a => a.kind === 'node'],
  ['Tasks', a => /^(pool|endpoint|key|budget)$/.test(a.kind) || /\/task/.test(a.path)]];

const has = (words, wanted) => !wanted || words.toLowerCase().includes(wanted.toLowerCase().trim());

function showEvents() {
  const all = $('routine').checked, [, isKind] = KINDS[$('e-kind').selectedIndex] || KINDS[0];
  const lines = fold(events.filter(e => (all || !isRoutine(e.text)) && isKind(e))).filter(x => has(x.said, $('e-find').value));
  list($('events'), lines, e => e.key, line, (e, x) => {
    put(e.children[0], clock(x.at_ms));
    put(e.children[1], x.said + (x.n > 1 ? ` (${number(x.n)} times since ${clock(x.since_ms)})` : ''));
    mark(e, 'class', x.level);
  });
  put($('e-none'), lines.length ? '' : 'No event fits.');
}

const auditWords = a => `${a.who}${a.from ? ' (' + a.from + ')' : ''}: ${changeWords(a)}`;

function showAudit() {
  const [, isKind] = AUDIT[$('a-kind').selectedIndex] || AUDIT[0];
  const fits = entries.filter(a => isKind(a) && has(auditWords(a), $('a-find').value));
  list($('audit'), fits, a => a.at + a.request_id, line, (e, a) => {
    put(e.children[0], clock(Date.parse(a.at)));
    put(e.children[1], auditWords(a));
  });
  put($('a-none'), fits.length ? '' : entries.length ? 'No change fits.' : 'Nobody has changed anything.');
}

export function hearEvents(all) {
  events = all;
  showEvents();
}

export function hearAudit(all) {
  entries = all;
  showAudit();
}

export function begin() {
  $('e-kind').append(...KINDS.map(k => el('option', {}, k[0])));
  for (const id of ['routine', 'e-kind', 'e-find']) $(id).addEventListener('input', showEvents);
  $('a-kind').append(...AUDIT.map(k => el('option', {}, k[0])));
  for (const id of ['a-find', 'a-kind']) $(id).addEventListener('input', showAudit);
}
