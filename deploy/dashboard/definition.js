// definition.js: what is set once, not in the night: hours, lanes, texts, the whole definition; a new
// queue; and what has no way back.
import { $, el, number } from './dom.js';
import { change, enc, get, Refused } from './api.js';
import { ask, p, say } from './ask.js';
import { inLine, people } from './words.js';

let queue = null, routers = [], begun = () => {};
const path = name => 'queues/' + enc(name);

/* ---- hours ---- */

const field = (label, hint, value, attributes) => el('label', {}, label + ' ', el('small', {}, hint), el('input', { value, ...attributes, autocomplete: 'off' }));
const whole = t => t.replace(/\.\d+Z$/, 'Z');
// What a field of local time has, and takes.
const local = text => { const t = Date.parse(text); return t ? new Date(t - new Date(t).getTimezoneOffset() * 60000).toISOString().slice(0, 16) : ''; };
const utc = value => value ? whole(new Date(value).toISOString()) : '';

function askHours() {
  const { def, queue: name } = queue;
  const from = field('Opens at', 'empty: it is open now', local(def.opens_at), { type: 'datetime-local' }), to = field('Closes at', 'empty: never', local(def.closes_at), { type: 'datetime-local' });
  const early = field('People may come early by', 'for example 30m; their places are drawn; 0: not at all', def.prequeue);
  ask(`When is ${name} open?`, 'Set the hours', [from, to, early],
    () => change('PATCH', path(name), { opens_at: utc(from.lastChild.value), closes_at: utc(to.lastChild.value), prequeue: early.lastChild.value.trim() || 0 }), `Hours of ${name} set.`);
}

/* ---- definitions ---- */

const area = (label, value) => el('label', {}, label, el('textarea', { class: 'code', rows: 16, spellcheck: 'false' }, value));

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (e) {
    throw new Refused(0, 'This is no JSON: ' + e.message);
  }
}

const bare = ({ name, version, ...rest }) => rest;
const differs = (a, b) => Object.keys({ ...a, ...b }).filter(k => JSON.stringify(a[k]) !== JSON.stringify(b[k]));

// All states of the waiting page, at a router; the link is good for an hour.
async function preview() {
  const at = await get(path(queue.queue) + '/preview'), router = routers.find(r => r.http);
  const link = router ? el('a', { href: `http://${router.http}${at.path}`, target: '_blank', rel: 'noopener noreferrer' }, 'Preview of all states of the page') : 'No router is connected: no preview.';
  return el('p', {}, link, ' ', el('small', {}, 'as it is now, with figures that are made up; nobody takes a place'));
}

// Keys of the definition that are edited together; [] = all. Only what differs is sent. above: more
// elements, above the text.
async function askDefinition(what, keys, above = []) {
  const name = queue.queue, old = bare(await get(path(name))), shown = keys.length ? Object.fromEntries(keys.map(k => [k, old[k]])) : old;
  const text = area('JSON; what each key means: conf/queuemng.yaml', JSON.stringify(shown, null, 2)), says = p('Nothing is changed yet.');
  text.lastChild.addEventListener('input', () => {
    let now = null;
    try { now = JSON.parse(text.lastChild.value); } catch { /* half typed */ }
    says.textContent = !now ? 'Not complete yet.' : differs(shown, now).length ? 'To be changed: ' + differs(shown, now).join(', ') + '.' : 'Nothing is changed yet.';
  });
  ask(`${what} of ${name}`, 'Change it', [...above, text, says], () => {
    const now = parse(text.lastChild.value), keysNow = differs(shown, now);
    if (!keysNow.length) throw new Refused(0, 'Nothing is changed.');
    const gone = keysNow.filter(k => !(k in now));
    if (gone.length) throw new Refused(0, `Missing: ${gone.join(', ')}. Put a key back, or give it another value.`);
    return change('PATCH', path(name), Object.fromEntries(keysNow.map(k => [k, now[k]])));
  }, `${what} of ${name} changed.`);
}

const FIRST = { mode: 'rate', release_per_s: 10, pass_ttl: '5m', poll_min: '1s', poll_max: '30s' };

function askAdd() {
  const name = field('Name', 'lower case letters, digits, - and _', '', { required: true, pattern: '[a-z0-9][a-z0-9_\\-]*', maxlength: 64 });
  const text = area('What differs from the defaults', JSON.stringify(FIRST, null, 2));
  ask('Add a queue', 'Add it', [name, text], async () => {
    const q = name.lastChild.value.trim();
    if (!q) throw new Refused(0, 'A queue needs a name.');
    const def = parse(text.lastChild.value);
    await change('PUT', path(q), def, { 'If-None-Match': '*' });
    begun(q);
  }, () => `${name.lastChild.value.trim()} is there.`);
}

/* ---- no way back ---- */

function askFlush() {
  const { queue: name } = queue, n = inLine(queue);
  ask(`Flush ${name}?`, `Send ${n ? number(n) : 'everybody'} away`, [p(`${people(n)} in line lose the place for good, and are told so. Passes that are out stay good until they end.`)],
    () => change('POST', path(name) + '/flush'), `${name} is flushed.`, name);
}

function askDelete() {
  const { queue: name } = queue;
  ask(`Delete ${name}?`, 'Delete it', [p(`Nobody joins and nobody is let in any more. ${people(inLine(queue))} in line, ${people(queue.inside)} inside. For ten minutes segqctl queue restore ${name} brings it back.`)],
    () => change('DELETE', path(name)), got => got && got.detail || `${name} is deleted.`, name);
}

/* ---- start ---- */

const ORDERS = { 'd-hours': askHours, 'd-lanes': () => askDefinition('Lanes', ['lanes', 'sharing']), 'd-page': async () => askDefinition('Page and texts', ['page'], [await preview().catch(e => p('No preview: ' + e.message))]),
  'd-all': () => askDefinition('The definition', []), 'd-flush': askFlush, 'd-delete': askDelete };

// added: what is done with the name of a new queue.
export function begin(added) {
  begun = added;
  for (const [id, fn] of Object.entries(ORDERS)) $(id).addEventListener('click', () => queue && Promise.resolve(fn()).catch(e => say(e.message)));
  $('add-queue').addEventListener('click', askAdd);
}

export function show(q, all) {
  queue = q;
  routers = all;
}
