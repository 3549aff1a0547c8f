// draw.js: sparklines, gauges with their tiers, chains of segments.
import { readEvent } from './events.js';
import { el, svg, put, list, mark, number, rate } from './dom.js';
import { inLine } from './words.js';

/* ---- sparklines ---- */

function sparkline() {
  const e = svg('svg', { viewBox: '0 0 119 30', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  e.append(svg('polygon'), svg('polyline'));
  return e;
}

// The right edge is now; a short history leaves the left side empty.
function sparkline_show(e, values) {
  const most = Math.max(...values, 1e-9), from = 120 - values.length;
  const points = values.map((v, i) => (from + i) + ',' + (28 - 26 * v / most).toFixed(1));
  mark(e.children[1], 'points', points.join(' '));
  mark(e.children[0], 'points', points.length ? from + ',30 ' + points.join(' ') + ' 119,30' : '');
}

/* ---- tiles ---- */

// tiles: [name, column of the history or null, now(x, the column's last value or null), below(x)].
// history: what /v1/admin/history answered; null: not known yet.
export function tiles_show(parent, tiles, x, history) {
  list(parent, tiles, t => t[0],
    t => el('li', {}, el('h3', {}, t[0]), el('b'), el('small'), sparkline()),
    (e, [, column, now, below]) => {
      const at = history && column ? history.columns.indexOf(column) : -1;
      const values = at < 0 ? [] : history.points.map(v => v[at]);
      put(e.children[1], now(x, values.length ? values[values.length - 1] : null));
      put(e.children[2], below(x));
      sparkline_show(e.children[3], values);
      e.children[3].toggleAttribute('hidden', column === null);
      mark(e, 'title', values.length ? `last ten minutes: at most ${rate(Math.max(...values))}` : '');
    });
}

/* ---- a metric and its tiers ---- */

const tierWords = (tier, i, tiers) =>
  tier ? [`< ${tier.below}`, `${rate(tier.rate_per_s)}/s`] : [`≥ ${tiers[tiers.length - 1].below}`, 'nobody'];

function gauge() {
  const e = el('div', {}, el('h3'), el('div', { class: 'gauge', 'aria-hidden': 'true' }), el('p'), el('small'));
  return e;
}

// [the tier by the reading, the tier in force]: a rate falls at once, and rises only when the
// metric is clearly below the border (hysteresis). Of what does not limit now the second is not
// known: the same.
function tiersNow(limit, value, q) {
  const found = limit.tiers.findIndex(t => value < t.below), read = found < 0 ? limit.tiers.length : found;
  if (q.limited_by !== limit.metric) return [read, read];
  const held = [...limit.tiers, { rate_per_s: 0 }].findIndex((t, k) => k >= read && t.rate_per_s === q.allowed_per_s);
  return [read, held < 0 ? read : held];
}

const short = v => String(Number(v.toPrecision(4)));
const atMost = (tiers, k) => k < tiers.length ? `at most ${rate(tiers[k].rate_per_s)} a second` : 'nobody is let in';

function readingWords(limit, metric, q) {
  const { tiers } = limit, h = q.def.hysteresis;
  if (!metric || !metric.ok) return `No reading of ${limit.metric}: ${metric ? metric.why : 'nobody measures it'}`;
  const [read, held] = tiersNow(limit, metric.value, q), is = `${limit.metric} is ${short(metric.value)}`;
  if (held > read)
    return `${is}: ${atMost(tiers, held)}, as it was above ${tiers[held - 1].below}; more are let in once it is below ${short(tiers[held - 1].below - h)} (hysteresis ${h})`;
  return `${is}, ` + (read < tiers.length ? `below ${tiers[read].below}` : `not below ${tiers[tiers.length - 1].below}`) + `: ${atMost(tiers, read)}`;
}

function gauge_show(e, limit, metric, q) {
  const [name, bar, words, all] = e.children;
  const tiers = limit.tiers, last = tiers[tiers.length - 1].below;
  const good = metric && metric.ok;
  const end = Math.max(last * 1.25, good ? metric.value * 1.05 : 0, 1e-9);
  const inForce = good ? tiersNow(limit, metric.value, q)[1] : -1;
  const parts = [...tiers, null];
  put(name, limit.metric);
  list(bar, good ? [...parts.keys(), 'now'] : [...parts.keys()], k => k,
    k => k === 'now' ? el('i') : el('span', {}, el('b'), el('b')),
    (part, k) => {
      if (k === 'now') {
        const left = Math.min(100, 100 * metric.value / end);
        part.style.left = left + '%';
        part.classList.toggle('late', left > 90);
        return;
      }
      const from = k ? tiers[k - 1].below : 0, to = k < tiers.length ? tiers[k].below : end;
      const [below, per] = tierWords(parts[k], k, tiers);
      part.style.width = 100 * (to - from) / end + '%';
      part.classList.toggle('now', k === inForce);
      put(part.children[0], below);
      put(part.children[1], per);
    });
  put(all, tiers.map(t => `below ${t.below}: ${rate(t.rate_per_s)}/s`).join(' · ') + ' · above: nobody');
  put(words, readingWords(limit, metric, q));
}

export function gauges_show(parent, q, metrics) {
  const by = new Map(metrics.map(m => [m.name, m]));
  list(parent, q.def.limits || [], l => l.metric, gauge, (e, l) => gauge_show(e, l, by.get(l.metric), q));
}

/* ---- merges ---- */

const MERGED_MS = 8000; // a merge takes milliseconds; it is shown for longer
let planned = new Map(), merged = [];

// events: new ones. A look once a second would never see a segment move.
export function hearMoves(events) {
  merged = merged.filter(m => Date.now() - m.at < MERGED_MS);
  for (const m of events.map(e => readEvent(e.text)).filter(e => e.event === 'move')) {
    if (planned.size > 1000) planned.clear(); // those that were given up
    if (m.state === 'planned') planned.set(m.move, m.tickets);
    if (!m.state.endsWith('>clearing')) continue;
    merged.push({ from: m.from, to: m.to, people: Number(planned.get(m.move)) || 0, at: Date.now() });
    planned.delete(m.move);
  }
}

// What a segment has to do with, and has just had to do with.
const movesOf = (s, moves) => [
  ...moves.filter(m => m.from === s.segment || m.to === s.segment)
    .map(m => (m.from === s.segment ? 'merges into #' + m.to : 'takes #' + m.from + ' in') + ` (${m.state})`),
  ...merged.filter(m => m.to === String(s.segment) && Date.now() - m.at < MERGED_MS)
    .map(m => `has taken #${m.from} in, with ${number(m.people)}`),
].join(', ');

/* ---- a lane's chain ---- */

const SHOWN = 48; // of a longer chain: the head and the tail of it
const percent = (n, of) => of > 0 ? Math.min(100, 100 * n / of) : 0;

function segment() {
  return el('li', {}, el('div', {}, el('b'), el('span')), el('div', { class: 'bar', 'aria-hidden': 'true' },
    el('i'), el('i')), el('div'), el('small'));
}

function segment_show(e, s) {
  if (s.gap) {
    e.className = 'gap';
    put(e.children[0].children[0], `… ${number(s.gap)} more ${s.spare ? 'are open, and empty' : ''} …`);
    return;
  }
  const [title, bar, words, small] = e.children;
  const sick = s.state === 'lost' || s.state === 'rebuilding' || !s.reachable;
  put(title.children[0], '#' + s.segment);
  put(title.children[1], '');
  title.children[1].className = s.tag ? 'tag' : '';
  put(title.children[1], s.tag);
  // joined so far (light), of them the last ones still wait (dark)
  const joined = percent(s.joined, s.capacity), waits = percent(inLine(s), s.capacity);
  bar.children[0].style.width = joined + '%';
  bar.children[1].style.left = Math.max(0, joined - waits) + '%';
  bar.children[1].style.width = waits + '%';
  put(words, `${number(inLine(s))} wait`);
  put(small, [s.reachable ? s.state : 'NOT REACHED, ' + s.state, Math.floor(joined) + ' % taken',
    s.node].join(' · ') + (s.moves ? ' · ' + s.moves : ''));
  e.className = sick ? 'sick' : s.moves ? 'moving' : '';
}

function chainOf(lane, moves) {
  const end = lane.segments.findIndex(s => s.segment === tailOf(lane));
  const v = lane.segments.map((s, i) => Object.assign({}, s, {
    tag: [i === 0 ? 'HEAD' : '', s.segment === tailOf(lane) ? 'TAIL' : isSpare(s) && i > end ? 'NEXT' : ''].filter(Boolean).join(' '),
    moves: movesOf(s, moves),
  }));
  const missing = lane.segments_total - v.length;
  if (!missing) return fold(v);
  const head = v.slice(0, SHOWN / 2), tail = v.slice(-SHOWN / 2);
  return [...head, { segment: 'gap', gap: lane.segments_total - head.length - tail.length }, ...tail];
}

// Opened for a crowd that has not come: of many, the first is enough.
const isSpare = s => s.state === 'open' && s.reachable && !s.joined;

function fold(v) {
  const first = v.findIndex(s => s.tag === 'NEXT');
  const more = first < 0 ? [] : v.slice(first + 1);
  if (more.length > 1 && more.every(s => s.tag === 'NEXT' && !s.moves))
    v = [...v.slice(0, first + 1), { segment: 'spare', gap: more.length, spare: true }];
  if (v.length <= SHOWN) return v;
  const head = v.slice(0, SHOWN / 2), tail = v.slice(-SHOWN / 2);
  return [...head, { segment: 'gap', gap: v.length - SHOWN }, ...tail];
}

// Joins go to the first open segment.
const tailOf = lane => (lane.segments.find(s => s.state === 'open') || {}).segment;

export function lanes_show(parent, lanes, moves) {
  list(parent, lanes, l => l.lane,
    () => el('div', { class: 'lane' }, el('h3'), el('ol', { class: 'chain' })),
    (e, l) => {
      put(e.children[0], `Lane ${l.lane}: ${number(inLine(l))} waiting, ${number(l.ready + l.active)} inside, ` +
        `${rate(l.rate_per_s)}/s let in; ${l.segments_total} segment${l.segments_total === 1 ? '' : 's'}, the head first`);
      list(e.children[1], chainOf(l, moves), s => s.segment, segment, segment_show);
    });
}
