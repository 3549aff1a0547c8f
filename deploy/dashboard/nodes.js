// nodes.js: the machines: segment nodes, task nodes, routers; a node is drained or forgotten.
import { $, el, put, list, mark, number, rate, span } from './dom.js';
import { change, enc } from './api.js';
import { ask, p } from './ask.js';
import { showOnly } from './events.js';
import { nodeWord, things } from './words.js';

let known = [];

const isTaskNode = n => n.partitions !== undefined;
const held = n => isTaskNode(n) ? things(n.partitions, 'partition') : things(n.segments, 'segment');
const find = key => known.find(n => keyOf(n) === key);
const keyOf = n => (n.router ? 'r/' : isTaskNode(n) ? 't/' : 's/') + n.name;

function askDrain(node) {
  const on = !node.draining, what = isTaskNode(node) ? 'partitions' : 'segments';
  ask(on ? `Drain node ${node.name}?` : `Use node ${node.name} again?`, on ? 'Drain it' : 'Use it again',
    [p(!on ? `New ${what} are put there again.`
      : !node.up ? 'It is down: nothing moves before it is back. If it is gone for good, forget it.'
      : `Its ${node[what]} ${what} move to other nodes; ${isTaskNode(node) ? 'no task is lost' : 'nobody loses a place'}.`)],
    () => change('POST', `nodes/${enc(node.name)}/${on ? 'drain' : 'undrain'}`), on ? `${node.name} is being drained.` : `${node.name} is used again.`);
}

function lossOf(node) {
  const n = isTaskNode(node) ? node.partitions : node.segments, is = n === 1 ? 'is' : 'are';
  if (!n) return 'Nobody is on it.';
  return isTaskNode(node) ? `${held(node)} of task queues ${is} there, with tasks, payloads and results. They are on its disk alone and are LOST; new tasks go to other nodes.`
    : `${held(node)} ${is} there. The people in ${n === 1 ? 'it' : 'them'} bring their places back by polling, and passes that only this node has signed may be refused.`;
}

// People in its segments have to come back by polling, tasks are gone: then its name is typed.
function askForget(node) {
  const n = isTaskNode(node) ? node.partitions : node.segments;
  ask(`Forget node ${node.name}?`, 'Forget it',
    [p(lossOf(node)),
      p(n ? 'If the node can come back, start it again instead.' : 'It goes from this page, from alerts and from the routers’ maps. If it comes back it registers anew.')],
    () => change('POST', `nodes/${enc(node.name)}/forget${n ? '?force=true' : ''}`), `${node.name} is forgotten.`, n ? node.name : '');
}

/* ---- the table ---- */

const KIND = n => n.router ? 'Router' : isTaskNode(n) ? 'Task' : 'Segment';
const state = n => n.router ? ['UP', 'good'] : nodeWord(n);
const percent = n => 100 * n.tickets / Math.max(1, n.max_tickets);
const DASH = '–';
// An incarnation is the moment of its start, in ns.
const runs = n => { const ms = Date.now() - n.incarnation / 1e6; return n.up && ms >= 0 && ms < 1e11 ? span(ms) : DASH; };

// What the process uses; null: it has said nothing lately.
const ms = us => us < 10000 ? (us / 1000).toFixed(1) : number(us / 1000);
const load = words => n => n.load ? words(n.load) : DASH;
const cpu = load(x => number(100 * x.cpu) + ' %');
const memory = load(x => !x.rss_bytes ? DASH : x.rss_bytes < 1e9 ? number(x.rss_bytes / 1e6) + ' MB' : (x.rss_bytes / 1e9).toFixed(1) + ' GB');
const latency = load(x => x.late_us !== undefined ? ms(x.late_us) + ' ms' : x.p99_us ? ms(x.p99_us) + ' ms' : DASH);
const HINTS = { Holds: 'Routers: answers to joins, polls and leaves', CPU: 'of one core', Latency: 'Routers: 99 of 100 answers took at most this long. Nodes: the longest delay of a turn of their loop. Of the last two seconds' };

