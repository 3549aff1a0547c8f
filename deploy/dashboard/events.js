// events.js: queuemng's events and its log of changes as sentences, in two lists that one can sift.
// tests/check.sh looks whether each event that queuemng logs has its sentence here.
import { $, el, put, list, mark, number, clock } from './dom.js';
import { changeWords, didWords, taskOrder, upper, VERBS } from './words.js';

const s = (n, one, many) => `${number(Number(n) || 0)} ${Number(n) === 1 ? one : many}`;
const segments = n => s(n, 'segment', 'segments');
const held = e =>
  e.partitions === undefined ? segments(e.segments) : s(e.partitions, 'partition', 'partitions');
const node = e => `${e.partitions === undefined ? 'Segment' : 'Task'} node ${e.node}`;
const configured = e =>
  e.endpoint ? `Endpoint ${e.endpoint}` : e.pool ? `Pool ${e.pool}` : `Queue ${e.queue}`;
const people = n => s(n, 'person', 'people');

const SENTENCES = {
  node_down: e => `${node(e)} is away (${held(e)})`,
  node_lost: e => `Segment node ${e.node} has been away for ${s(Math.round(e.silent_ms / 1000), 'second', 'seconds')}: others open its ${segments(e.segments)}`,
  node_registered: e => `${node(e)} registered (${held(e)})`,
  node_forgotten: e => `Segment node ${e.node} is forgotten`,
  foreign_node: e => `Node ${e.node} belongs to another cluster, or to a later state of this one`,
  foreign_segment: e => `#${e.seg} on ${e.node} belongs to no queue here`,
  fenced: e => `Node ${e.node} has a later manager (epoch ${e.seen}): this one gives it no orders`,
  refused: e => `${e.node} refused an order: ${e.text}`,
  unexpected: e => `${e.node} sent an unexpected message: ${e.type}`,
  not_sent: e => `An order could not be sent (${e.type}): ${e.why}`,
  directory: e => `Segment nodes: ${s(e.members, 'member', 'members')}`,
  router_up: e => `Router ${e.router} connected`,
  router_down: e => `Router ${e.router} is gone`,
  monitor_bad: e => `Metric ${e.metric}: no usable reading (${e.why})`,
  monitor_failed: e => `Metric ${e.metric}: no reading (${e.why})`,
  metric_missing: e => `Queue ${e.queue} is limited by metric ${e.metric}, which queuemng.yaml lacks now`,
  monitor_ok: e => `Metric ${e.metric} is read again: ${e.value}`,
  poll_failed: e => `Metric ${e.metric}: the source did not answer (${e.why})`,
  no_monitor: e => `No metric can be read: ${e.why}`,
  rate_limit_changed: e => `${e.queue}: ${e.allowed_per_s} a second by ${e.by}, was ${e.was_per_s} by ${e.was_by}`,
  queue_created: e => `Queue ${e.queue} created`,
  ticket_moved: e => `Queue ${e.queue}: ticket ${e.ticket} has another device`,
  queue_restored: e => `Queue ${e.queue} restored`,
  challenge: e => `Queue ${e.queue}: joins ${e.level > 0 ? `cost work, level ${e.level} (${e.why === 'joins' ? `${e.joins_per_s} came in a second` : 'by hand'})` : 'are free again'}`,
  suspects: e => `Queue ${e.queue}: suspects: ${e.n}`,
  queue_changed: e => `Queue ${e.queue}: definition changed (version ${e.version})`,
  applied: e => `${configured(e)} applied from queuemng.yaml`,
  not_applied: e => `${configured(e)} of queuemng.yaml is NOT applied: ${e.why}`,
  budget_changed: e => `Budget ${e.budget} defined (version ${e.version})`,
  route_changed: e => `Route ${e.route} defined (version ${e.version})`,
  route_removed: e => `Route ${e.route} REMOVED`,
  budget_removed: e => `Budget ${e.budget} REMOVED`,
  endpoint_created: e => `Endpoint ${e.endpoint} created: ${e.url}`,
  endpoint_changed: e => `Endpoint ${e.endpoint}: definition changed (version ${e.version})`,
  endpoint_probed: e => `Endpoint ${e.endpoint} probed`,
  endpoint_reset: e => `Endpoint ${e.endpoint} reset: its calls go, a tenth of them at first`,
  endpoint_tripped: e => `Endpoint ${e.endpoint} TRIPPED: no call begins until its reset`,
  target_gone: e => `Endpoint ${e.endpoint}: target ${e.url} ${e.address} is gone`,
  targets_discovered: e => `Endpoint ${e.endpoint}: ${s(e.addresses, 'address', 'addresses')} of ${e.url}`,
  discovery_failing: e => `Endpoint ${e.endpoint}: no addresses of ${e.url}: ${e.why}`,
  discovery_well: e => `Endpoint ${e.endpoint}: addresses of ${e.url} again`,
  endpoint_removed: e => `Endpoint ${e.endpoint} REMOVED, with its pools and their tasks`,
  key_pinned: e => `Key ${e.key} of queue ${e.queue} is pinned (version ${e.version})`,
  key_unpinned: e => `Key ${e.key} of queue ${e.queue} is not pinned any more`,
  pool_created: e => `Pool ${e.pool} created (${s(e.partitions, 'partition', 'partitions')})`,
  pool_changed: e => `Pool ${e.pool}: definition changed (version ${e.version})`,
  pool_removed: e => `Pool ${e.pool} REMOVED, with its tasks`,
  partition_placed: e => `Partition ${e.part} of ${e.pool} is at ${e.node}`,
  partition_removed: e => `${e.node} has dropped partition ${e.part}`,
  partition_move: e => `Partition ${e.part} of ${e.pool} moves from ${e.from} to ${e.to}`,
  partition_move_aborted: e => `Partition ${e.part} stays at ${e.from}, its move to ${e.to} is given up: ${e.why}`,
  partitions_taken_over: e => `${e.node} is gone: others have its ${e.partitions} partitions`,
  store_left: e => `${e.node} needs store: redis again, where its tasks are`,
  partition_lost: e => `Partition ${e.part} of ${e.pool} is LOST: ${e.node} came back without it`,
  partition_elsewhere: e => `${e.node} has partition ${e.part}, which is ${e.owner}'s`,
  foreign_partition: e => `${e.node} has partition ${e.part}, which nobody here gave it`,
  task_node_silent: e => `Task node ${e.node} has been away for ${s(Math.round(e.silent_ms / 1000), 'second', 'seconds')}: tasks of its ${s(e.partitions, 'partition', 'partitions')} wait`,
  queue_state: e => `Queue ${e.queue}: ${e.state || 'another state'}`,
  queue_deleted: e => `Queue ${e.queue} deleted: ${people(e.waiting)} in line; restorable for ${s(Math.round(e.restore_for_ms / 60000), 'minute', 'minutes')}`,
  queue_gone: e => `Queue ${e.queue} is gone for good`,
  queue_flushed: e => `Queue ${e.queue} flushed: everybody in line lost the place`,
  queue_full: e => `Queue ${e.queue} is FULL (${people(e.waiting)} in line)`,
  queue_not_full: e => `Queue ${e.queue} has room again`,
  schedule: e => `Queue ${e.queue}, by the clock: ${e.phase} (was ${e.was})`,
  prequeue: e => `Queue ${e.queue}: people may join early`,
  draw_made: e => `Queue ${e.queue}: the positions of ${e.count} early people in #${e.seg} are drawn`,
  region_preferred: e => `Most people join in region ${e.region}: new segments are opened there`,
  release_by_hand: e => `Queue ${e.queue}: ${e.n} released by hand`,
  drain: e => `Node ${e.node}: drain ${e.on === '1' ? 'begun' : 'ended'}`,
  admin_change: e => `${e.by} changed ${e.task || NAMES.map(k => e[k]).find(Boolean)}: ${String(e.change).replace(/(^| )([\w.]+)=/g, '$1$2: ')}`,
  people_without_proxy: e => e.why,
  proxy_unproved: e => `${e.from} sent no good X-Segq-Proxy`,
  admin_refused: e => `${e.who || e.token} (${e.role}) was refused ${e.did} ${e.what}: it needs the role ${e.needs} for that`,
  session_begun: e => `${e.token} (${e.role}) signed in from ${e.from}`,
  tokens_read: e => `The file of tokens was read again: ${e.tokens}`,
  tokens_refused: e => `The file of tokens is NOT read: ${e.why}`,
  operator: e => `${e.who}: ${taskOrder(e.what) ? taskOrder(e.what).join(': ') : e.did === 'POST' ? e.what.split('/').slice(-2).reverse().join(' ') : didWords(e.did, e.what)}`,
  segment_opened: e => `#${e.seg} opened for ${e.queue} on ${e.node}`,
  segment_unused: e => `#${e.seg} of ${e.queue} goes: it was not needed`,
  segment_sealed: e => `#${e.seg} of ${e.queue} is sealed (${e.joined} joined)`,
  clock_off: e => `The clock of ${e.node} is ${Math.round(Math.abs(e.ahead_ms) / 1000)} s ${e.ahead_ms < 0 ? 'behind' : 'ahead of'} this manager’s`,
  clock_right: e => `The clock of ${e.node} is right again`,
  closed_early: e => `Queue ${e.queue}: the clock of node ${e.node} is ${e.by_ms} ms ahead; early people go to another one`,
  segment_removed: e => `#${e.seg} of ${e.queue} removed, nobody is in it`,
  segment_dropped: e => `#${e.seg} dropped by ${e.node}`,
  segment_lost: e => `#${e.seg} of ${e.queue} is LOST with ${e.node}: ${people(e.waiting)} waited in it`,
  segment_rebuild: e => `#${e.seg} of ${e.queue} is RE-CREATED on ${e.node}, was on ${e.was}`,
  segment_rebuilt: e => `#${e.seg} of ${e.queue} is complete again (${e.waiting} wait)`,
  segment_back: e => `#${e.seg} is back on ${e.node}`,
  source_lost: e => `A segment of ${e.queue} was lost while it was merged into #${e.into}`,
  tail_unreachable: e => e.why === 'holds' ? `${e.node} cannot write its journal: people join behind its tail #${e.seg}` : `The tail #${e.seg} cannot be reached (${e.node}); another one is opened`,
  pop_skipped: e => `Releases skip #${e.seg}: it cannot be reached`,
  move_state: e => `Merge ${e.move}: #${e.from} into #${e.to}, ${e.state}`,
  move_aborted: e => `Merge ${e.move} given up: ${e.why}`,
  move_undone: e => `Merge ${e.move} into #${e.to} was undone`,
  term: e => `This manager leads (epoch ${e.epoch})`,
  lease: e => `This manager has the lease (epoch ${e.epoch})`,
  leader: e => `The leader is ${e.name}`,
  step_down: e => `This manager leads no more: ${e.why}`,
  cannot_lead: e => `This manager cannot lead: ${e.why}`,
  ready: () => 'queuemng started',
  stopping: () => 'queuemng stops',
  reloaded: () => 'Configuration reloaded',
  reload_refused: e => `NOT reloaded, what was there before stays: ${e.why}`,
  core_anew: e => `queuemng's core has BEGUN ANEW${e.by === '-' ? '' : `, by a message of ${e.by}`}: ${e.why}`,
  peer_dropped: e => `${e.node} is DROPPED for ${Math.round(e.for_s / 60)} minutes: its messages ended queuemng's core again and again`,
  map_left_out: e => `Queue ${e.queue}: ${e.key} is TOO LONG for routers, who go on without it`,
  no_memory: e => `queuemng has NO MEMORY for ${e.what}`,
  stood_still: e => `queuemng itself stood still for ${s(Math.round(e.ms / 1000), 'second', 'seconds')}: no node is blamed for it`,
  store_failed: e => `The store CANNOT BE WRITTEN: ${e.why}`,
  store_ok: () => 'The store can be written again',
  store_not_understood: e => `A record of the store is unreadable (${e.key}): ${e.why}`,
  store_rewritten: e => `The store was compacted: ${e.dir}`,
  store_not_rewritten: e => `The store's old files stay for now: ${e.why}`,
  store_went_back: () => 'Redis has LOST confirmed writes',
  torn_tail: e => `The end of ${e.file} was torn: ${e.cut_bytes} bytes were cut off`,
  journal_failed: e => `${e.dir} CANNOT BE WRITTEN: ${e.why}`,
  journal_full: e => `${e.dir} has NO ROOM: ${e.why}`,
  journal_has_room: e => `${e.dir} has room again`,
  journal_cured: e => `${e.dir} can be written again`,
  write_refused: e => `Redis refused a write of this manager: ${e.why}`,
  write_stuck: e => `Redis has not answered a write for ${s(Math.round(e.ms / 1000), 'second', 'seconds')}`,
  load_failed: e => `The store could not be read: ${e.why}`,
  redis_ok: e => `Redis at ${e.addr} is used`,
  redis_up: e => `Redis at ${e.addr} is connected`,
  redis_down: e => `Redis at ${e.addr} is away: ${e.why}`,
  redis_writes_alone: e => `Redis at ${e.addr} takes writes that no replica gets: ${e.do}`,
  redis_refuses: e => `Redis at ${e.addr} refuses: ${e.why}`,
  op_log_not_written: e => `The operators' log CANNOT BE WRITTEN: ${e.why}`,
  op_log_not_rotated: e => `The operators' log goes on in the old file: ${e.why}`,
  op_log_written: () => 'The operators\' log is written again',
};
const ROUTINE = /^(move_state|segment_(opened|unused|sealed|removed|dropped)|partition_(placed|removed))$/;

