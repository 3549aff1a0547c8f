// dom.js: elements, and changing only what differs: a keyboard or a screen reader does not lose its
// place every second.
const SVG = 'http://www.w3.org/2000/svg';
export const $ = id => document.getElementById(id);

export function el(name, attributes, ...kids) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === 'on') for (const [event, fn] of Object.entries(v)) e.addEventListener(event, fn);
    else if (v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...kids);
  return e;
}

export function svg(name, attributes) {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  return e;
}

export function put(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

export function mark(e, name, value) {
  if (e.getAttribute(name) !== value) e.setAttribute(name, value);
}

// The children of `parent` become those of `items`, in their order; elements that are there stay.
// make(item) -> element, show(element, item) brings it up to date. A key names one item: a second
// one with it is not shown, and the console says so.
export function list(parent, items, keyOf, make, show) {
  const have = new Map([...parent.children].map(e => [e.dataset.key, e])), used = new Map();
  let at = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    if (used.has(key)) {
      console.error(`#${parent.id}: the key "${key}" is there twice`);
      continue;
    }
    let e = have.get(key);
    if (!e) {
      e = make(item);
      e.dataset.key = key;
    }
    used.set(key, e);
    if (e === at) at = at.nextElementSibling;
    else parent.insertBefore(e, at);
    show(e, item);
  }
  for (const e of [...parent.children]) if (used.get(e.dataset.key) !== e) e.remove();
}

// A table. columns: [head, text(row), kind, make(row)]: 'n' a number; 'url' is cut, the whole is its title;
// 'name': make() makes the element that has the text.
export function table(id, columns, rows, keyOf) {
  const [head, body] = $(id).children;
  list(head.firstElementChild, columns, c => c[0], c => el('th', { scope: 'col', class: c[2] === 'n' ? 'n' : '' }, c[0]), () => {});
  list(body, rows, keyOf,
    row => el('tr', {}, ...columns.map(c => c[2] === 'name' ? el('th', { scope: 'row' }, c[3](row)) : el('td', { class: c[2] || '', 'data-head': c[0] }))),
    (e, row) => columns.forEach(([, text, kind], i) => {
      put(kind === 'name' ? e.children[i].firstChild : e.children[i], text(row));
      if (kind === 'url') mark(e.children[i], 'title', text(row));
    }));
}

export const level = (id, n, levelOf) => { // colours one column by its rows
  for (const [i, e] of [...$(id).tBodies[0].rows].entries()) mark(e.children[n], 'class', levelOf(i));
};

// 1234567 -> 1,234,567
export const number = n => Math.round(n).toLocaleString('en');
export const rate = n => n >= 100 || n === Math.round(n) ? number(n) : n >= 1 ? n.toFixed(1)
  : n >= 0.01 ? n.toFixed(2) : String(Number(n.toPrecision(1)));

export function span(ms) {
  const s = Math.round(ms / 1000);
  if (s < 120) return s + ' s';
  if (s < 7200) return Math.round(s / 60) + ' min';
  return s < 172800 ? Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' days';
}

export function clock(ms) {
  const d = new Date(ms), two = n => String(n).padStart(2, '0');
  const at = two(d.getHours()) + ':' + two(d.getMinutes());
  return d.toDateString() === new Date().toDateString() ? at + ':' + two(d.getSeconds()) : `${d.getDate()} ${d.toLocaleString('en', { month: 'short' })} ${at}`;
}