const COLUMNS = [ // head, words(n), class
  ['Node', n => n.name], ['State', n => state(n)[0], 'state'], ['Kind', n => KIND(n) + (n.region ? ` (${n.region})` : ''), 'kind'], ['Address', n => n.http || n.addr, 'addr'],
  ['Holds', n => n.router ? n.load ? `${number(n.load.answers_per_s)}/s` : DASH : held(n) + (n.moving ? `, ${n.moving} moving` : ''), 'n'],
  ['Wait here', n => n.here ? number(n.here.people) : DASH, 'n of-people'], ['Join', n => n.here ? rate(n.here.joins) + '/s' : DASH, 'n few of-people'], ['Let in', n => n.here ? rate(n.here.pops) + '/s' : DASH, 'n few of-people'],
  ['Places', n => n.max_tickets ? `${n.tickets && percent(n) < 0.1 ? '<0.1' : Number(percent(n).toFixed(percent(n) < 10 ? 1 : 0))} %` : DASH, 'n of-people tight'],
  ['CPU', cpu, 'n'], ['Memory', memory, 'n few'], ['Latency', latency, 'n'],
  ['Runs for', runs, 'n few'], ['Heard', n => n.router ? n.map : n.silent_ms < 1500 ? 'now' : span(n.silent_ms) + ' ago', 'n tight'],
];

function row(n) {
  const key = keyOf(n);
  const orders = el('td', { class: 'orders' }, ...n.router ? [] : [el('button', { type: 'button', 'data-needs': 'operator all', on: { click: () => askDrain(find(key)) } }),
    el('button', { type: 'button', 'data-needs': 'admin all', on: { click: () => askForget(find(key)) } }, 'Forget …')]);
  return el('tr', {}, ...COLUMNS.map((c, i) => i ? el('td', { class: c[2] || '', 'data-head': c[0] }) : el('th', { scope: 'row' }, el('button', { type: 'button', class: 'link', title: 'Its events', on: { click: () => showOnly(n.name) } }))), orders);
}

function row_show(e, n) {
  COLUMNS.forEach(([, words, is], i) => {
    const text = words(n);
    put(i ? e.children[i] : e.children[0].firstChild, text);
    if (i) mark(e.children[i], 'class', (is || '') + (text === DASH ? ' nil' : ''));
  });
  mark(e.children[1], 'class', 'state ' + state(n)[1]);
  mark(e, 'class', state(n)[1] === 'bad' ? 'down' : '');
  if (n.router) return;
  const [drain, forget] = e.lastChild.children;
  put(drain, n.draining ? 'Use again …' : 'Drain …');
  forget.hidden = n.up;
}

/* ---- what the shown queue has on each ---- */

let looks = []; // { queue, at, sums }: the last ones, oldest first

function sumsOf(queue) {
  const sums = {};
  for (const s of queue ? queue.lanes.flatMap(l => l.segments) : []) {
    const x = sums[s.node] = sums[s.node] || { people: 0, joined: 0, popped: 0 };
    x.people += s.waiting + s.returning;
    x.joined += s.joined;
    x.popped += s.popped;
  }
  return sums;
}

// Sums over segments: one that goes, or comes by a merge, takes or brings what it has counted.
function hereOf(live) {
  const q = live.queue, sums = sumsOf(q), at = live.now_ms;
  looks = looks.filter(x => q && x.queue === q.queue && x.at < at).slice(-4);
  const old = looks[0];
  const perS = (a, b) => old ? Math.max(0, a - b) * 1000 / (at - old.at) : 0;
  if (q) looks.push({ queue: q.queue, at, sums });
  return Object.fromEntries(Object.entries(sums).map(([name, x]) => {
    const was = (old && old.sums[name]) || x;
    return [name, { people: x.people, joins: perS(x.joined, was.joined), pops: perS(x.popped, was.popped) }];
  }));
}

// Those that the people, or the tasks, are on; and the routers.
export function nodes_show(live, tasks) {
  const here = tasks ? {} : hereOf(live);
  const routers = live.routers.map(r => ({ router: true, up: true, map: r.map_version === live.map_version ? 'map current' : 'map behind', ...r }));
  known = [...(tasks ? live.tasks.nodes : live.nodes).map(n => ({ ...n, here: here[n.name] })), ...routers];
  $('nodes').classList.toggle('of-tasks', tasks);
  list($('nodes').tHead.rows[0], [...COLUMNS, ['Orders']], c => c[0], c => el('th', { scope: 'col', class: c[2] || '', title: HINTS[c[0]] || '' }, c[0]), () => {});
  list($('nodes').tBodies[0], known, keyOf, row, row_show);
}
