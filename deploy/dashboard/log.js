// log.js: what happened, and who changed what: two lists that one can sift.
import { $, el, put, list, mark, number, clock } from './dom.js';
import { fold, isRoutine, once, readEvent, sentence } from './events.js';
import { changeWords, VERBS } from './words.js';

let events = [], entries = [];
const line = () => el('li', {}, el('time'), el('span'));

const KINDS = [ // name, of which events
  ['Everything', () => true],
  ['Trouble', e => e.level !== 'info'],
  ['Changes', e => /^(admin_change|operator|applied|not_applied|release_by_hand|drain|(queue|pool|endpoint|budget|key)_(created|changed|removed|restored|pinned|unpinned))$/.test(readEvent(e.text).event)],
  ['Nodes and routers', e => /^(node_|router_|segment_|partition|source_lost|drain|directory|foreign)/.test(readEvent(e.text).event)],
  ['Limits and metrics', e => /^(rate_limit_changed|metric_|monitor_|poll_failed|no_monitor)/.test(readEvent(e.text).event)],
  ['Manager and store', e => /^(term|lease|leader|step_down|cannot_lead|ready|stopping|reload|store_|journal_|redis_|write_|load_|op_log|torn|no_memory|core_anew|peer_dropped|fenced)/.test(readEvent(e.text).event)],
];

const AUDIT = [['Everything', () => true], ['Queues', a => a.kind === 'queue'], ['Nodes', a => a.kind === 'node'],
  ['Tasks', a => /^(pool|endpoint|key|budget)$/.test(a.kind) || /\/task/.test(a.path)]];

// "segment.1" in quotes is that name, not segment.10.
const has = (words, wanted) => {
  const name = wanted.trim().match(/^"(.+)"$/);
  return name ? words.split(/[^\w./*-]+/).some(w => w.replace(/[.]$/, '') === name[1]) : words.toLowerCase().includes(wanted.toLowerCase().trim());
};

function showEvents() {
  const all = $('routine').checked, [, isKind] = KINDS[$('e-kind').selectedIndex] || KINDS[0];
  const wanted = $('e-find').value, text = wanted.startsWith('"') ? e => e.text.replace(/=/g, ' ') : e => sentence(e.text);
  const lines = fold(once(events).filter(e => (all || !isRoutine(e.text)) && isKind(e) && has(text(e), wanted)));
  list($('events'), lines, e => e.key, line, (e, x) => {
    put(e.children[0], clock(x.at_ms));
    put(e.children[1], x.said + (x.n > 1 ? ` (${number(x.n)} times since ${clock(x.since_ms)})` : ''));
    mark(e, 'class', x.level);
  });
  put($('e-none'), lines.length ? '' : 'No event fits.');
}

// What has been done, in one word.
const verbOf = a => VERBS[a.method] || a.path.split('/').pop();
// Beside the words and the kind: who, of what, what was done; each has those that occur.
const SIFTS = [['a-who', 'All operators', a => a.who], ['a-name', 'All names', a => a.name], ['a-verb', 'All verbs', verbOf]];

function fillSifts() {
  for (const [id, all, of] of SIFTS) {
    const e = $(id), was = e.value, values = [...new Set([...entries.map(of), was])].filter(Boolean).sort();
    list(e, ['', ...values], v => v, v => el('option', { value: v }, v || all), () => {});
    e.value = was;
  }
}

// How many of them are asked for: more while they are filtered.
export const auditWanted = () => $('a-find').value || $('a-kind').selectedIndex > 0 || SIFTS.some(([id]) => $(id).value) ? 500 : 50;

const auditWords = a => `${a.who}${a.from ? ' (' + a.from + ')' : ''}: ${changeWords(a)}`;

function showAudit() {
  const [, isKind] = AUDIT[$('a-kind').selectedIndex] || AUDIT[0];
  const fits = entries.filter(a => isKind(a) && SIFTS.every(([id, , of]) => !$(id).value || of(a) === $(id).value) && has(auditWords(a), $('a-find').value));
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
  fillSifts();
  showAudit();
}

// The events of a node or a queue, and the changes of it.
export function showOnly(name) {
  $('e-kind').selectedIndex = $('a-kind').selectedIndex = 0;
  $('e-find').value = `"${name}"`;
  $('a-find').value = '';
  for (const [id] of SIFTS) $(id).value = '';
  if (![...$('a-name').options].some(o => o.value === name)) $('a-name').append(el('option', { value: name, 'data-key': name }, name));
  $('a-name').value = name;
  showEvents();
  showAudit();
  document.dispatchEvent(new Event('sift'));
  for (const id of ['e-fold', 'a-fold']) $(id).open = true;
  $('events').focus();
  $('e-head').scrollIntoView({ block: 'start' });
}

const PHONE = '(max-width:800px)'; // a list there opens when it is wanted

export function begin() {
  for (const e of document.querySelectorAll('details.fold')) e.open = !matchMedia(PHONE).matches;
  $('e-kind').append(...KINDS.map(k => el('option', {}, k[0])));
  for (const id of ['routine', 'e-kind', 'e-find']) $(id).addEventListener('input', showEvents);
  $('a-kind').append(...AUDIT.map(k => el('option', {}, k[0])));
  fillSifts();
  for (const id of ['a-find', 'a-kind', 'a-who', 'a-name', 'a-verb']) $(id).addEventListener('input', () => { showAudit(); document.dispatchEvent(new Event('sift')); });
}