// key=value, key="quoted \"value\""
export function readEvent(text) {
  const e = {};
  for (const m of text.matchAll(/(\w+)=("((?:[^"\\]|\\.)*)"|\S*)/g))
    e[m[1]] = m[3] !== undefined ? m[3].replace(/\\x([0-9a-f]{2})/g, (_, h) => String.fromCharCode(parseInt(h, 16))).replace(/\\(.)/g, '$1') : m[2];
  return e;
}

// Of a later queuemng: its words, without the signs of a log.
function unknown(e) {
  const rest = Object.entries(e).filter(([k]) => k !== 'event').map(([k, v]) => `${k} ${v}`).join(', ');
  const name = String(e.event).replace(/[_-]/g, ' ');
  return upper(name) + (rest ? ': ' + rest : '');
}

export function sentence(text) {
  const e = readEvent(text), say = SENTENCES[e.event];
  return say ? say(e) : unknown(e);
}

export const isRoutine = text => ROUTINE.test(readEvent(text).event);

/* ---- what is told twice ---- */

const TWICE_MS = 3000, NAMES = ['queue', 'pool', 'endpoint', 'budget', 'route', 'key', 'node', 'schedule'];
const named = e => NAMES.map(n => e[n]).filter(Boolean);
// An order's object, by its path: /v1/admin/queues/login/release -> login.
const objectOf = e => decodeURIComponent((String(e.what).match(/\/v1\/admin\/[\w-]+\/([^/]+)/) || [])[1] || '');

