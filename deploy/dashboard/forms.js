// forms.js: a form over a definition. What it changes stands below it, from what to what; what the
// manager refuses stands at the field; a definition that somebody else has changed meanwhile stays.
import { $, el, list, put } from './dom.js';
import { change, changeFrom, Refused } from './api.js';
import { ask } from './ask.js';
import { short } from './words.js';

/* ---- fields: each has the key of the definition that it changes ---- */

const label = (key, text, hint, control) => el('label', { 'data-key': key }, text + ' ', el('small', {}, hint), control);
export const field = (key, text, hint, value, attributes) => label(key, text, hint, el('input', { value, autocomplete: 'off', ...attributes }));
export const area = (key, text, hint, value, attributes) => label(key, text, hint, el('textarea', { rows: 4, ...attributes }, value));
export const choice = (key, text, hint, value, values) => label(key, text, hint, el('select', {}, ...values.map(v => el('option', { value: v, selected: v === value }, v || '–'))));
export const valueOf = e => e.control.value.trim();
// What is no number goes as it is: the manager says what is wrong with it.
export const numberOf = e => { const v = valueOf(e); return v === '' || isNaN(v) ? v : Number(v); };

const itemOf = new WeakMap(); // what a row began with

// Rows of a list: make(item) -> labels of one. Only the last goes where `tail` is true.
export function rows(key, title, items, make, blank, more, tail) {
  const box = el('fieldset', {}, el('legend', {}, title));
  const add = el('button', { type: 'button', on: { click: () => { box.insertBefore(row(blank, true), add).querySelector('input').focus(); fit(); } } }, more);
  const fit = () => [...box.querySelectorAll('.item')].forEach((e, i, all) => {
    for (const x of e.querySelectorAll('[data-key]')) x.dataset.key = `${key}[${i}].${x.dataset.name}`;
    e.querySelector('button').disabled = Boolean(tail) && (i < all.length - 1 || all.length === 1);
  });
  const row = (item, isNew) => {
    const labels = make(item, isNew), e = el('div', { class: labels.length > 2 ? 'item wide n' + labels.length : 'item' }, ...labels, el('button', { type: 'button', on: { click: () => { e.remove(); fit(); add.focus(); box.dispatchEvent(new Event('input', { bubbles: true })); } } }, 'Remove'));
    for (const x of e.querySelectorAll('[data-key]')) x.dataset.name = x.dataset.key;
    itemOf.set(e, item);
    return e;
  };
  box.dataset.key = key;
  box.append(...items.map(x => row(x, false)), add);
  fit();
  return box;
}
export const rowsOf = (box, read) => [...box.querySelectorAll('.item')].map(e => read(name => e.querySelector(`[data-name="${name}"]`), itemOf.get(e)));

/* ---- what changes ---- */

const isMap = v => v !== null && typeof v === 'object' && !Array.isArray(v);
export const differs = (a, b) => Object.keys({ ...a, ...b }).filter(k => JSON.stringify(a[k]) !== JSON.stringify(b[k]));

// [key, from, to] of all that differs, in maps too.
const turnsOf = (old, now, above = '') => differs(old, now).flatMap(k => isMap(old[k]) && isMap(now[k])
  ? turnsOf(old[k], now[k], above + k + '.') : [[above + k, old[k], now[k]]]);

/* ---- what is refused ---- */

// "queue login: page: accent must be ..." is said at the field page.accent.
function atField(box, said) {
  const text = said.replace(/^(queue|pool|endpoint|schedule) \S+: /, ''), key = text.replace(/^page: /, 'page.').replace(/^lane .*/, 'lanes');
  const fits = [...box.querySelectorAll('[data-key]')].filter(e => key.startsWith(e.dataset.key)).sort((a, b) => b.dataset.key.length - a.dataset.key.length)[0];
  if (!fits) return false;
  const control = fits.control || fits.querySelector('input,button');
  (fits.closest('.item') || fits).append(el('small', { id: 'wrong', class: 'wrong' }, text));
  if (fits.control) control.setAttribute('aria-invalid', 'true');
  control.setAttribute('aria-describedby', 'wrong');
  control.focus();
  return true;
}

function clear(box) {
  for (const e of box.querySelectorAll('#wrong')) e.remove();
  for (const e of box.querySelectorAll('[aria-describedby=wrong]')) {
    e.removeAttribute('aria-invalid');
    e.removeAttribute('aria-describedby');
  }
}

// body: fields; read() -> the definition's keys as they are to be; old: as they are, with `version`,
// or null: a new one, at path(). Sends what differs.
export function askForm(question, yes, { path, old, body, read, done, says = () => '' }) {
  const turns = el('ul', { class: 'turns', 'aria-label': 'What changes' }), more = el('p', { class: 'none' }), box = el('div', {}, ...body);
  const was = now => Object.fromEntries(Object.keys(now).map(k => [k, old ? old[k] : undefined]));
  const tell = () => {
    const now = read(), lines = turnsOf(was(now), now);
    list(turns, lines.length ? lines : [['Nothing is changed yet.']], x => x[0], () => el('li'), (e, [k, from, to]) => put(e, lines.length ? `${k}: ${short(from)} → ${short(to)}` : k));
    put(more, says(now));
  };
  box.addEventListener('input', () => { clear(box); put($('ask-why'), ''); tell(); });
  box.addEventListener('click', tell);
  tell();
  ask(question, yes, [box, turns, more], async () => {
    clear(box);
    const now = read(), keys = differs(was(now), now), what = Object.fromEntries(keys.map(k => [k, now[k]]));
    if (old && !keys.length) throw new Refused(0, 'Nothing is changed.');
    try {
      return await (old ? changeFrom(old.version, path, what) : change('PUT', path(), what, { 'If-None-Match': '*' }));
    } catch (x) {
      if (!(x instanceof Refused) || !atField(box, x.message)) throw x;
      throw new Refused(x.status, 'Not saved: fix the marked field.');
    }
  }, done);
  $('ask').classList.add('form');
}
