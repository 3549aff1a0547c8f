// graph.js: the main picture, in SVG: who waits, and what comes and goes a second, with events as marks.
//
// From Grafana: one time axis, a cursor that reads every line at once into the legend, broken lines
// where nothing is known. From Linear: the picture stands alone, and colour means trouble.
import { $, el, svg, put, list, mark, number, rate, span, clock } from './dom.js';
import * as api from './api.js';
import { isRoutine, readEvent, sentence } from './events.js';

const RANGES = { '10m': ['10 min', 600000, 120000, 4000], '1h': ['1 h', 3600000, 600000, 10000], '24h': ['24 h', 86400000, 14400000, 60000] }; // name, long, between ticks, asked every
const LEFT = 52, RIGHT = 10, TOP = 8, FOOT = 46, GAP = 20, MARK = 24;

// What is drawn: lines are name, column, pane (-1: only read out), unit, style.
export const PEOPLE = {
  path: queue => (all ? 'cluster' : 'queues/' + api.enc(queue)) + '/history?',
  lines: [['Waiting', 'waiting', 0, '', 'l0'], ['Arrivals', 'joined_per_s', 1, '/s', 'l1'], ['Let in', 'released_per_s', 1, '/s', 'l2'], ['Limit', 'allowed_per_s', 1, '/s', 'l3']],
  come: ['joined_per_s', 'released_per_s'], limit: 'allowed_per_s',
  said: ['arrived', 'joined_per_s_max', 'were let in', 'released_per_s_max'],
  mine: (e, queue) => (all || !e.queue || e.queue === queue) && !e.pool && !e.endpoint && e.partitions === undefined,
};
export const POOL = {
  path: pool => `history?pool=${api.enc(pool)}&`,
  lines: [['Waiting', 'waiting', 0, '', 'l0'], ['Arrive', 'accepted_per_s', 1, '/s', 'l1'], ['Start', 'started_per_s', 1, '/s', 'l2'], ['End', 'ended_per_s', 1, '/s', 'le'], ['Fail', 'failed_per_s', 1, '/s', 'lf'],
    ['Wait p50', 'wait_p50_ms', 2, 'ms', 'l0'], ['Wait p99', 'wait_p99_ms', 2, 'ms', 'l3'], ['Oldest', 'oldest_ms', -1, 'ms', 'lx'], ['Running', 'running', -1, '', 'lx']],
  come: ['accepted_per_s', 'started_per_s', 'ended_per_s', 'failed_per_s'], limit: '',
  said: ['arrived', 'accepted_per_s_max', 'started', 'started_per_s_max'],
  mine: (e, pool) => e.pool === pool || (!e.queue && !e.pool),
};
let what = PEOPLE, range = '10m', all = false, data = null, dataOf = '', askedAt = 0, cursor = -1, marks = [], now = {}, mine = 0;

/* ---- asking ---- */

const nameOf = name => what === POOL ? `pool ${name} ${range}` : (all ? '' : name) + ' ' + range;

// Before that the picture of another queue, or range, is not shown.
export async function look(queue) {
  const of = nameOf(queue), round = ++mine;
  if (of === dataOf && Date.now() - askedAt < RANGES[range][3]) return;
  if (!queue) return;
  const h = await api.get(`${what.path(queue)}range=${range}`);
  if (round !== mine) return; // another question is younger
  [data, dataOf, askedAt] = [h, of, Date.now()];
  draw();
}

// People, or a pool: the picture of the other is not shown meanwhile.
export function turn(to) {
  if (what === to) return;
  [what, data, dataOf, cursor] = [to, null, '', -1];
  for (const e of ['g-svg', 'g-now', 'g-marks', 'g-signs', 'g-when', 'g-says']) $(e).replaceChildren();
}

// The last reading of a column; null: not known.
export function lastOf(queue, column) {
  if (!data || all || what === POOL || dataOf !== nameOf(queue)) return null;
  const p = data.points[data.points.length - 1];
  return p ? p[data.columns.indexOf(column)] : null;
}

/* ---- scales ---- */

function nice(most) {
  const base = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return [1, 1.5, 2, 3, 4, 6, 8, 10].map(k => k * base).find(v => v >= most) || 10 * base;
}

const values = (column, from = data) => {
  const at = from.columns.indexOf(column);
  return from.points.map(p => p ? p[at] : null);
};
const most = v => v.reduce((a, b) => b !== null && b > a ? b : a, 0);

