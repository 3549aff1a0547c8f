// controls.js: the drawer of what an operator can change of a queue of people, beside the picture.
// Each question says what happens to those who wait. What cannot be undone, or stops a line, is in the
// danger zone, and wants the queue's name; so do numbers that let the whole line in.
import { $, el, list, number, rate, span } from './dom.js';
import { change, changeFrom, changeNow, queuePath, Refused } from './api.js';
import { ask, p, say } from './ask.js';
import * as definition from './definition.js';
import { area, field, rows, rowsOf, valueOf } from './forms.js';
import { DANGEROUS, inLine, people, stateOf } from './words.js';

let queue = null;   // as in the last answer
let words = { states: [], modes: [] };

/* ---- the drawer ---- */

function open(on) {
  $('drawer').hidden = !on;
  $('columns').classList.toggle('drawn', on);
  $('open-drawer').setAttribute('aria-expanded', String(on));
  (on ? $('close-drawer') : $('open-drawer')).focus();
}

export function begin(added) {
  definition.begin(added);
  $('open-drawer').addEventListener('click', () => open($('drawer').hidden));
  $('close-drawer').addEventListener('click', () => open(false));
  $('drawer').addEventListener('keydown', e => { if (e.key === 'Escape') open(false); });
  $('f-release').addEventListener('submit', ordered(askRelease));
  $('f-rate').addEventListener('submit', ordered(askRate));
  $('f-max').addEventListener('submit', ordered(askMax));
  $('f-message').addEventListener('submit', ordered(askMessage));
  $('rate-limits').addEventListener('click', () => queue && askLimits());
  $('edit-tiers').addEventListener('click', () => askTiers());
  for (const id of ['rate-n', 'max-n', 'mode', 'message'])
    $(id).addEventListener('input', () => { $(id).dataset.touched = queue ? queue.queue : ''; });
}

const ordered = fn => e => {
  e.preventDefault();
  if (queue) fn();
};

// From what is said to be so, not from what somebody else has set meanwhile; a state is set in any case.
const patch = (q, what, question, yes, body, done, name) => {
  const { version } = queue.def;
  ask(question, yes, body, () => 'state' in what ? changeNow(version, queuePath(q), what) : changeFrom(version, queuePath(q), what), done, name);
};

/* ---- queues ---- */

const AT_ONCE = { least: 100, ms: 10000 }; // a line that goes in within this time goes in at once
// The name of the queue, if its whole line, and no short one, goes in at once: it has to be typed.
const typedIf = all => all && inLine(queue) > AT_ONCE.least ? queue.queue : '';
const GONE_IN = 'Whoever has gone in stays in: there is no undo.';

function askRelease() {
  const q = queue.queue, n = Number($('release-n').value);
  if (!Number.isInteger(n) || n < 1) return say('Release how many? A whole number, please.');
  ask(`Release ${number(n)} people from ${q} now?`, `Release ${number(n)}`,
    [p(n >= inLine(queue) && inLine(queue) ? `${inLineGoIn()} at once, whatever the backend bears. ${GONE_IN}` : `They go in beyond the rate. ${number(inLine(queue))} are waiting. ${GONE_IN}`)],
    () => change('POST', `${queuePath(q)}/release?n=${n}`), `${number(n)} released from ${q}.`, typedIf(n >= inLine(queue)));
}

const inLineGoIn = () => `${people(inLine(queue))} ${inLine(queue) === 1 ? 'goes' : 'go'} in`;
const rateWords = n => n > 0 ? `a fixed ${rate(n)} a second` : 'by the limits';

function askRate() {
  const q = queue.queue, text = $('rate-n').value.trim(), to = Number(text), n = inLine(queue), takes = 1000 * n / to;
  if (text === '' || !(to >= 0)) return say('A rate is a number above 0.');
  if (to === 0) return say('A rate of 0 can mean two things: “Pause” lets nobody in, “By the limits” lets the metrics decide.');
  delete $('rate-n').dataset.touched;
  patch(q, { release_per_s: to }, `Let people into ${q} at a fixed ${rate(to)} a second?`, 'Change the rate',
    [p(`${rateWords(queue.def.release_per_s)} → ${rateWords(to)}`), p('The metrics are NOT looked at while a rate is fixed.'),
      p(n ? takes < AT_ONCE.ms ? `${inLineGoIn()} at once, whatever the backend bears. ${GONE_IN}` : `At that rate ${people(n)} in line have gone in after ${span(takes)}.` : 'Nobody is in line.')],
    `Rate of ${q} changed.`, typedIf(takes < AT_ONCE.ms));
}

