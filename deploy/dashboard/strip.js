// strip.js: a lane's line, head to tail: a strip to scale, and below it segment by segment.
import { readEvent } from './events.js';
import { el, put, list, mark, number, rate } from './dom.js';
import { inLine, things } from './words.js';

/* ---- merges ---- */

const MERGED_MS = 8000; // a merge takes milliseconds; it is shown for longer
let planned = new Map(), merged = [];

// events: new ones. A look once a second would never see a segment move.
export function hearMoves(events) {
  merged = merged.filter(m => Date.now() - m.at < MERGED_MS);
  for (const m of events.map(e => readEvent(e.text)).filter(e => e.event === 'move_state')) {
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
  e.className = sickly(s) ? 'sick' : s.moves ? 'moving' : '';
}

function chainOf(lane, moves) {
  const end = lane.segments.findIndex(s => s.segment === tailOf(lane));
  const v = lane.segments.map((s, i) => Object.assign({}, s, {
    tag: [i === 0 ? 'HEAD' : '', s.segment === tailOf(lane) ? 'TAIL' : isSpare(s) && i > end ? 'NEXT' : ''].filter(Boolean).join(' '),
    moves: movesOf(s, moves),
  }));
  return lane.segments_total === v.length ? fold(v) : endsOf(v, lane.segments_total);
}

// The head and the tail of so many.
function endsOf(v, total) {
  const head = v.slice(0, SHOWN / 2), tail = v.slice(-SHOWN / 2);
  return [...head, { segment: 'gap', gap: total - head.length - tail.length }, ...tail];
}

// Opened for a crowd that has not come: of many, the first is enough.
const isSpare = s => s.state === 'open' && s.reachable && !s.joined;

function fold(v) {
  const first = v.findIndex(s => s.tag === 'NEXT');
  const more = first < 0 ? [] : v.slice(first + 1);
  if (more.length > 1 && more.every(s => s.tag === 'NEXT' && !s.moves))
    v = [...v.slice(0, first + 1), { segment: 'spare', gap: more.length, spare: true }];
  return v.length <= SHOWN ? v : endsOf(v, v.length);
}

// Joins go to the first open segment.
const tailOf = lane => (lane.segments.find(s => s.state === 'open') || {}).segment;

/* ---- the strip ---- */

const TINTS = 5;

// A shade for each node, in the order in which the line goes over them.
function tintsOf(segments) {
  const names = [...new Set(segments.map(s => s.node).filter(Boolean))];
  return name => names.indexOf(name) % TINTS;
}

const sickly = s => s.state === 'lost' || s.state === 'rebuilding' || !s.reachable;

// As wide as its people; who stands beyond those that are listed is one piece.
function piecesOf(lane, chain) {
  const listed = chain.filter(s => !s.gap).reduce((n, s) => n + inLine(s), 0), rest = Math.max(0, inLine(lane) - listed);
  return chain.filter(s => !s.spare && (s.gap ? rest : inLine(s) || s.tag || s.moves)).map(s => s.gap ? { segment: 'gap', gap: s.gap, people: rest } : { ...s, people: inLine(s) });
}

function piece_show(e, s, tint) {
  e.style.flexGrow = s.people;
  put(e.firstChild, s.gap ? `${number(s.gap)} segments` : '#' + s.segment);
  put(e.lastChild, s.gap ? `${number(s.people)} wait` : s.moves || s.node);
  mark(e, 'title', s.gap ? '' : `#${s.segment} on ${s.node}: ${number(s.people)} wait` + (s.moves ? ', ' + s.moves : ''));
  mark(e, 'class', s.gap ? 'gap' : `n${tint(s.node)}` + (sickly(s) ? ' sick' : s.moves ? ' moving' : ''));
}

function strip_show(e, lane, chain) {
  const [bar, ends] = e.children, pieces = piecesOf(lane, chain), tint = tintsOf(chain), n = inLine(lane);
  const nodes = new Set(pieces.map(s => s.node).filter(Boolean)).size, sick = pieces.filter(s => !s.gap && sickly(s)).length;
  mark(bar, 'aria-label', `The line to scale: ${things(n, 'place')} in ${things(lane.segments_total, 'segment')} on ${things(nodes, 'node')}` + (sick ? `, ${sick} not well` : ''));
  list(bar, pieces, s => s.segment, () => el('span', {}, el('b'), el('small')), (x, s) => piece_show(x, s, tint));
  put(ends.firstChild, n ? '◀ next in' : 'nobody waits');
  put(ends.lastChild, n ? `last: ${number(n)}` : '');
}

export function lanes_show(parent, lanes, moves) {
  list(parent, lanes, l => l.lane,
    () => el('div', { class: 'lane' }, el('h3'), el('div', { class: 'line' }, el('div', { class: 'strip', role: 'img' }), el('p', { class: 'ends' }, el('span'), el('span'))),
      el('details', {}, el('summary'), el('ol', { class: 'chain' }))),
    (e, l) => {
      const chain = chainOf(l, moves), details = e.children[2];
      put(e.children[0], `Lane ${l.lane}: ${number(inLine(l))} waiting, ${number(l.ready + l.active)} inside, ${rate(l.rate_per_s)}/s let in`);
      strip_show(e.children[1], l, chain);
      put(details.children[0], `${things(l.segments_total, 'segment')}, the head first`);
      list(details.children[1], chain, s => s.segment, segment, segment_show);
    });
}