function sizes() {
  const w = Math.max(280, $('g-area').clientWidth), h = w < 560 ? 260 : 320, plot = h - TOP - FOOT - GAP, end = h - FOOT, third = what === POOL ? 90 : 0;
  return { w, h: h + third, panes: [[TOP, TOP + plot * 0.58], [TOP + plot * 0.58 + GAP, end], ...third ? [[end + GAP, end + third]] : []] };
}

// A limit far above what comes would press all else to the floor: it is in the legend, and an arrow at
// the edge, unless nothing comes.
function tops() {
  const come = Math.max(...what.come.map(c => most(values(c)))), limit = what.limit ? most(values(what.limit)) : 0;
  const peak = data.step_ms > 2000 ? most(values('waiting_max')) : 0;
  return [nice(Math.max(most(values('waiting')), peak, 10)), nice(!come || limit <= 4 * come ? Math.max(come, limit) : come), what === POOL ? nice(Math.max(most(values('wait_p99_ms')), 10)) : 0];
}

const frame = () => {
  const s = sizes(), long = RANGES[range][1], top = tops();
  const y = (pane, v) => { const [a, b] = s.panes[pane]; return b - (b - a) * Math.min(v, top[pane]) / top[pane]; };
  return { ...s, tops: top, y, x: t => LEFT + (s.w - LEFT - RIGHT) * (1 - (data.at_ms - t) / long) };
};
const timeAt = i => data.at_ms - (data.points.length - 1 - i) * data.step_ms;

/* ---- drawing ---- */

// Broken where nothing is known; one round that was late is no break.
const bridged = v => v.map((x, i) => x === null && i && i < v.length - 1 && v[i - 1] !== null && v[i + 1] !== null ? v[i - 1] : x);

function path(f, v, pane, step) {
  let out = '', on = false;
  v.forEach((x, i) => {
    if (x === null) { on = false; return; }
    const at = `${Math.max(LEFT, f.x(timeAt(i))).toFixed(1)}`, y = f.y(pane, x).toFixed(1);
    out += !on ? `M${at} ${y}h.1` : step ? `H${at}V${y}` : `L${at} ${y}`;
    on = true;
  });
  return out;
}

function band(f, low, high) {
  let out = '', run = [];
  const close = () => {
    if (run.length > 1) out += 'M' + run.map(([x, , b]) => `${x} ${b}`).join('L') + 'L' + run.reverse().map(([x, a]) => `${x} ${a}`).join('L') + 'Z';
    run = [];
  };
  high.forEach((b, i) => b === null ? close() : run.push([Math.max(LEFT, f.x(timeAt(i))).toFixed(1), f.y(0, low ? low[i] : 0).toFixed(1), f.y(0, b).toFixed(1)]));
  close();
  return out;
}

const text = (x, y, anchor, words) => { const e = svg('text', { x, y, 'text-anchor': anchor }); e.textContent = words; return e; };
const shortly = v => v >= 1e6 ? v / 1e6 + ' M' : v >= 1e4 ? v / 1e3 + ' k' : v >= 10 ? number(v) : String(v);
const ms = v => v < 2000 ? Math.round(v) + ' ms' : span(v);
const hhmm = t => new Date(t).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

function axes(f) {
  const kids = [], [, long, step] = RANGES[range], bottom = f.h - FOOT;
  f.panes.forEach(([a, b], pane) => [0, 0.5, 1].forEach(k => {
    const y = b - (b - a) * k;
    kids.push(svg('path', { class: k ? 'grid' : 'base', d: `M${LEFT} ${y}H${f.w - RIGHT}` }), text(LEFT - 6, y + 4, 'end', pane > 1 ? ms(f.tops[pane] * k) : shortly(f.tops[pane] * k) + (pane && k ? '/s' : '')));
  }));
  const zone = new Date().getTimezoneOffset() * 60000, few = f.w < 560 ? 2 : 1;
  for (let t = Math.ceil((data.at_ms - long - zone) / (few * step)) * few * step + zone; t <= data.at_ms; t += few * step)
    if (f.x(t) > LEFT + 16) kids.push(svg('path', { class: 'grid', d: `M${f.x(t).toFixed(1)} ${TOP}V${bottom}` }), text(Math.min(f.x(t), f.w - 20), f.h - 4, 'middle', hhmm(t)));
  return kids;
}

// Where nobody looked, between what is known.
function gaps(f) {
  const kids = [];
  data.points.forEach((p, i) => {
    if (p || (i && !data.points[i - 1])) return;
    const end = data.points.findIndex((x, k) => k > i && x), from = Math.max(LEFT, f.x(timeAt(i)));
    if (end > i + 1) kids.push(svg('rect', { class: 'gap', x: from, y: TOP, width: Math.max(1, f.x(timeAt(end)) - from), height: f.h - FOOT - TOP }));
  });
  return kids;
}

