// setup.js: the forms of what is set once for a queue of people: its hours, its lanes, its page.
import { el, number, span } from './dom.js';
import { get, queuePath } from './api.js';
import { p } from './ask.js';
import { area, askForm, choice, field, numberOf, rows, rowsOf, valueOf } from './forms.js';
import { inLine, people } from './words.js';

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

export async function askHours(queue) {
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

export async function askLanes(queue) {
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

export async function askPage({ queue: name }, routers) {
  const [old, link] = await Promise.all([get(queuePath(name)), preview(name, routers).catch(e => p('No preview: ' + e.message))]), page = old.page;
  const plain = PAGE.map(([k, text, hint]) => [k, field('page.' + k, text, hint, page[k])]);
  const texts = rows('page.texts', 'In other languages', page.texts, t => TEXT.map(([k, text, hint]) => field(k, text, hint, t[k])), { lang: '', title: '', message: '' }, 'Add a language');
  const back = field('page.return', 'Origins to return to', 'besides this site, like https://shop.example; spaces between them', page.return.join(' '));
  const style = area('page.style', 'Style sheet', 'CSS behind the built-in one, up to 8000 bytes', page.style, { class: 'code', spellcheck: 'false' });
  askForm(`Page and texts of ${name}`, 'Change the page', { path: queuePath(name), old, done: `Page of ${name} changed: people see it within seconds.`, body: [link, ...plain.map(x => x[1]), texts, back, style],
    read: () => ({ page: { ...page, ...Object.fromEntries(plain.map(([k, e]) => [k, valueOf(e)])), texts: rowsOf(texts, of => Object.fromEntries(TEXT.map(([k]) => [k, valueOf(of(k))]))),
      return: valueOf(back).split(/[\s,]+/).filter(Boolean), style: valueOf(style) } }) });
}