function askLimits() {
  const q = queue.queue, by = queue.def.limits.map(l => l.metric).join(', ');
  delete $('rate-n').dataset.touched;
  patch(q, { release_per_s: 0 }, `Let people into ${q} by its limits again?`, 'Change the rate',
    [p(`${rateWords(queue.def.release_per_s)} → ${rateWords(0)}`),
      p(by ? `Tiers say how many go in: ${by}.` : `No metric limits ${q}: ${rate(queue.def.fallback_per_s)} a second go in (fallback_per_s).`)],
    `Rate of ${q} changed.`);
}

function askMax() {
  const q = queue.queue, to = Number($('max-n').value), mode = $('mode').value, free = Math.min(to - queue.inside, inLine(queue));
  if (!Number.isInteger(to) || to < 0) return say('At most inside: a whole number, please.');
  delete $('max-n').dataset.touched;
  delete $('mode').dataset.touched;
  patch(q, { max_active: to, mode }, `Let at most ${number(to)} be inside ${q} (mode ${mode})?`, 'Change it',
    [p(`At most inside: ${number(queue.def.max_active)} → ${number(to)}`), p(`Mode: ${queue.def.mode} → ${mode}`),
      p(mode === 'slots' && free > 0 ? `${people(free)} of those in line ${free === 1 ? 'goes' : 'go'} in at once: so many slots are free. ${GONE_IN}` : 'Whoever is inside already stays.')],
    `${q} changed.`, typedIf(mode === 'slots' && free >= inLine(queue)));
}

/* ---- the message ---- */

// Fields of the message: one text, and rows of it in other languages; `now` shows what stands.
function messageFields(text) {
  const { messages } = queue.def.page, same = text === queue.message;
  const box = area('message', 'Message to those who wait', 'empty: none', text, { maxlength: 1000, rows: 3 });
  const langs = rows('page.messages', 'In other languages', same ? messages : [], m => [field('text', 'Text', '', m.text, { maxlength: 1000 }), field('lang', 'Language', 'zh, pt-br', m.lang, { maxlength: 16 })],
    { lang: '', text: '' }, 'Add a language');
  const read = () => ({ message: valueOf(box), page: { messages: valueOf(box) ? rowsOf(langs, of => ({ lang: valueOf(of('lang')), text: valueOf(of('text')) })) : [] } });
  return { fields: [box, langs], read };
}

const standing = () => p(queue.message ? `Now they read: “${queue.message}”` : 'Now they read no message of yours.');

function askMessage() {
  const q = queue.queue, message = $('message').value.trim();
  if (!message) return askNoMessage();
  delete $('message').dataset.touched;
  const { fields, read } = messageFields(message), { version } = queue.def;
  ask(`Publish this message to the ${number(queue.waiting)} people waiting in ${q}?`, 'Publish', [...fields, standing()],
    () => changeFrom(version, queuePath(q), read()), 'The message is published.');
}

function askNoMessage() {
  delete $('message').dataset.touched;
  patch(queue.queue, { message: '' }, `Remove the message of ${queue.queue}?`, 'Remove', [standing()], 'The message is removed.');
}

// A message from before says what is not so any more: it is read beside the pause.
function askPause() {
  const q = queue.queue, n = inLine(queue), [word, , means] = stateOf('paused'), { version } = queue.def;
  const { fields, read } = messageFields(queue.message), was = JSON.stringify(read());
  ask(`Pause: ${q}?`, 'Pause', [p(`${stateOf(queue.state)[0]} → ${word}: ${means}. ${n ? `${people(n)} in line.` : 'Nobody is in line.'} Their page says so, and that places are kept.`), standing(), ...fields],
    () => changeNow(version, queuePath(q), { state: 'paused', ...JSON.stringify(read()) === was ? {} : read() }), `${q} is ${word}.`);
}

