// rehearse.js: a queue's night as a file for `segqctl rehearse`: its definition, this cluster, and a crowd as
// that of the last hour or day. Loaded when it is asked for.
import { get, queuePath, Refused } from './api.js';
import { el, number } from './dom.js';
import { ask, p } from './ask.js';
import { choice, field, numberOf, valueOf } from './forms.js';

const AS_LAST = { '1h': 'as in the last hour', '24h': 'as in the last 24 hours' }, INVENTED = 'invented: 500 a second after two minutes';
const INVENTION = [{ at: '0s', per_s: 20 }, { at: '2m', per_s: 500 }, { at: '8m', per_s: 60 }, { at: '30m', per_s: 10 }];

// Half a point later the same number may come: lines between points keep the sum.
async function crowdOf(queue, range, times) {
  const h = await get(`${queuePath(queue)}/history?range=${range}`), at = h.columns.indexOf('joined_per_s');
  const points = h.points.map((x, i) => ({ at: `${i * h.step_ms}ms`, per_s: Number(((x && x[at] || 0) * times).toFixed(4)) }));
  const people = points.reduce((n, x) => n + x.per_s * h.step_ms / 1000, 0);
  if (people < 1) throw new Refused(0, 'Nobody came in that time, as far as the manager remembers: take another crowd.');
  return { points, people, ms: points.length * h.step_ms };
}

// What a rehearsal cannot play is left out, and named.
function played({ name, version, ...q }) {
  const out = [], metric = q.limits.length ? q.limits[0].metric : 'cpu';
  for (const k of ['opens_at', 'closes_at', 'budget'])
    if (typeof q[k] === 'object' ? q[k] && q[k].name : q[k]) out.push(k);
  if (q.limits.some(l => l.metric !== metric)) out.push(`limits of metrics other than ${metric}`);
  for (const k of ['opens_at', 'closes_at', 'prequeue', 'budget']) delete q[k];
  return { out, metric, def: { name, ...q, state: 'open', limits: q.limits.filter(l => l.metric === metric) } };
}

function save(name, text) {
  const a = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/yaml' })), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}

export async function rehearse({ queue: name }) {
  const [old, cluster] = await Promise.all([get(queuePath(name)), get('cluster')]), { out, metric, def } = played(old), file = name.replace(/[^\w.-]/g, '_') + '.night.yaml';
  const crowd = choice('crowd', 'Who comes', 'people a second, as a curve', AS_LAST['1h'], [...Object.values(AS_LAST), INVENTED]), times = field('times', 'Times as many', '', 1, { inputmode: 'decimal' });
  const routers = cluster.routers.length || 1, nodes = cluster.nodes.length || 1;
  ask(`Rehearse a night of ${name}`, 'Save the file', [
    p('A file with this definition, this cluster and a crowd. Look through it: how long people stay and wait, and what each costs the backend, nobody but you knows. Then, anywhere:'),
    el('pre', {}, `segqctl rehearse ${file} --html ${name.replace(/[^\w.-]/g, '_')}.html`), p('It needs no cluster, and changes nothing here.'), crowd, times,
    p(out.length ? `Left out, since it is not played: ${out.join(', ')}.` : '')], async () => {
    const n = numberOf(times), range = Object.keys(AS_LAST).find(k => AS_LAST[k] === valueOf(crowd));
    if (!(n > 0)) throw new Refused(0, 'Times as many: a number above 0.');
    const c = range ? await crowdOf(name, range, n) : { points: INVENTION.map(x => ({ ...x, per_s: x.per_s * n })), ms: 1800000 };
    save(file, `# A night of ${name}, of the dashboard: segqctl rehearse ${file}; all keys: segqctl help rehearse\n` +
      `for: ${Math.min(86400, Math.ceil(c.ms / 1000) + 600)}s\n\nqueues:\n  - ${JSON.stringify(def)}\n\ncluster: { routers: ${routers}, segment_nodes: ${nodes} }\n\n` +
      `crowd:\n  arrivals:\n${c.points.map(x => `    - { at: ${x.at}, per_s: ${x.per_s} }\n`).join('')}` +
      '  patience: { kind: exponential, mean: 20m }   # a guess\n  stay: { kind: exponential, mean: 10m }       # a guess\n  no_shows: 3\n\n' +
      `# ${metric} = base + per_person x inside + per_release x entries a second; guesses.\nbackend: { metric: ${JSON.stringify(metric)}, base: 10, per_person: 0.002, per_release: 0.02, crash_above: 95 }\n\n` +
      'events:\n  - { at: 5m, what: kill_node, no: 1, for: 8s }\n');
    return c.people;
  }, people => `Saved as ${file}${people ? `: ${number(people)} people` : ''}.`);
}
