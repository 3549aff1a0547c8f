// draw.js: tiles with their sparklines, gauges with their tiers.
import { el, svg, put, list, mark, number, rate } from './dom.js';

/* ---- sparklines ---- */

const POINTS = 300; // of ten minutes

function sparkline() {
  const e = svg('svg', { viewBox: '0 0 119 30', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  e.append(svg('polygon'), svg('polyline'));
  return e;
}

// The right edge is now; a short history leaves the left side empty. null: not known, no line there.
function sparkline_show(e, values) {
  const step = 119 / Math.max(1, POINTS - 1), most = Math.max(...values, 1e-9), from = 119 - (values.length - 1) * step;
  const known = values.map((v, i) => v === null ? null : (from + i * step).toFixed(1) + ',' + (28 - 26 * v / most).toFixed(1)).filter(Boolean);
  mark(e.children[1], 'points', known.join(' '));
  mark(e.children[0], 'points', known.length ? known[0].split(',')[0] + ',30 ' + known.join(' ') + ' 119,30' : '');
}

/* ---- tiles ---- */

// tiles: [name, column of the history or null, now(x, the column's last value or null), below(x)].
// history: what /v1/admin/history answered; null: not known yet.
export function tiles_show(parent, tiles, x, history) {
  list(parent, tiles, t => t[0],
    t => el('li', {}, el('h3', {}, t[0]), el('b'), el('small'), sparkline()),
    (e, [, column, now, below]) => {
      const at = history && column ? history.columns.indexOf(column) : -1;
      const values = at < 0 ? [] : history.points.map(v => v && v[at]);
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

const isFixed = q => q.def.release_per_s > 0;

function readingWords(limit, metric, q) {
  const { tiers } = limit, h = q.def.hysteresis;
  if (isFixed(q)) return `${limit.metric}${metric && metric.ok ? ' is ' + short(metric.value) : ' is not read'}: not looked at while the rate is fixed`;
  if (!metric || !metric.ok) return `No reading of ${limit.metric}: ${metric ? metric.why : 'nobody measures it'}`;
  const [read, held] = tiersNow(limit, metric.value, q), is = `${limit.metric} is ${short(metric.value)}`;
  if (held > read)
    return `${is}: stays at ${held < tiers.length ? rate(tiers[held].rate_per_s) : 0}/s until below ${short(tiers[held - 1].below - h)}; it was above ${tiers[held - 1].below} (hysteresis ${h})`;
  return `${is}, ` + (read < tiers.length ? `below ${tiers[read].below}` : `not below ${tiers[tiers.length - 1].below}`) + `: ${atMost(tiers, read)}`;
}

function gauge_show(e, limit, metric, q) {
  const [name, bar, words, all] = e.children;
  const tiers = limit.tiers, last = tiers[tiers.length - 1].below;
  const good = metric && metric.ok;
  const end = Math.max(last * 1.25, good ? metric.value * 1.05 : 0, 1e-9);
  const [read, inForce] = good ? tiersNow(limit, metric.value, q) : [-1, -1], held = inForce > read && q.def.hysteresis > 0 && !isFixed(q);
  const parts = [...tiers, null];
  put(name, limit.metric);
  bar.classList.toggle('idle', isFixed(q));
  list(bar, [...parts.keys(), ...held ? ['hold'] : [], ...good ? ['now'] : []], k => k,
    k => k === 'now' ? el('i') : k === 'hold' ? el('em', {}, el('u')) : el('span', {}, el('b'), el('b')),
    (part, k) => {
      if (k === 'hold') { // from where the rate rises again to where it fell
        const border = tiers[inForce - 1].below, from = Math.max(0, border - q.def.hysteresis);
        part.style.left = 100 * from / end + '%';
        part.style.width = 100 * (border - from) / end + '%';
        put(part.firstChild, `more below ${short(from)}`);
        return;
      }
      if (k === 'now') {
        const left = Math.min(100, 100 * metric.value / end);
        part.style.left = left + '%';
        part.classList.toggle('late', left > 90);
        return;
      }
      const from = k ? tiers[k - 1].below : 0, to = k < tiers.length ? tiers[k].below : end;
      const [below, per] = tierWords(parts[k], k, tiers);
      part.style.width = 100 * (to - from) / end + '%';
      part.classList.toggle('now', k === inForce && !isFixed(q));
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
