// nodes.js: the machines: segment nodes, task nodes, routers; a node is drained or forgotten.
import { $, el, put, list, mark, number } from './dom.js';
import { change, enc } from './api.js';
import { ask, p } from './ask.js';
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

function node(n) {
  const key = keyOf(n);
  return el('li', {}, el('b'), el('div', {}, el('span')), n.segments === undefined ? '' : el('div', { class: 'load', 'aria-hidden': 'true' }, el('i')),
    el('small'), n.router ? '' : el('div', { class: 'row' },
      el('button', { type: 'button', on: { click: () => askDrain(find(key)) } }),
      el('button', { type: 'button', on: { click: () => askForget(find(key)) } }, 'Forget …')));
}

function wordsOf(n, live) {
  if (n.router) return `Router, ${n.http}, map ${n.map_version === live.map_version ? 'current' : 'behind'}`;
  if (isTaskNode(n)) return `Task node, ${n.addr}, ${held(n)}` + (n.moving ? `, ${n.moving} of them on the way to other nodes` : '');
  return `Segment node, ${n.addr}, ${held(n)}, ${number(n.tickets)} of ${number(n.max_tickets)} places reserved`;
}

function node_show(e, n, live) {
  const [word, level] = n.router ? ['UP', 'good'] : nodeWord(n), [name, state, ...rest] = e.children;
  const buttons = n.router ? null : rest.pop();
  put(name, n.name);
  put(state.firstChild, word);
  mark(state.firstChild, 'class', 'word ' + level);
  mark(e, 'class', level === 'bad' ? 'down' : '');
  put(rest.pop(), wordsOf(n, live));
  for (const load of rest) load.firstChild.style.width = 100 * n.tickets / Math.max(1, n.max_tickets) + '%';
  if (!buttons) return;
  put(buttons.children[0], n.draining ? 'Use again …' : 'Drain …');
  buttons.children[1].hidden = n.up;
}

// Those that the people, or the tasks, are on; and the routers.
export function nodes_show(live, tasks) {
  known = [...tasks ? live.tasks.nodes : live.nodes, ...live.routers.map(r => Object.assign({ router: true, up: true }, r))];
  list($('nodes'), known, keyOf, node, (e, n) => node_show(e, n, live));
}