// A change is one line: "definition changed" and "Queue login: paused" say less than "anna changed login:
// ...", and an order less than what came of it. (Who gave it stands among the changes.)
export function once(events) {
  const all = events.map(x => ({ x, e: readEvent(x.text) }));
  const beside = (a, i, fits) => {
    for (const step of [-1, 1])
      for (let k = i + step; all[k] && Math.abs(all[k].x.at_ms - a.x.at_ms) <= TWICE_MS; k += step)
        if (fits(all[k].e)) return true;
    return false;
  };
  return all.filter((a, i) => /^(queue|pool|endpoint|budget)_changed$/.test(a.e.event) ? !beside(a, i, o => o.event === 'admin_change' && named(o).some(n => named(a.e).includes(n)))
    : a.e.event === 'queue_state' ? !beside(a, i, o => o.event === 'admin_change' && o.queue === a.e.queue && /\bstate=/.test(o.change))
    : a.e.event === 'operator' ? !beside(a, i, o => !/^(operator|admin_change)$/.test(o.event) && named(o).includes(objectOf(a.e)))
    : true).map(a => a.x);
}

/* ---- repeats ---- */

const FOLD_MS = 600000; // what is older has a line of its own

// A rate that goes up and down is one thing, whatever its figures.
const foldKey = (text, said) => {
  const e = readEvent(text);
  return e.event === 'rate_limit_changed' ? 'limit ' + e.queue : said;
};

