// definition.js: the whole definition of a queue; a new queue; and what has no way back.
import { $, el, number } from './dom.js';
import { change, changeFrom, get, queuePath, Refused } from './api.js';
import { ask, p, say } from './ask.js';
import { differs, field } from './forms.js';
import { askHours, askLanes, askPage } from './setup.js';
import { DANGEROUS, inLine, people } from './words.js';

let queue = null, routers = [], begun = () => {};

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

const differing = (old, now) => Object.fromEntries(differs(old, now).map(k => [k, now[k]]));

// Only what differs is sent.
async function askDefinition() {
  const name = queue.queue, read = await get(queuePath(name)), shown = bare(read);
  const text = area('JSON; what each key means: conf/queuemng.yaml', JSON.stringify(shown, null, 2)), says = p('Nothing is changed yet.');
  text.lastChild.addEventListener('input', () => {
    let now = null;
    try { now = JSON.parse(text.lastChild.value); } catch { /* half typed */ }
    says.textContent = !now ? 'Not complete yet.' : differs(shown, now).length ? 'To be changed: ' + differs(shown, now).join(', ') + '.' : 'Nothing is changed yet.';
  });
  ask(`The definition of ${name}`, 'Change it', [text, says], () => {
    const now = parse(text.lastChild.value), keys = differs(shown, now);
    if (!keys.length) throw new Refused(0, 'Nothing is changed.');
    const gone = keys.filter(k => !(k in now));
    if (gone.length) throw new Refused(0, `Missing: ${gone.join(', ')}. Put a key back, or give it another value.`);
    if (keys.includes('state') && DANGEROUS.has(now.state)) throw new Refused(0, `state: ${now.state} is set in the danger zone of the controls, which says what it does to those who wait.`);
    if (keys.includes('message') && !keys.includes('page')) keys.push('page'); // a new message alone takes its translations away
    return changeFrom(read.version, queuePath(name), Object.fromEntries(keys.map(k => [k, now[k]])));
  }, `The definition of ${name} changed.`);
}

const FIRST = { release_per_s: 10 };
const OWN = ['name', 'version', 'state', 'opens_at', 'closes_at', 'message']; // a copy begins without them

// Without translations of the message, too.
const toCopy = q => Object.fromEntries(Object.entries(q).filter(([k]) => !OWN.includes(k)).map(([k, v]) => [k, k === 'page' ? { ...v, messages: [] } : v]));

// A queue like another one, or like the defaults; the two that differ most have fields.
async function askAdd() {
  const { queues, defaults } = await get('queues');
  const name = field('name', 'Name', 'lower case letters, digits, - and _', '', { required: true, pattern: '[a-z0-9][a-z0-9_\\-]*', maxlength: 64 });
  const text = area('What differs from the defaults', JSON.stringify(FIRST, null, 2));
  const like = el('label', {}, 'Like', el('select', { on: { change: () => {
    const q = queues.find(x => x.name === like.control.value);
    text.control.value = JSON.stringify(q ? differing(toCopy(defaults), toCopy(q)) : FIRST, null, 2);
  } } }, el('option', { value: '' }, 'the defaults'), ...queues.map(q => el('option', { value: q.name }, q.name))));
  const rate = field('release_per_s', 'Fixed rate per second', 'empty: as below; 0: by limits', '', { inputmode: 'decimal' }), title = field('page.title', 'Title of its page', 'empty: as below', '');
  ask('Add a queue', 'Add it', [name, like, rate, title, text], async () => {
    const q = name.control.value.trim(), def = parse(text.control.value);
    if (!q) throw new Refused(0, 'A queue needs a name.');
    if (rate.control.value.trim()) def.release_per_s = Number(rate.control.value);
    if (title.control.value.trim()) def.page = { ...def.page, title: title.control.value.trim() };
    await change('PUT', queuePath(q), def, { 'If-None-Match': '*' });
    begun(q);
  }, () => `${name.control.value.trim()} is there.`);
}

/* ---- no way back ---- */

function askFlush() {
  const { queue: name } = queue, n = inLine(queue);
  ask(`Flush ${name}?`, `Send ${n ? number(n) : 'everybody'} away`, [p(`${people(n)} in line lose the place for good, and are told so. Passes that are out stay good until they end.`)],
    () => change('POST', queuePath(name) + '/flush'), `${name} is flushed.`, name);
}

function askDelete() {
  const { queue: name } = queue;
  ask(`Delete ${name}?`, 'Delete it', [p(`Nobody joins and nobody is let in any more. ${people(inLine(queue))} in line, ${people(queue.inside)} inside. For ten minutes segqctl queue restore ${name} brings it back.`)],
    () => change('DELETE', queuePath(name)), got => got && got.detail || `${name} is deleted.`, name);
}

/* ---- start ---- */

const ORDERS = { 'd-hours': () => askHours(queue), 'd-lanes': () => askLanes(queue), 'd-page': () => askPage(queue, routers),
  'd-all': askDefinition, 'd-flush': askFlush, 'd-delete': askDelete };

// added: what is done with the name of a new queue.
export function begin(added) {
  begun = added;
  for (const [id, fn] of Object.entries(ORDERS)) $(id).addEventListener('click', () => queue && Promise.resolve(fn()).catch(e => say(e.message)));
  $('add-queue').addEventListener('click', () => askAdd().catch(e => say(e.message)));
}

export function show(q, all) {
  queue = q;
  routers = all;
}
