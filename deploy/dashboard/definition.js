// definition.js: the definition of a queue: forms of what is set once, the whole of it, a new queue, and
// what has no way back.
import { $, el, number, span } from './dom.js';
import { change, changeFrom, get, queuePath, Refused } from './api.js';
import { ask, p, say } from './ask.js';
import { area, askForm, choice, differs, field, numberOf, rows, rowsOf, valueOf } from './forms.js';
import { DANGEROUS, inLine, people } from './words.js';

let queue = null, routers = [], begun = () => {};

const two = n => String(n).padStart(2, '0');

/* ---- hours ---- */

const shift = t => { const m = -new Date(t).getTimezoneOffset(); return (m < 0 ? '-' : '+') + two(Math.floor(Math.abs(m) / 60)) + ':' + two(Math.abs(m) % 60); };
const local = t => new Date(t - new Date(t).getTimezoneOffset() * 60000).toISOString().slice(0, 19);
// What a field of local time has; and a moment with this browser's zone. The same moment stays as it
// was written.
const shown = text => { const t = Date.parse(text); return t ? local(t).replace(/:00$/, '') : ''; };
function moment(e, old) {
  const v = valueOf(e), t = Date.parse(v);
  return !v ? '' : t === Date.parse(old) ? old : local(t) + shift(t);
}

const utc = text => new Date(text).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }) + ' UTC';
function hoursSay(now, inLine) {
  const to = Date.parse(now.opens_at) - Date.now(), early = parseFloat(now.prequeue) > 0;
  return (to > 0 ? `It opens at ${utc(now.opens_at)}, in ${span(to)}; ${early ? 'the places of those who are early are drawn then.' : 'nobody may join before.'}` : now.opens_at ? 'That opening is over: people may join.' : 'People may join at any time.') +
    (now.closes_at ? ` From ${utc(now.closes_at)} on nobody may join; those in line are let in.` : '') +
    (to > 0 && inLine ? ` Until it opens nobody is let in: ${people(inLine)} in line ${inLine === 1 ? 'waits' : 'wait'}.` : '');
}

async function askHours(queue) {
  const name = queue.queue, old = await get(queuePath(name)), time = { type: 'datetime-local' };
  const from = field('opens_at', 'Opens at', 'empty: it is open now', shown(old.opens_at), time), to = field('closes_at', 'Closes at', 'empty: never', shown(old.closes_at), time);
  const early = field('prequeue', 'People may come early by', 'for example 30m; their places are drawn at the opening; 0: not at all', old.prequeue);
  const size = field('prequeue_capacity', 'People in one draw', 'later ones form the next draw, behind it', old.prequeue_capacity, { inputmode: 'numeric' });
  askForm(`When is ${name} open?`, 'Set the hours', { path: queuePath(name), old, done: `Hours of ${name} set.`, says: now => hoursSay(now, inLine(queue)),
    body: [p(`Times are those of this browser: ${Intl.DateTimeFormat().resolvedOptions().timeZone}, UTC${shift(Date.now())}.`), from, to, early, size],
    read: () => ({ opens_at: moment(from, old.opens_at), closes_at: moment(to, old.closes_at), prequeue: valueOf(early) || '0ms', prequeue_capacity: numberOf(size) }) });
}

/* ---- lanes ---- */

// Those that go have to be empty; the others share what is let in.
function lanesSay(queue, now) {
  const left = now.lanes.length ? now.lanes : [{ name: 'default', weight: 1 }], sum = left.reduce((n, l) => n + (Number(l.weight) || 0), 0);
  const gone = queue.lanes.slice(left.length).map(l => [l, l.waiting + l.returning, l.ready + l.active]);
  return [...gone.map(([l, wait, inside]) => wait + inside
    ? `${l.lane} has ${people(wait)} in line and ${people(inside)} inside: it is removed when nobody is in it. Give no more claims for it.`
    : `${l.lane} goes; nobody is in it. Claims for it are refused then.`),
  left.length < 2 ? 'One line.' : now.sharing === 'strict' ? `${left[0].name} goes first; the next lane moves when the one before it is empty.`
    : `While all have waiters: ${left.map(l => `${l.name} ${number(100 * (Number(l.weight) || 0) / (sum || 1))} %`).join(', ')} of those who are let in.`,
  left.length > queue.lanes.length ? 'People come into a new lane by a signed claim; all others join the first.' : ''].filter(Boolean).join(' ');
}

