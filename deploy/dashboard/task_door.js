// task_door.js: the door to the page of task queues: what the address wants of it. The page itself (tasks.js) is
// loaded when it is opened, so that the night's first look at people costs no byte of it.
import { $, mark } from './dom.js';
import * as graph from './graph.js';

let live = null, page = null, more = null, coming = null;

export const address = () => new URLSearchParams(location.hash.slice(1));
export const isShown = () => ['tasks', 'pool', 'task'].some(k => address().has(k));

// The pool that is to be answered in full: of one or none that is named, the first.
export function wanted() {
  const name = address().get('pool') || (live && live.tasks.pools.length ? live.tasks.pools[0].pool : '');
  return { pool: isShown() ? name : '', queue: address().get('queue') || (name.endsWith('*') ? '' : name) };
}

// Loads the page when it is wanted first; one that did not come is asked for again with the next look.
async function open() {
  coming = coming || Promise.all([import('./tasks.js'), import('./task_more.js')]);
  try {
    [page, more] = await coming;
  } catch (e) {
    coming = null;
    throw e;
  }
  page.begin();
}

export async function look() {
  if (!isShown()) return;
  if (!page) {
    await open();
    show(live);
  }
  await (address().has('task') ? page.lookCloser() : Promise.all([graph.look(wanted().pool), more.look(wanted().queue), page.lookCloser()]));
}

export function lookAnew() {
  if (page) page.lookAnew();
}

// There is one picture: it stands where people or tasks are looked at.
function moveGraph(on) {
  const slot = $(on ? 'tp-graph' : 'queue');
  graph.turn(on ? graph.POOL : graph.PEOPLE);
  if ($('graph').parentNode !== slot) slot.append($('graph'));
  if (on) $('graph').hidden = !wanted().pool;
}

export function show(now) {
  live = now;
  const on = isShown();
  for (const e of document.querySelectorAll('#views a')) mark(e, 'aria-current', (e.id === 'to-tasks') === on ? 'page' : 'false');
  $('people').hidden = $('side').hidden = on;
  $('tasks').hidden = !on || !page; // its forms do nothing before
  $('columns').classList.toggle('wide', on);
  moveGraph(on);
  if (on && page) page.show(now);
}