function draw() {
  if (!data || $('graph').offsetParent === null) return;
  const f = frame(), far = data.step_ms > 2000, e = $('g-svg');
  mark(e, 'viewBox', `0 0 ${f.w} ${f.h}`);
  mark(e, 'height', String(f.h));
  const drawn = what.lines.filter(l => l[2] >= 0), v = drawn.map(l => bridged(values(l[1])));
  const above = what.limit && most(v[3]) > f.tops[1] ? svg('text', { class: 'over', x: f.w - RIGHT, y: f.panes[1][0] + 11, 'text-anchor': 'end' }) : '';
  if (above) above.textContent = `↑ limit up to ${shortly(most(v[3]))}/s`;
  if (what.limit) v[3] = v[3].map(x => x > f.tops[1] ? null : x);
  e.replaceChildren(...gaps(f), ...axes(f),
    svg('path', { class: 'area', d: far ? band(f, bridged(values('waiting_min')), bridged(values('waiting_max'))) : band(f, null, v[0]) }),
    ...drawn.map(([, column, pane, , style], i) => svg('path', { class: 'line ' + style, d: path(f, v[i], pane, column === what.limit) })), svg('path', { class: 'cursor', id: 'g-cursor' }), above);
  showMarks(f);
  showReading(f);
  showSays(v, far);
}

function showSays(v, far) {
  const known = v[0].filter(x => x !== null), [name] = RANGES[range], [came, cameMost, went, wentMost] = what.said;
  const low = far ? values('waiting_min').filter(x => x !== null) : known;
  put($('g-says'), !known.length ? `Nothing has happened here in the last ${name}.`
    : `Last ${name}: between ${number(Math.min(...low))} and ${number(Math.max(most(known), far ? most(values('waiting_max')) : 0))} waited; at most ${rate(most(values(cameMost)))}/s ${came}, ${rate(most(values(wentMost)))}/s ${went}.`);
}

/* ---- the cursor ---- */

function showReading(f) {
  const n = data.points.length, i = Math.min(cursor, n - 1), at = i < 0 ? n - 1 : i, p = data.points[at] || null;
  const words = what.lines.map(([name, column, , unit, style]) => {
    const x = i < 0 && now[column] !== undefined ? now[column] : p ? p[data.columns.indexOf(column)] : null;
    return [name, x === null ? '–' : unit === 'ms' ? ms(x) : unit ? rate(x) + unit : number(x), style];
  });
  list($('g-now'), words, w => w[0], () => el('li', {}, el('i'), el('span'), el('b')), (e, [name, x, style]) => {
    mark(e.firstChild, 'class', style);
    put(e.children[1], name);
    put(e.lastChild, x);
  });
  const when = i < 0 ? 'now' : clock(timeAt(at));
  put($('g-when'), when);
  const area = $('g-area');
  mark(area, 'aria-valuemax', String(Math.max(0, n - 1)));
  mark(area, 'aria-valuenow', String(Math.max(0, at)));
  mark(area, 'aria-valuetext', when + ': ' + (p ? words.map(w => `${w[0]} ${w[1]}`).join(', ') : 'not known'));
  const line = $('g-cursor');
  if (line) mark(line, 'd', i < 0 ? '' : `M${Math.max(LEFT, f.x(timeAt(i))).toFixed(1)} ${TOP}V${f.h - FOOT}`);
}

function moveTo(i) {
  if (!data) return;
  cursor = i < 0 || i >= data.points.length ? -1 : i;
  showReading(frame());
}

function onKey(e) {
  const n = data ? data.points.length : 0, at = cursor < 0 ? n - 1 : cursor;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at + 10, PageDown: at - 10, Home: 0, End: n - 1, Escape: n }[e.key];
  if (to === undefined || !n) return;
  e.preventDefault();
  moveTo(e.key === 'Escape' ? -1 : Math.max(0, Math.min(n - 1, to)));
}

function onPointer(e) {
  if (!data || !data.points.length) return;
  const box = $('g-area').getBoundingClientRect(), f = frame(), part = (e.clientX - box.left - LEFT) / (f.w - LEFT - RIGHT);
  const t = data.at_ms - RANGES[range][1] * (1 - part);
  moveTo(Math.max(0, Math.round(data.points.length - 1 - (data.at_ms - t) / data.step_ms)));
}

/* ---- marks ---- */