async function askLanes(queue) {
  const name = queue.queue, old = await get(queuePath(name)), plain = !old.lanes.length;
  const box = rows('lanes', 'Lanes, the first is for those without a claim', plain ? [{ name: 'default', weight: 1 }] : old.lanes,
    (l, isNew) => [field('name', 'Lane', '', l.name, { readonly: !isNew, maxlength: 64 }), field('weight', 'Weight', '', l.weight, { inputmode: 'numeric' })],
    { name: '', weight: 1 }, 'Add a lane', true);
  const sharing = choice('sharing', 'Sharing', 'weight: by the weights; strict: the first lane first', old.sharing, ['weight', 'strict']);
  const lanes = () => rowsOf(box, of => ({ name: valueOf(of('name')), weight: numberOf(of('weight')) }));
  const isPlain = v => plain && v.length === 1 && v[0].weight === 1;
  askForm(`Lanes of ${name}`, 'Change the lanes', { path: queuePath(name), old, done: `Lanes of ${name} changed.`, body: [box, sharing], says: now => lanesSay(queue, now),
    read: () => ({ lanes: isPlain(lanes()) ? [] : lanes(), sharing: valueOf(sharing) }) });
}

/* ---- the page ---- */

// All states of the waiting page, at a router; the link is good for an hour.
async function preview(name, routers) {
  const at = await get(queuePath(name) + '/preview'), router = routers.find(r => r.http);
  const link = router ? el('a', { href: `http://${router.http}${at.path}`, target: '_blank', rel: 'noopener noreferrer' }, 'Preview of all states of the page') : 'No router is connected: no preview.';
  return el('p', {}, link, ' ', el('small', {}, 'as it is now, with figures that are made up; nobody takes a place'));
}

const PAGE = [ // key, label, hint, attributes
  ['title', 'Title', 'empty: the built-in one, in the visitor’s language'], ['message', 'Notice', 'empty: none'],
  ['accent', 'Colour', 'like #1a5fb4; empty: the built-in one'], ['logo', 'Logo', 'a path on the site, like /logo.svg, or data:image/…'],
  ['image', 'Picture above the card', 'as the logo'], ['lang', 'Language', 'of browsers that prefer none of the page’s, like de; empty: as the routers have it'],
];
const TEXT = [['lang', 'Language', 'zh, pt-br'], ['title', 'Title', ''], ['message', 'Notice', '']];

async function askPage({ queue: name }, routers) {
  const [old, link] = await Promise.all([get(queuePath(name)), preview(name, routers).catch(e => p('No preview: ' + e.message))]), page = old.page;
  const plain = PAGE.map(([k, text, hint]) => [k, field('page.' + k, text, hint, page[k])]);
  const texts = rows('page.texts', 'In other languages', page.texts, t => TEXT.map(([k, text, hint]) => field(k, text, hint, t[k])), { lang: '', title: '', message: '' }, 'Add a language');
  const back = field('page.return', 'Origins to return to', 'besides this site, like https://shop.example; spaces between them', page.return.join(' '));
  const style = area('page.style', 'Style sheet', 'CSS behind the built-in one, up to 8000 bytes', page.style, { class: 'code', spellcheck: 'false' });
  askForm(`Page and texts of ${name}`, 'Change the page', { path: queuePath(name), old, done: `Page of ${name} changed: people see it within seconds.`, body: [link, ...plain.map(x => x[1]), texts, back, style],
    read: () => ({ page: { ...page, ...Object.fromEntries(plain.map(([k, e]) => [k, valueOf(e)])), texts: rowsOf(texts, of => Object.fromEntries(TEXT.map(([k]) => [k, valueOf(of(k))]))),
      return: valueOf(back).split(/[\s,]+/).filter(Boolean), style: valueOf(style) } }) });
}

/* ---- definitions ---- */

const code = (label, value) => el('label', {}, label, el('textarea', { class: 'code', rows: 16, spellcheck: 'false' }, value));

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
  const text = code('JSON; what each key means: conf/queuemng.yaml', JSON.stringify(shown, null, 2)), says = p('Nothing is changed yet.');
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
  const text = code('What differs from the defaults', JSON.stringify(FIRST, null, 2));
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
  'd-all': askDefinition, 'd-rehearse': () => import('./rehearse.js').then(m => m.rehearse(queue)), 'd-flush': askFlush, 'd-delete': askDelete };

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