// The youngest first; what has happened before, and a short time ago, is counted with it:
// [{ key, said, level, at_ms, n, since_ms }].
export function fold(events) {
  const lines = [], last = new Map();
  for (const x of [...events].reverse()) {
    const said = sentence(x.text), key = foldKey(x.text, said), line = last.get(key);
    if (line && line.since_ms - x.at_ms < FOLD_MS) {
      line.n++;
      line.since_ms = x.at_ms;
      continue;
    }
    const fresh = { key: x.seq, said, level: x.level, at_ms: x.at_ms, since_ms: x.at_ms, n: 1 };
    last.set(key, fresh);
    lines.push(fresh);
  }
  return lines;
}

/* ---- the two lists ---- */

let events = [], entries = [];
const line = () => el('li', {}, el('time'), el('span'));

const KINDS = [ // name, of which events
  ['Everything', () => true],
  ['Trouble', e => e.level !== 'info'],
  ['Changes', e => /^(admin_change|operator|applied|not_applied|release_by_hand|drain|(queue|pool|endpoint|budget|key)_(created|changed|removed|restored|pinned|unpinned))$/.test(readEvent(e.text).event)],
  ['Nodes and routers', e => /^(node_|router_|segment_|partition|source_lost|drain|directory|foreign)/.test(readEvent(e.text).event)],
  ['Limits and metrics', e => /^(rate_limit_changed|metric_|monitor_|poll_failed|no_monitor)/.test(readEvent(e.text).event)],
  ['Manager and store', e => /^(term|lease|leader|step_down|cannot_lead|ready|stopping|reload|store_|journal_|redis_|write_|load_|op_log|torn|no_memory|core_anew|peer_dropped|fenced)/.test(readEvent(e.text).event)],
];