const LOUD = /^(node_(down|lost)|segment_lost|router_down|monitor_(bad|failed)|metric_missing|store_failed|journal_(failed|full)|no_memory|core_anew|peer_dropped|not_applied|step_down)$/;
const QUIET = /^(rate_limit_changed|queue_changed|directory|redis_|partition_|endpoint_|pool_|key_|budget_|ready|reloaded|lease|leader)/;

// Of this queue or pool, or of none; changes by operators once.
export function hear(events, name) {
  marks = events.filter(x => !isRoutine(x.text)).map(x => ({ ...x, e: readEvent(x.text) }))
    .filter(x => !QUIET.test(x.e.event) && what.mine(x.e, name) && x.e.event !== 'operator');
  if (data && dataOf === nameOf(name)) draw();
}

const SIGNS = { bad: ['▲', 'trouble'], warn: ['▲', 'warning'], change: ['◆', 'change by an operator'], plain: ['●', 'something else'] };

// What the signs mean, of those that are there.
function showSigns(near) {
  const there = Object.entries(SIGNS).filter(([level]) => near.some(m => m.level === level));
  list($('g-signs'), there, x => x[0], x => el('li', {}, el('span', { class: x[0] }, x[1][0]), ' ' + x[1][1]), () => {});
}

function showMarks(f) {
  const near = [];
  for (const m of marks) {
    const x = f.x(m.at_ms), last = near[near.length - 1];
    if (x < LEFT || x > f.w) continue;
    const level = LOUD.test(m.e.event) ? 'bad' : m.level === 'warn' ? 'warn' : m.e.event === 'admin_change' || m.e.event === 'release_by_hand' ? 'change' : 'plain';
    const says = `${clock(m.at_ms)} ${sentence(m.text)}`;
    if (last && x - last.x < MARK) {
      last.says.push(says);
      if (level === 'bad' || last.level === 'plain') last.level = level;
    } else {
      near.push({ key: m.seq, x, level, says: [says] });
    }
  }
  showSigns(near);
  list($('g-marks'), near, m => m.key, () => {
    const b = el('button', { type: 'button', on: { focus: () => tell(b), blur: () => tell(null), pointerenter: () => tell(b), pointerleave: () => tell(null), click: () => tell(b) } });
    return el('li', {}, b);
  }, (e, m) => {
    e.style.left = m.x + 'px';
    e.style.top = f.h - FOOT + 2 + 'px';
    mark(e.firstChild, 'class', m.level);
    mark(e.firstChild, 'aria-label', m.says.join('. '));
    put(e.firstChild, SIGNS[m.level][0]);
    e.firstChild.says = m.says;
  });
}

function tell(b) {
  const tip = $('g-tip');
  tip.hidden = !b;
  if (!b) return;
  tip.replaceChildren(...b.says.slice(-6).map(s => el('span', {}, s)));
  const at = parseFloat(b.parentNode.style.left), w = $('g-area').clientWidth;
  tip.style.left = Math.max(0, Math.min(at - tip.offsetWidth / 2, w - tip.offsetWidth)) + 'px';
  tip.style.top = parseFloat(b.parentNode.style.top) - tip.offsetHeight - 6 + 'px';
}

/* ---- start ---- */

// The figures of all queues are there when there is more than one.
export function show(live) {
  const q = what === PEOPLE && live.queue; // what is in the tiles, too
  now = q && !all ? { waiting: q.waiting + q.returning, released_per_s: q.rate_per_s, allowed_per_s: q.allowed_per_s } : {};
  $('g-all').hidden = what === POOL || live.queues_total < 2;
  if (live.queues_total < 2) all = false;
  mark($('g-all'), 'aria-pressed', String(all));
  for (const b of $('g-ranges').querySelectorAll('[data-range]')) mark(b, 'aria-pressed', String(b.dataset.range === range));
}

function choose(what) {
  what();
  cursor = -1;
  document.dispatchEvent(new Event('look'));
}

export function begin() {
  for (const [r, [name]] of Object.entries(RANGES).reverse())
    $('g-ranges').prepend(el('button', { type: 'button', 'data-range': r, on: { click: () => choose(() => { range = r; }) } }, name));
  $('g-all').addEventListener('click', () => choose(() => { all = !all; }));
  const area = $('g-area');
  area.addEventListener('keydown', onKey);
  area.addEventListener('pointermove', onPointer);
  area.addEventListener('pointerdown', onPointer);
  for (const name of ['pointerleave', 'blur']) area.addEventListener(name, () => moveTo(-1));
  new ResizeObserver(() => draw()).observe(area);
}
