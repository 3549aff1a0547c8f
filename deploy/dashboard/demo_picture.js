// demo_picture.js: the calls as dots: those in line at one side, those under way in the middle, those
// that were answered at the other side. Figures come once a second; dots go one by one.
//
// Dots go in their order. Between the last that was answered and the first in line are those under
// way: the oldest of them are those that wait to try again.
const SLOTS = 64, AGAIN_COLUMNS = 16, SPEED = 6; // of the way that is left, in a second
const still = matchMedia('(prefers-reduced-motion: reduce)');
const dark = matchMedia('(prefers-color-scheme: dark)');

let canvas, pen, dots = [], colour = {}, fields = {}, size = { w: 0, h: 0 };
let now = { out: 0, over: 0, again: 0, dead: 0 }, aim = now, last = 0, due = 0;

/* ---- where things stand ---- */

// A block of dots, column by column (of a tall one, row by row), that slides by as they come or go: dot
// i when `gone` of them have passed the block's edge at the middle.
function block(edge, field, n, tall) {
  const cell = Math.max(Math.sqrt(field.w * field.h / Math.max(n, 1)) * 0.97, 1.5);
  const across = Math.max(1, Math.floor((tall ? field.w : field.h) / cell));
  return (i, gone) => {
    const along = edge + (gone / across - Math.floor(i / across) - 1) * cell, side = (i % across) * cell;
    return tall ? [field.x + side, along] : [along, field.y + side];
  };
}

function slotsOf(x, y, w, h, columns, n) {
  const cell = Math.min(w / columns, h / Math.ceil(n / columns));
  return k => [x + (w - cell * columns) / 2 + (k % columns) * cell, y + (Math.floor(k / columns) % Math.ceil(n / columns)) * cell];
}

function layOut() {
  const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight, tall = w < 640;
  size = { w, h };
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const part = tall ? { x: 0, y: 0, w, h: h * 0.36 } : { x: 0, y: 0, w: w * 0.38, h };
  fields.line = block(tall ? part.h : part.w, part, dots.length, tall);
  fields.over = block(tall ? h - part.h : w - part.w, part, dots.length, tall);
  const middle = tall ? { x: w * 0.1, y: h * 0.39, w: w * 0.8, h: h * 0.22 } : { x: w * 0.42, y: h * 0.1, w: w * 0.16, h: h * 0.8 };
  const upper = middle.h * (tall ? 0.6 : 0.5);
  fields.way = slotsOf(middle.x, middle.y, middle.w, upper, tall ? 16 : 8, SLOTS);
  fields.again = slotsOf(middle.x, middle.y + upper * 1.15, middle.w, middle.h - upper * 1.15, tall ? 32 : AGAIN_COLUMNS, tall ? 128 : 256);
  fields.dot = Math.max(1, Math.min(9, Math.sqrt(part.w * part.h / Math.max(dots.length, 1)) * 0.72));
  const style = getComputedStyle(document.documentElement);
  for (const name of ['fill', 'text', 'warn', 'good', 'bad', 'line']) colour[name] = style.getPropertyValue('--' + name).trim();
}

// Where dot i belongs at present, and what it is.
function placeOf(i) {
  const over = Math.floor(now.over), out = Math.floor(now.out), again = Math.floor(now.again);
  if (i >= out) return ['fill', fields.line(i, now.out)];
  if (i < over) return [i < over - now.dead ? 'good' : 'bad', fields.over(i, now.over)];
  return i < over + again ? ['warn', fields.again(i - over)] : ['text', fields.way(i % SLOTS)];
}

/* ---- drawing ---- */

function draw(share) {
  const groups = { line: [], fill: [], text: [], warn: [], good: [], bad: [] };
  for (let i = 0; i < dots.length; i++) {
    const d = dots[i], [is, [x, y]] = placeOf(i);
    if (d.is === undefined) [d.x, d.y] = [x, y];
    d.is = is;
    d.x += (x - d.x) * share;
    d.y += (y - d.y) * share;
    d.there = Math.abs(x - d.x) + Math.abs(y - d.y) < 6;
    groups[is].push(d);
  }
  pen.clearRect(0, 0, size.w, size.h);
  pen.strokeStyle = colour.line;
  const slot = fields.way(1)[0] - fields.way(0)[0];
  for (let k = 0; k < SLOTS; k++) {
    const [x, y] = fields.way(k);
    pen.strokeRect(x + 0.5, y + 0.5, slot - 3, slot - 3);
  }
  for (const [is, v] of Object.entries(groups)) {
    pen.fillStyle = colour[is];
    for (const d of v) { // one that is on its way into a slot is a dot still
      const inSlot = is === 'text' && d.there, wide = inSlot ? slot - 6 : Math.max(fields.dot, is === 'warn' ? 4 : 0);
      pen.fillRect(d.x + 2 * inSlot, d.y + 2 * inSlot, wide, wide);
    }
  }
}

function frame(at) {
  const dt = Math.min((at - last) / 1000, 0.1);
  last = at;
  const left = Math.max(due - at, 0) / 1000;
  const go = (from, to) => left <= dt ? to : from + (to - from) * dt / left;
  now = { out: go(now.out, aim.out), over: go(now.over, aim.over), again: go(now.again, aim.again), dead: aim.dead };
  draw(Math.min(1, dt * SPEED));
  requestAnimationFrame(frame);
}

/* ---- what is told ---- */

export function begin(element) {
  canvas = element;
  pen = canvas.getContext('2d');
  new ResizeObserver(() => { layOut(); draw(1); }).observe(canvas);
  dark.addEventListener('change', () => { layOut(); draw(1); });
  layOut();
  if (!still.matches) requestAnimationFrame(frame);
}

// out: have left the line; over: of them, were answered or are dead; again: of them, wait to try again.
export function show(n, figures, everyMs) {
  if (n !== dots.length || figures.over < aim.over) {
    dots = Array.from({ length: n }, () => ({}));
    now = { ...figures };
    layOut();
  }
  aim = { ...figures };
  due = performance.now() + everyMs;
  if (!still.matches) return;
  now = { ...figures };
  draw(1);
}