// Everybody in line goes in: as hard as a flush.
function askPassthrough() {
  const q = queue.queue, n = inLine(queue);
  patch(q, { state: 'passthrough' }, `Let everybody in ${q} pass?`, n ? `Let ${number(n)} in` : 'Let everybody pass',
    [p(n ? `${inLineGoIn()} at once, whatever the backend bears, and whoever comes later goes straight in. ${GONE_IN} “Pause” stops those who come later.`
      : `Whoever comes goes in, whatever the backend bears. ${GONE_IN}`)],
    `${q} lets everybody pass.`, q);
}

function askState(state) {
  if (state === 'passthrough') return askPassthrough();
  if (state === 'paused') return askPause();
  const q = queue.queue, [word, , means, order] = stateOf(state), n = inLine(queue);
  patch(q, { state }, `${order}: ${q}?`, order,
    [p(`${stateOf(queue.state)[0]} → ${word}: ${means}.`), p(n ? `${people(n)} in line.` : 'Nobody is in line.')],
    `${q} is ${word}.`, state === 'reject' ? q : '');
}

/* ---- tiers ---- */

function tierRow(t) {
  const row = el('div', { class: 'tier' },
    el('label', {}, 'While below', el('input', { class: 'below', inputmode: 'decimal', value: t.below })),
    el('label', {}, 'at most per second', el('input', { class: 'per', inputmode: 'decimal', value: t.rate_per_s })),
    el('button', { type: 'button', on: { click: () => row.remove() } }, 'Remove'));
  return row;
}

function limitField(limit) {
  const field = el('fieldset', {}, el('legend', {}, limit.metric), ...limit.tiers.map(tierRow));
  const more = el('button', { type: 'button', on: { click: () => field.insertBefore(tierRow({ below: '', rate_per_s: '' }), more) } }, 'One more tier');
  field.dataset.metric = limit.metric;
  field.append(more, p('Above the last tier nobody is let in.'));
  return field;
}

function readNumber(input, what) {
  const v = Number(input.value);
  if (input.value.trim() === '' || !(v >= 0)) throw new Refused(0, `${what}: “${input.value}” is no number`);
  return v;
}

const readLimit = field => ({
  metric: field.dataset.metric,
  tiers: [...field.querySelectorAll('.tier')].map(row => ({
    below: readNumber(row.querySelector('.below'), field.dataset.metric),
    rate_per_s: readNumber(row.querySelector('.per'), field.dataset.metric),
  })),
});

function askTiers() {
  if (!queue) return;
  const q = queue.queue, { version } = queue.def, fields = queue.def.limits.map(limitField);
  if (!fields.length) return say(`${q} has no limits by metrics.`);
  ask(`Change the tiers of ${q}?`, 'Change the tiers', fields,
    () => changeFrom(version, queuePath(q), { limits: fields.map(readLimit) }), `Tiers of ${q} changed.`);
}

/* ---- keeping the fields up to date ---- */

// What somebody is typing for this queue is left alone.
function fill(id, value) {
  const e = $(id);
  if (e.dataset.touched === queue.queue || document.activeElement === e) return;
  delete e.dataset.touched;
  if (e.value !== String(value)) e.value = value;
}

export function show(q, live) {
  queue = q;
  words = { states: live.states, modes: live.modes };
  definition.show(q, live.routers);
  $('d-queue').hidden = !q;
  $('edit-tiers').hidden = !q || !q.def.limits.length;
  if (!q) return;
  for (const [id, danger] of [['states', false], ['states-danger', true]]) list($(id), words.states.filter(s => DANGEROUS.has(s) === danger), s => s,
    s => el('button', { type: 'button', class: danger ? 'danger' : '', on: { click: () => askState(s) } }, stateOf(s)[3]),
    (e, s) => {
      e.setAttribute('aria-pressed', String(s === q.state));
      e.disabled = s === q.state;
    });
  list($('mode'), words.modes, m => m, m => el('option', { value: m }, m), () => {});
  fill('rate-n', q.def.release_per_s || '');
  $('rate-limits').disabled = !q.def.release_per_s;
  fill('max-n', q.def.max_active);
  fill('mode', q.def.mode);
  fill('message', q.message);
}