const AUDIT = [['Everything', () => true], ['Queues', a => a.kind === 'queue'], ['Nodes', a => a.kind === 'node'],
  ['Tasks', a => /^(pool|endpoint|key|budget)$/.test(a.kind) || /\/task/.test(a.path)]];

// "segment.1" in quotes is that name, not segment.10.
const has = (words, wanted) => {
  const name = wanted.trim().match(/^"(.+)"$/);
  return name ? words.split(/[^\w./*-]+/).some(w => w.replace(/[.]$/, '') === name[1]) : words.toLowerCase().includes(wanted.toLowerCase().trim());
};

function showEvents() {
  const all = $('routine').checked, [, isKind] = KINDS[$('e-kind').selectedIndex] || KINDS[0];
  const wanted = $('e-find').value, text = wanted.startsWith('"') ? e => e.text.replace(/=/g, ' ') : e => sentence(e.text);
  const lines = fold(once(events).filter(e => (all || !isRoutine(e.text)) && isKind(e) && has(text(e), wanted)));
  list($('events'), lines, e => e.key, line, (e, x) => {
    put(e.children[0], clock(x.at_ms));
    put(e.children[1], x.said + (x.n > 1 ? ` (${number(x.n)} times since ${clock(x.since_ms)})` : ''));
    mark(e, 'class', x.level);
  });
  put($('e-none'), lines.length ? '' : 'No event fits.');
}

// What has been done, in one word.
const verbOf = a => VERBS[a.method] || a.path.split('/').pop();
// Beside the words and the kind: who, of what, what was done; each has those that occur.
const SIFTS = [['a-who', 'All operators', a => a.who], ['a-name', 'All names', a => a.name], ['a-verb', 'All verbs', verbOf]];

function fillSifts() {
  for (const [id, all, of] of SIFTS) {
    const e = $(id), was = e.value, values = [...new Set([...entries.map(of), was])].filter(Boolean).sort();
    list(e, ['', ...values], v => v, v => el('option', { value: v }, v || all), () => {});
    e.value = was;
  }
}

// How many of them are asked for: more while they are filtered.
export const auditWanted = () => $('a-find').value || $('a-kind').selectedIndex > 0 || SIFTS.some(([id]) => $(id).value) ? 500 : 50;

const auditWords = a => `${a.who}${a.from ? ' (' + a.from + ')' : ''}: ${changeWords(a)}`;

function showAudit() {
  const [, isKind] = AUDIT[$('a-kind').selectedIndex] || AUDIT[0];
  const fits = entries.filter(a => isKind(a) && SIFTS.every(([id, , of]) => !$(id).value || of(a) === $(id).value) && has(auditWords(a), $('a-find').value));
  list($('audit'), fits, a => a.at + a.request_id, line, (e, a) => {
    put(e.children[0], clock(Date.parse(a.at)));
    put(e.children[1], auditWords(a));
  });
  put($('a-none'), fits.length ? '' : entries.length ? 'No change fits.' : 'Nobody has changed anything.');
}

export function hearEvents(all) {
  events = all;
  showEvents();
}

export function hearAudit(all) {
  entries = all;
  fillSifts();
  showAudit();
}

// The events of a node or a queue, and the changes of it.
export function showOnly(name) {
  $('e-kind').selectedIndex = $('a-kind').selectedIndex = 0;
  $('e-find').value = `"${name}"`;
  $('a-find').value = '';
  for (const [id] of SIFTS) $(id).value = '';
  if (![...$('a-name').options].some(o => o.value === name)) $('a-name').append(el('option', { value: name, 'data-key': name }, name));
  $('a-name').value = name;
  showEvents();
  showAudit();
  document.dispatchEvent(new Event('sift'));
  for (const id of ['e-fold', 'a-fold']) $(id).open = true;
  $('events').focus();
  $('e-head').scrollIntoView({ block: 'start' });
}

const PHONE = '(max-width:800px)'; // a list there opens when it is wanted

export function begin() {
  for (const e of document.querySelectorAll('details.fold')) e.open = !matchMedia(PHONE).matches;
  $('e-kind').append(...KINDS.map(k => el('option', {}, k[0])));
  for (const id of ['routine', 'e-kind', 'e-find']) $(id).addEventListener('input', showEvents);
  $('a-kind').append(...AUDIT.map(k => el('option', {}, k[0])));
  fillSifts();
  for (const id of ['a-find', 'a-kind', 'a-who', 'a-name', 'a-verb']) $(id).addEventListener('input', () => { showAudit(); document.dispatchEvent(new Event('sift')); });
}
