// dashboard_tasks.js: the dashboard's page of task queues in a real browser, with real tasks. Run
// by e2e_dashboard_tasks.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const DESK = { viewport: { width: 1280, height: 900 } };
const { TASK_TOKEN, TASK_PID, ADMIN_TOKEN } = process.env;

// ---- what servers and workers do ----

// A queue that is new: its task node is told of it, and routers are, in the same second.
async function call(method, path, body, times = 50) {
  const r = await fetch(k.ROUTER + path, { method, headers: { Authorization: 'Bearer ' + TASK_TOKEN, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
  const j = await r.json().catch(() => ({}));
  if (j.code === 'queue_unavailable' && times > 0) {
    await new Promise(done => setTimeout(done, 200));
    return call(method, path, body, times - 1);
  }
  if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${JSON.stringify(j)}`);
  return j;
}

const submit = (queue, task) => call('POST', `/v1/queues/${queue}/tasks`, Object.assign({ payload: 1 }, task));
const submitMany = (queue, n, task) => Promise.all(Array.from({ length: n }, (_, i) => submit(queue, task(i))));
const take = (queue, n) => call('POST', `/v1/queues/${queue}/tasks/take`, { n, lease: '60s', wait: '5s' });
const settle = (word, t) => call('POST', `/v1/tasks/${t.task}/${word}`, { lease_id: t.lease_id });

// n tasks whose only attempt fails; of a queue without others.
async function makeDead(queue, n) {
  await submitMany(queue, n, i => ({ key: 'tenant' + i % 5, max_attempts: 1 }));
  for (let left = n; left > 0;) {
    const { tasks } = await take(queue, left);
    for (const t of tasks) await settle('nack', t);
    left -= tasks.length;
  }
}

async function manager(method, path, body) {
  const r = await fetch(k.ADMIN + '/v1/admin/' + path, { method, headers: { Authorization: 'Bearer ' + ADMIN_TOKEN }, body: body && JSON.stringify(body) });
  if (!r.ok) throw new Error(method + ' ' + path + ': ' + r.status + ' ' + await r.text());
  return r.json();
}
const pool = async name => (await manager('GET', 'task-queues')).pools.find(p => p.pool === name);

// ---- what the operator sees ----

async function dashboard(hash, options) {
  const c = await k.visitor(Object.assign({}, DESK, options));
  const page = await c.newPage();
  await page.goto(`${k.ADMIN}/#token=${encodeURIComponent(ADMIN_TOKEN)}&who=anna`);
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  await page.goto(k.ADMIN + '/' + hash);
  await page.locator('#tasks').waitFor();
  return { c, page };
}

const button = (page, name) => page.getByRole('button', { name, exact: true });
const row = (page, table, name) => page.locator(`#${table} tbody tr`, { has: page.locator('th', { hasText: name }) });
const cell = async (page, table, name, head) => {
  const heads = await page.locator(`#${table} thead th`).allInnerTexts();
  return (await row(page, table, name).first().locator('th,td').nth(heads.indexOf(head)).innerText()).trim();
};

async function yes(page, what, question, name) {
  await page.locator('#ask-yes').waitFor();
  const asked = await page.locator('#ask-head').innerText();
  claim(what + ' is asked back', asked.includes(question), asked);
  if (name) {
    claim(what + ' is not done by a slip', await page.locator('#ask-yes').isDisabled());
    await page.locator('#ask-name').fill(name);
  }
  await page.locator('#ask-yes').click();
  await page.locator('#ask').waitFor({ state: 'hidden' });
}

// ---- scenarios ----

// A pool is added by its form, and its limits changed; a refusal is shown beside its field.
async function poolForms() {
  const { c, page } = await dashboard('#tasks');
  await button(page, 'Add a pool …').click();
  await page.locator('#ask-yes').click();
  await claimUntil('a pool without a name is refused', async () => (await page.locator('#ask-why').innerText()).includes('needs the name of a queue'));
  await page.getByLabel('Queues').last().fill('forms/*');
  await page.getByLabel('At once for each key').fill('-2');
  await page.locator('#ask-yes').click();
  await claimUntil('a limit that cannot be is refused at its field', async () => (await page.locator('#ask .wrong').innerText()).startsWith('key.max_concurrent: -2 is not allowed'));
  await page.getByLabel('At once for each key').fill('2');
  await k.accessible(page, 'the form of a pool');
  await k.shot(page, 'tasks-add-pool');
  await yes(page, 'a pool', 'Add a pool');
  await claimUntil('it is shown', async () => await page.locator('#tp-name').innerText() === 'forms/*' &&
    (await page.locator('#tp-rules').innerText()).includes('2 at the same time for each key'));
  await button(page, 'Limits …').click();
  await page.getByLabel('Attempts').fill('3');
  await button(page, 'Add a pattern of keys').click();
  await page.locator('#ask .item').getByLabel('Keys').fill('tenant7/*');
  await page.locator('#ask .item').getByLabel('At once').fill('9');
  claim('from what to what is said', (await page.locator('#ask .turns').innerText()).includes('max_attempts: 8 → 3'), await page.locator('#ask .turns').innerText());
  await k.accessible(page, 'limits of a pool');
  await k.shot(page, 'tasks-limits');
  await page.setViewportSize({ width: 375, height: 800 });
  await k.fits(page, 'limits of a pool on a phone');
  await page.setViewportSize(DESK.viewport);
  await yes(page, 'its limits', 'Limits of pool forms/*');
  const is = await manager('GET', 'pools/forms%2F%2A');
  claim('they are changed, the rest is as it was', is.max_attempts === 3 && is.key.max_concurrent === 2 && is.keys.length === 1 && is.keys[0].max_concurrent === 9, JSON.stringify(is));
  await manager('DELETE', 'pools/forms%2F%2A');
  await c.close();
}

async function empty() {
  await manager('DELETE', 'pools/*');
  const { c, page } = await dashboard('#tasks');
  await claimUntil('without a pool it says what to do', async () => (await page.locator('#tp-none').innerText()).includes('segqctl pool add'));
  claim('and that is no trouble', await page.locator('#word').innerText() === 'ALL WELL', await page.locator('#problems').innerText());
  await k.accessible(page, 'no pools');
  await k.shot(page, 'tasks-none');
  for (const match of ['*', 'ride/*', 'mail'])
    await manager('PUT', 'pools/' + encodeURIComponent(match), { match, key: { max_concurrent: 2 }, retry: { min: '1s', max: '1s' } });
  await claimUntil('pools appear by themselves', async () => await page.locator('#tp tbody tr').count() === 3);
  await claimUntil('the first is shown', async () => (await page.locator('#tp-name').innerText()).length > 0);
  const marks = () => page.locator('#tp-graph #g-svg text').evaluateAll(all => all.filter(e => e.getAttribute('text-anchor') === 'end').map(e => e.textContent));
  await claimUntil('no mark of an axis stands twice, also where nothing has waited yet', async () => (await marks()).join() === '0,5,10,0,0.5/s,1/s,0 ms,5 ms,10 ms');
  await k.shot(page, 'tasks-idle');
  await c.close();
}

async function crowd() {
  await makeDead('ride/eu', 9);
  await submitMany('ride/eu', 60, i => ({ key: 'tenant' + i % 4, priority: i % 3, name: i === 59 ? 'named7' : undefined }));
  await submitMany('ride/us', 20, i => ({ key: 'tenant' + i % 2 }));
  await submitMany('mail', 12, i => ({ key: 'user' + i, delay: '1h' }));
  const { c, page } = await dashboard('#tasks');
  await claimUntil('a pool says who waits', async () => await cell(page, 'tp', 'ride/*', 'Waiting') === '80');
  await claimUntil('what is delayed', async () => await cell(page, 'tp', 'mail', 'Delayed') === '12');
  await claimUntil('what is dead', async () => await cell(page, 'tp', 'ride/*', 'Dead') === '9');
  await row(page, 'tp', 'ride/*').locator('a').click();
  await claimUntil('the address names the pool', () => page.url().endsWith('#pool=ride%2F*'));
  await claimUntil('its partitions are on both nodes', async () => await page.locator('#parts-sum').innerText() === '16 partitions on 2 task nodes');
  await claimUntil('its busiest queues', async () => await cell(page, 'tqs', 'ride/eu', 'Waiting') === '60');
  await claimUntil('a problem is told above', async () => (await page.locator('#problems').innerText()).includes('ride/* has 9 dead tasks'));
  await row(page, 'tqs', 'ride/eu').locator('a').click();
  await claimUntil('the hottest keys', async () => await cell(page, 'keys', 'tenant0', 'Waiting') === '15');
  await claimUntil('its dead', async () => await page.locator('#tasks-of tbody tr').count() === 9);
  const { tasks } = await take('ride/eu', 4);
  await claimUntil('what runs', async () => await cell(page, 'tp', 'ride/*', 'Running') === '4');
  await claimUntil('and what holds the others up', async () => await cell(page, 'tp', 'ride/*', 'Held up by') === 'workers (76)');
  await button(page, 'Running').click();
  await claimUntil('and which tasks', async () => await page.locator('#tasks-of tbody tr').count() === 4);
  await k.accessible(page, 'tasks');
  await k.fits(page, 'tasks');
  await k.shot(page, 'tasks');
  for (const t of tasks) await settle('ack', t);
  claim('nobody else is asked', c.asked.every(r => r.url().startsWith(k.ADMIN)));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await page.goBack();
  await claimUntil('back leads to the pool alone', async () => await page.locator('#tq').isHidden() && await page.locator('#tp-name').innerText() === 'ride/*');
  await c.close();
}

const EU = '#pool=ride%2F*&queue=ride%2Feu';

// A task has a page of its own, whose address can be kept.
async function whyOfOne() {
  const { task } = await submit('ride/eu', { key: 'late', delay: '1h' });
  const { c, page } = await dashboard(EU);
  await page.locator('#task-name').fill(task);
  await page.keyboard.press('Enter');
  await claimUntil('a token finds the task', async () => (await page.locator('#task-says').innerText()).startsWith('Submitted with a delay: waits in line from '));
  claim('its state is a word', await page.locator('#task-state').innerText() === 'SCHEDULED');
  claim('the page is its own', await page.locator('#tp').isHidden() && page.url().endsWith('#task=' + task));
  await k.accessible(page, 'one task');
  await k.shot(page, 'tasks-why');
  await button(page, 'Run next …').click();
  await yes(page, 'a run', 'Give it to the next worker?');
  await claimUntil('it is before all others', async () => (await manager('GET', 'tasks/' + encodeURIComponent(task))).state === 'waiting');
  await claimUntil('the page says so', async () => await page.locator('#task-state').innerText() === 'WAITING');
  await page.locator('#task-orders').getByRole('button', { name: 'Cancel …' }).click();
  await yes(page, 'a cancel', 'Cancel the task?');
  claim('it is cancelled', (await manager('GET', 'tasks/' + encodeURIComponent(task))).state === 'cancelled');
  await page.locator('#task-back').click();
  await claimUntil('a link leads to its queue', async () => await page.locator('#tq-name').innerText() === 'Queue ride/eu');
  claim('no errors', c.wrong.length === 0, c.wrong.join('; '));
  await page.locator('#task-name').fill('nonsense');
  await page.keyboard.press('Enter');
  await claimUntil('what is no task is said', async () => (await page.locator('#task-says').innerText()).includes('neither a task nor an id'));
  await c.close();
}

// What it carries, and another one of it; the audit has who has read it.
async function payloadOfOne() {
  const { task } = await submit('paid', { max_attempts: 1, key: 'tenant7', labels: ['trip7'], payload: { order: 7, to: { city: 'Köln', lines: Array.from({ length: 60 }, (_, i) => ({ n: i, text: 'line ' + i })) } } });
  const { tasks: [t] } = await take('paid', 1);
  await call('POST', `/v1/tasks/${t.task}/progress`, { lease_id: t.lease_id, percent: 40, text: 'printing' });
  const { c, page } = await dashboard('#task=' + task);
  await claimUntil('its progress is told', async () => /40 %; printing; said/.test(await page.locator('#task-progress').innerText()));
  await k.accessible(page, 'one task, with progress');
  await call('POST', `/v1/tasks/${t.task}/nack`, { lease_id: t.lease_id, reason: 'no paper' });
  await claimUntil('the page hears of its end', async () => await page.locator('#task-state').innerText() === 'DEAD');
  claim('what was tried is a table', await cell(page, 'th', '1', 'Reason') === 'no paper' && /ms|s$/.test(await cell(page, 'th', '1', 'Took')), await page.locator('#th').innerText());
  claim('what it carries is not read unasked', !(await page.locator('#task-body').innerText()).includes('Köln'));
  await button(page, 'Show payload and result').click();
  await claimUntil('it is folded', async () => /application\/json/.test(await page.locator('#task-body').innerText()) && await page.locator('#task-body details.json').count() > 60);
  const id = (await manager('GET', 'tasks/' + encodeURIComponent(task))).id;
  claim('who has read it is noted', (await manager('GET', 'audit?n=20')).entries.some(e => e.path === `/v1/admin/tasks/${id}/payload` && e.who === 'anna'));
  await k.accessible(page, 'one task, with its payload');
  await k.fits(page, 'one task, with its payload');
  await k.shot(page, 'tasks-payload');
  await page.setViewportSize({ width: 375, height: 800 });
  await k.fits(page, 'one task on a phone');
  await k.shot(page, 'tasks-payload-phone');
  await page.setViewportSize(DESK.viewport);
  await button(page, 'Redrive with another payload …').click();
  await page.locator('#ask textarea').fill('{"order": 8');
  await page.locator('#ask-yes').click();
  await claimUntil('what is no JSON is refused', async () => (await page.locator('#ask-why').innerText()) === 'That is no JSON.');
  await page.locator('#ask textarea').fill('{"order": 12345678901234567890, "to": "Łódź"}');
  await k.accessible(page, 'the form of a payload');
  await k.shot(page, 'tasks-another');
  await yes(page, 'another task', 'Make another task of it?');
  await claimUntil('its page is shown, and says of which it was made', async () => new RegExp(`Made of\\s+${id}`).test(await page.locator('#task-lines').innerText()));
  claim('it waits, with the key of the old one', await page.locator('#task-state').innerText() === 'WAITING' && /Key\s+tenant7/.test(await page.locator('#task-lines').innerText()));
  await button(page, 'Show payload and result').click();
  await claimUntil('with the bytes that were given', async () => (await page.locator('#task-body pre').textContent()).includes('12345678901234567890, "to": "Łódź"'));
  await page.locator('#task-lines a').first().click();
  await claimUntil('a link leads to the old one', async () => await page.locator('#task-head').innerText() === 'Task ' + id && await page.locator('#task-state').innerText() === 'DEAD');
  await page.goBack();
  await claimUntil('and back to the new one', async () => await page.locator('#task-state').innerText() === 'WAITING');
  // Long, with more items than a page shows as a tree, and a character of two bytes.
  await page.goto(`${k.ADMIN}/#task=${id}`);
  await claimUntil('the old one again', async () => await page.locator('#task-head').innerText() === 'Task ' + id);
  await button(page, 'Redrive with another payload …').click();
  await page.locator('#ask textarea').fill(JSON.stringify(['ß', ...Array(100000).fill(7)]));
  await yes(page, 'a long one', 'Make another task of it?');
  await claimUntil('a long one is made', async () => await page.locator('#task-state').innerText() === 'WAITING');
  await button(page, 'Show payload and result').click();
  await claimUntil('  with all of it', async () => (await page.locator('#task-body').innerText()).includes('195.3 KiB'));
  await page.emulateMedia({ colorScheme: 'dark' });
  await k.accessible(page, 'one task in the dark');
  await k.shot(page, 'tasks-one-dark');
  await manager('POST', 'task-queues/paid/tasks/cancel');
  await manager('POST', 'task-queues/paid/tasks/discard');
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
}

// Nothing is asked for ever: what was refused, and why, stands where the answer would be.
async function wrongLinks() {
  const { c, page } = await dashboard('#pool=typo');
  await claimUntil('a pool that is not there is told', async () => await page.locator('#tp-unknown').innerText() === 'There is no pool typo.');
  await page.goto(k.ADMIN + '/#pool=ride%2F*&queue=ride%2FEU!');
  for (const list of ['keys', 'tasks'])
    await claimUntil(`a queue's name that cannot be is told of its ${list}`, async () => /queue/.test(await page.locator(`#${list}-none`).innerText()));
  await claimUntil('the other answers are shown', async () => await cell(page, 'tqs', 'ride/eu', 'Waiting') === '56');
  await k.accessible(page, 'tasks, a wrong link');
  await page.route('**/v1/admin/live*', r => r.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"detail":"it starts"}' }));
  await claimUntil('why there is no answer is told', async () => (await page.locator('#link').innerText()).includes('it starts'));
  await c.close();
}

const json = body => ({ status: 200, contentType: 'application/json', body: JSON.stringify(body) });

async function manyTasks() {
  const { c, page } = await dashboard(EU);
  const shown = () => page.locator('#tasks-of tbody th').allInnerTexts();
  await button(page, 'Waiting').click();
  await claimUntil('a page of many', async () => (await shown()).length === 20 && await page.locator('#tasks-more').isVisible());
  const first = await shown();
  await page.locator('#tasks-more').click();
  await claimUntil('the next page has others', async () => { const now = await shown(); return now.length > 0 && !now.some(id => first.includes(id)); });
  await page.locator('#tasks-first').click();
  await claimUntil('the first is there again', async () => (await shown()).join() === first.join());
  await page.locator('#sift-key').fill('tenant1');
  await page.locator('#sift-key').press('Enter');
  await claimUntil('those of a key', async () => { const keys = await page.locator('#tasks-of tbody tr td:nth-child(2)').allInnerTexts(); return keys.length > 0 && keys.every(x => x === 'tenant1'); });
  await page.locator('#sift-label').fill('nobody');
  await page.locator('#sift-label').press('Enter');
  await claimUntil('and that none has a label', async () => await page.locator('#tasks-none').innerText() === 'None of them here.');
  await page.locator('#sift-key').fill('');
  await page.locator('#sift-label').fill('');
  await page.locator('#sift-since').fill('2020-01-01T00:00');
  await page.locator('#sift-since').press('Enter');
  await claimUntil('those of a time', async () => (await shown()).length === 20);
  await page.locator('#sift-until').fill('2020-01-02T00:00');
  await page.locator('#sift-until').press('Enter');
  await claimUntil('none of another', async () => await page.locator('#tasks-none').innerText() === 'None of them here.');
  await page.locator('#sift-name').fill('named7');
  await page.locator('#sift-name').press('Enter');
  await claimUntil('the one of a name', async () => (await shown()).length === 1);
  await k.accessible(page, 'tasks, sifted');
  await c.close();
}

// The picture of a pool stands where that of people does, with its own lines and ranges.
async function poolGraph() {
  const { c, page } = await dashboard('#pool=ride%2F*');
  const legend = () => page.locator('#tp-graph #g-now li span').allInnerTexts();
  await claimUntil('a pool has a picture', async () => (await legend()).join() === 'Waiting,Arrive,Start,End,Fail,Wait p50,Wait p99,Oldest,Running');
  await claimUntil('its lines are drawn', async () => (await page.locator('#tp-graph #g-svg path.l0').first().getAttribute('d')).length > 0);
  claim('so are waits, of the tasks that have begun', (await page.locator('#tp-graph #g-svg path.line.l3').getAttribute('d')).length > 0);
  claim('and told in words', /Last 10 min: between [\d,]+ and [\d,]+ waited/.test(await page.locator('#g-says').innerText()), await page.locator('#g-says').innerText());
  await button(page, '1 h').click();
  await claimUntil('over an hour', async () => (await page.locator('#g-says').innerText()).startsWith('Last 1 h'));
  await page.locator('#g-area').focus();
  await page.keyboard.press('Home');
  await claimUntil('the keyboard reads it', async () => /Waiting [\d,–]+, Arrive/.test(await page.locator('#g-area').getAttribute('aria-valuetext')));
  await k.accessible(page, 'a pool with its picture');
  await k.shot(page, 'tasks-graph');
  await page.locator('#views a').first().click();
  await claimUntil('people have theirs', async () => (await page.locator('#queue #g-now li span').allInnerTexts()).join() === 'Waiting,Arrivals,Let in,Limit');
  claim('no errors', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
}

// An order of many calls that is stopped stays so, whatever is asked next.
async function stopHere() {
  const { c, page } = await dashboard(EU);
  const held = [];
  let calls = 0;
  await page.route('**/tasks/redrive*', r => {
    if (++calls < 2) return r.fulfill(json({ tasks: 1, away: [], next: 'more' }));
    held.push(r);
  });
  await button(page, 'Redrive …').click();
  await page.locator('#ask-yes').click();
  await claimUntil('how far it is, is told', async () => await page.locator('#ask-far').innerText() === '1 task so far …' && held.length === 1);
  await button(page, 'Stop here').click();
  await button(page, 'Pause …').click();
  await held[0].fulfill(json({ tasks: 1, away: [], next: 'more' }));
  await claimUntil('it ends', async () => (await page.locator('#done').innerText()).startsWith('Stopped after 2 tasks'));
  claim('no call follows', calls === 2, String(calls));
  claim('the next question stays open', await page.locator('#ask-head').innerText() === 'Pause pool ride/*?' && await page.locator('#ask').isVisible());
  await page.locator('#ask-no').click();
  await c.close();
}

async function pauseAndResume() {
  const { c, page } = await dashboard(EU);
  await button(page, 'Pause …').click();
  await page.locator('#ask-no').click();
  claim('a question that is answered no changes nothing', !(await pool('ride/*')).paused);
  await button(page, 'Pause …').click();
  await yes(page, 'a pause', 'Pause pool ride/*?');
  await claimUntil('the pause is shown in words', async () => await page.locator('#tp-state').innerText() === 'PAUSED');
  await claimUntil('and above all', async () => (await page.locator('#problems').innerText()).includes('Pool ride/* is PAUSED'));
  claim('it is what holds the tasks up', await cell(page, 'tp', 'ride/*', 'Held up by') === 'the pause of the pool (76)', await cell(page, 'tp', 'ride/*', 'Held up by'));
  await k.accessible(page, 'tasks, paused');
  await k.shot(page, 'tasks-paused');
  await claimUntil('who did it is noted', async () => (await page.locator('#audit').innerText()).includes('ride/*: paused false → true'));
  await button(page, 'Resume …').click();
  await yes(page, 'the end of the pause', 'Resume pool ride/*?');
  await claimUntil('it is open again', async () => await page.locator('#tp-state').innerText() === 'OPEN');
  await c.close();
}

async function redriveAndDiscard() {
  await claimUntil('nine are dead', async () => (await pool('ride/*')).dead === 9);
  const { c, page } = await dashboard(EU);
  await page.locator('#redrive-n').fill('none');
  await button(page, 'Redrive …').click();
  await claimUntil('what is no rate is said', async () => (await page.locator('#done').innerText()).includes('a number above 0'));
  await page.locator('#redrive-n').fill('0.5');
  await button(page, 'Redrive …').click();
  await yes(page, 'a redrive', 'Redrive all dead tasks of ride/eu?');
  await claimUntil('it goes on by itself', async () => (await page.locator('#tq-redrive').innerText()).includes('dead wait again'));
  await k.shot(page, 'tasks-redrive');
  await button(page, 'Stop a redrive …').click();
  await yes(page, 'its end', 'Stop the redrive of ride/eu?');
  await claimUntil('and is stopped', async () => await page.locator('#tq-redrive').isHidden());
  claim('some are dead still', (await pool('ride/*')).dead > 0);
  await button(page, 'Discard the dead …').click();
  await page.locator('#ask-name').waitFor();
  await k.shot(page, 'tasks-ask-discard');
  await k.accessible(page, 'a dangerous question about tasks');
  await yes(page, 'a discard', 'Discard all dead tasks of ride/eu?', 'ride/eu');
  await claimUntil('the dead are gone', async () => (await pool('ride/*')).dead === 0);
  await claimUntil('an empty list says so', async () => (await page.locator('#tasks-none').innerText()).includes('nothing to redrive'));
  await page.locator('#cancel-key').fill('tenant1');
  await page.locator('#f-cancel button').click();
  await yes(page, 'a cancel of a key', 'Cancel all tasks of key tenant1 of ride/eu?', 'ride/eu');
  await claimUntil('the key has no task in line', async () => await row(page, 'keys', 'tenant1').count() === 0);
  await c.close();
}

// Tasks in line that nobody takes: the very time when nobody looks at the workers.
async function noWorker() {
  await manager('PUT', 'pools/lone', { match: 'lone' });
  await submitMany('lone', 12, () => ({}));
  const { c, page } = await dashboard('#pool=lone');
  const problems = () => page.locator('#problems').innerText();
  await claimUntil('that no worker comes is a problem', async () => /Pool lone: 12 tasks wait, NO WORKER has taken one for \d+ s/.test(await problems()));
  claim('and in the sentence above', /no worker takes \d+ of them\.$/.test(await page.locator('#sum').innerText()), await page.locator('#sum').innerText());
  await k.accessible(page, 'no worker');
  await k.shot(page, 'tasks-no-worker');
  const { tasks } = await take('lone', 12);
  await claimUntil('with the first worker it is over', async () => !(await problems()).includes('lone'));
  for (const t of tasks) await settle('ack', t);
  await manager('DELETE', 'pools/lone?final=true');
  await c.close();
}

// The same of figures that are made up: what is no trouble, and when it is worse.
async function workerWords() {
  const { c, page } = await dashboard('#tasks');
  const said = await page.evaluate(async () => {
    const t = await import('/dashboard/task_words.js');
    const p = o => Object.assign({ pool: '*', waiting: 501, running: 0, dead: 0, endpoint: '', paused: false, away: 0, stalled_ms: 180000, held: [{ by: 'workers', says: 'workers', tasks: 501 }] }, o);
    const of = o => t.tasksProblems({ pools: [p(o)], nodes: [{ up: true, partitions: 1, name: 'n' }], endpoints: [] }).map(x => `${x.level} ${x.says}`).join();
    return [of({}), of({ stalled_ms: 31000 }), of({ stalled_ms: 9000 }), of({ running: 1 }), of({ endpoint: 'mail' }), of({ held: [{ by: 'limits', says: 'x', tasks: 501 }] })];
  });
  claim('501 tasks without a worker for 3 minutes are trouble', said[0] === 'bad Pool *: 501 tasks wait, NO WORKER has taken one for 3 min: are the workers running?', said[0]);
  claim('sooner it is a warning', said[1].startsWith('warn '), said[1]);
  claim('nothing of a worker that has just been there, that works, that is none, or of a limit', said.slice(2).every(x => x === ''), said.slice(2).join(' | '));
  await c.close();
}

// Of a worker's attempt: when, how it ended, and what the worker said.
async function whatWasTried() {
  const { task } = await submit('tried', { max_attempts: 1, labels: ['trip7'] });
  const { tasks: [t] } = await take('tried', 1);
  await call('POST', `/v1/tasks/${t.task}/nack`, { lease_id: t.lease_id, reason: 'no paper' });
  const { c, page } = await dashboard('#pool=*&queue=tried');
  await page.locator('#task-name').fill(task);
  await page.keyboard.press('Enter');
  await claimUntil('its attempts are told', async () => await page.locator('#th tbody tr').count() === 1 && await cell(page, 'th', '1', 'Ended by') === 'nack');
  claim('and its labels', /Labels\s+trip7/.test(await page.locator('#task-lines').innerText()), await page.locator('#task-lines').innerText());
  await k.accessible(page, 'one task, dead');
  await c.close();
}

// Nobody listens at port 1: its breaker opens.
async function endpoints() {
  await manager('PUT', 'endpoints/gen', { url: 'http://127.0.0.1:1', allow: ['127.0.0.0/8'], max_concurrent: 3, breaker: { ratio: 0.5, min: 1, open: '60s' } });
  await k.until(() => submit('gen', { payload: undefined, path: '/img' }).then(() => true));
  const { c, page } = await dashboard('#pool=gen');
  await claimUntil('an endpoint that fails is down', async () => (await cell(page, 'te', 'gen', 'State')).startsWith('DOWN'));
  await claimUntil('and above all', async () => (await page.locator('#problems').innerText()).includes('Endpoint gen is DOWN at 1 of'));
  await claimUntil('its limits are the rules of its pool', async () => await page.locator('#tp-rules').innerText() ===
    'Its tasks are calls to the endpoint gen. At most 3 at the same time to the endpoint.');
  await k.until(() => submit('gen', { payload: undefined, path: '/img' }).then(() => true));
  await row(page, 'te', 'gen').getByRole('button', { name: 'Probe …' }).click();
  await yes(page, 'a probe', 'Probe endpoint gen?');
  await claimUntil('its answer is told', async () => /gen probed\. .*task\.\d: connect/.test(await page.locator('#done').innerText()));
  await row(page, 'te', 'gen').getByRole('button', { name: 'Pause …' }).click();
  await yes(page, 'its pause', 'Pause endpoint gen?');
  await submit('gen', { payload: undefined, path: '/img' });
  await claimUntil('a pause is told', async () => await cell(page, 'te', 'gen', 'State') === 'PAUSED');
  await claimUntil('and whom it keeps in line', async () => /Endpoint gen is PAUSED, \d tasks? in line/.test(await page.locator('#problems').innerText()));
  await claimUntil('by its pause', async () => await cell(page, 'te', 'gen', 'Limited by') === 'its pause');
  await claimUntil('and by whom', async () => /^its endpoint \(\d\)$/.test(await cell(page, 'tp', 'gen', 'Held up by')));
  await claimUntil('what happened has its name', async () => /gen(: paused|\/pause)/.test(await page.locator('#events').innerText()));
  await k.accessible(page, 'tasks, an endpoint');
  claim('its address is one line', await row(page, 'te', 'gen').locator('td.url').evaluate(e => e.offsetHeight < 45 && e.title === 'http://127.0.0.1:1'));
  await k.fits(page, 'tasks, an endpoint');
  await k.shot(page, 'tasks-endpoint');
  await manager('DELETE', 'endpoints/gen?final=true');
  await claimUntil('its removal is told in words', async () => (await page.locator('#audit').innerText()).includes('gen: removed, with its pools and their tasks'));
  await claimUntil('and it is gone', async () => await page.locator('#endpoints').isHidden());
  await c.close();
}

// What is shared, and what comes by the clock.
// An endpoint and a budget are made, and changed, by their forms.
async function endpointForms() {
  const { c, page } = await dashboard('#tasks');
  const at = key => page.locator(`#ask [data-key=${key}] input`);
  await button(page, 'Add a budget …').click();
  await at('name').fill('gpus');
  await at('rate_per_s').fill('40');
  await yes(page, 'a budget', 'Add a budget');
  await claimUntil('it is there', async () => (await manager('GET', 'budgets/gpus')).rate_per_s === 40);
  await button(page, 'Add an endpoint …').click();
  await page.locator('#ask-yes').click();
  await claimUntil('an endpoint without a name is refused', async () => (await page.locator('#ask-why').innerText()).includes('needs a name'));
  await at('name').fill('formed');
  await at('url').fill('ftp://nobody');
  await page.locator('#ask-yes').click();
  await claimUntil('an address that cannot be is refused at its field', async () => (await page.locator('#ask .wrong').innerText()).startsWith('url must begin'));
  await at('url').fill('http://127.0.0.1:1');
  await at('allow').fill('127.0.0.0/8, ::1/128');
  await at('budget').fill('gpus');
  await k.accessible(page, 'the form of an endpoint');
  await k.shot(page, 'tasks-add-endpoint');
  await yes(page, 'an endpoint', 'Add an endpoint');
  await row(page, 'te', 'formed').getByRole('button', { name: 'formed' }).click();
  await at('max_concurrent').fill('7');
  claim('from what to what is said', (await page.locator('#ask .turns').innerText()) === 'max_concurrent: 0 → 7', await page.locator('#ask .turns').innerText());
  await yes(page, 'its limits', 'Change endpoint formed');
  const is = await manager('GET', 'endpoints/formed');
  claim('they are changed, the rest is as it was', is.max_concurrent === 7 && is.budget === 'gpus' && is.allow.length === 2 && is.deadline === '30s', JSON.stringify(is));
  await row(page, 'tb', 'gpus').getByRole('button', { name: 'gpus' }).click();
  await at('max_active').fill('9');
  await yes(page, 'a budget that is there', 'Change budget gpus');
  claim('is changed', (await manager('GET', 'budgets/gpus')).max_active === 9);
  await manager('DELETE', 'endpoints/formed?final=true');
  await manager('DELETE', 'budgets/gpus');
  await c.close();
}

// A schedule is made, changed, paused and deleted, by the keyboard where a form is filled in.
async function scheduleForms() {
  const { c, page } = await dashboard('#pool=*&queue=clocked');
  const at = key => page.locator(`#ask [data-key=${key}]`).locator('input,textarea,select').first();
  const of = name => manager('GET', 'task-queues/clocked/tasks/schedules/' + name);
  const said = async () => (await page.locator('#ask [role=status]').first().innerText());
  await button(page, 'Add a schedule …').focus();
  await page.keyboard.press('Enter');
  await at('name').waitFor();
  await at('name').focus();
  await page.keyboard.type('nightly');
  await page.keyboard.press('Tab');
  await page.keyboard.type('30 25 * * *');
  await claimUntil('times that cannot be are said at once', async () => await said() === 'cron: hour: 25 is not in 0-23', await said());
  await page.locator('#ask-yes').click();
  await claimUntil('and refused at their field', async () => (await page.locator('#ask .wrong').innerText()).startsWith('cron: hour: 25'));
  claim('which has the focus', await at('cron').evaluate(e => e === document.activeElement));
  await at('cron').fill('30 2 * * *');
  await at('zone').fill('Europe/Berlin');
  await claimUntil('the next times are told by the zone’s clocks', async () => /^Fires \d+-\d\d-\d\d 02:30:00\+0[12]:00, then /.test(await said()) || / 03:00:00\+02:00/.test(await said()), await said());
  await at('task').fill('{"payload": {"report": "day"');
  await page.locator('#ask-yes').click();
  await claimUntil('what is no JSON is refused at its field', async () => (await page.locator('#ask .wrong').innerText()) === 'task must be an object');
  await at('task').fill('{"payload": {"report": "day"}}');
  await k.accessible(page, 'the form of a schedule');
  await k.shot(page, 'tasks-add-schedule');
  await page.setViewportSize({ width: 375, height: 800 });
  await k.fits(page, 'the form of a schedule on a phone');
  await page.setViewportSize(DESK.viewport);
  await yes(page, 'a schedule', 'Add a schedule to clocked');
  await claimUntil('it is there', async () => (await of('nightly')).definition.task.payload.report === 'day');
  await row(page, 'ts', 'nightly').getByRole('button', { name: 'nightly' }).click();
  await at('cron').fill('');
  await at('zone').fill('');
  await at('every').fill('2h');
  claim('from what to what is said', /cron: “30 2 \* \* \*” → nothing/.test(await page.locator('#ask .turns').innerText()), await page.locator('#ask .turns').innerText());
  await call('PUT', '/v1/schedules/clocked/nightly', { every: '3h', task: { payload: 7 } });
  await page.locator('#ask-yes').click();
  await claimUntil('what a server has changed meanwhile stays', async () => (await page.locator('#ask-why').innerText()).includes('Somebody has changed it'));
  await page.locator('#ask-no').click();
  await row(page, 'ts', 'nightly').getByRole('button', { name: 'nightly' }).click();
  await at('every').fill('2h');
  await yes(page, 'a change', 'Change schedule nightly of clocked');
  const is = (await of('nightly')).definition;
  claim('is made, the rest is as the server had it', is.every === '2h' && is.task.payload === 7 && !('cron' in is), JSON.stringify(is));
  await row(page, 'ts', 'nightly').getByRole('button', { name: 'Pause …' }).click();
  await yes(page, 'a pause', 'Pause schedule nightly of clocked?');
  await claimUntil('is one', async () => (await of('nightly')).definition.paused === true);
  await row(page, 'ts', 'nightly').getByRole('button', { name: 'Resume …' }).click();
  await yes(page, 'its end', 'Resume schedule nightly of clocked?');
  await claimUntil('is told in the log', async () => (await page.locator('#audit').innerText()).includes('clocked nightly: paused true → false'), await page.locator('#audit').innerText());
  await k.accessible(page, 'schedules');
  await row(page, 'ts', 'nightly').getByRole('button', { name: 'Delete …' }).click();
  await yes(page, 'a removal', 'Delete schedule nightly of clocked?', 'nightly');
  await claimUntil('it is gone', async () => (await page.locator('#ts-none').innerText()).includes('No schedule'));
  await c.close();
}

async function budgetsAndSchedules() {
  await manager('PUT', 'budgets/gpu', { rate_per_s: 50 });
  await manager('PUT', 'endpoints/shared', { url: 'http://127.0.0.1:1', allow: ['127.0.0.0/8'], budget: 'gpu', adaptive: { min: 2, max: 20 } });
  await call('PUT', '/v1/schedules/tried/hourly', { every: '1h', task: { payload: 'x' } });
  const { c, page } = await dashboard('#pool=*&queue=tried');
  await claimUntil('a budget has its rate', async () => await cell(page, 'tb', 'gpu', 'Rate') === '50/s');
  claim('and below it who shares it', await cell(page, 'tb', 'shared', 'What') === 'endpoint');
  await claimUntil('what an endpoint is thought to bear is told', async () => /^\d+, adaptive$/.test(await cell(page, 'te', 'shared', 'At once')));
  await claimUntil('a schedule has its next tick', async () => /\d\d:\d\d:\d\d$/.test(await cell(page, 'ts', 'hourly', 'Next')));
  await button(page, 'Run now …').click();
  await yes(page, 'a run of a schedule', 'Run schedule hourly of tried now?');
  await claimUntil('its task is told', async () => /waiting|scheduled/.test(await cell(page, 'ts', 'hourly', 'Its task')));
  await k.accessible(page, 'budgets and schedules');
  await k.fits(page, 'budgets and schedules');
  await k.shot(page, 'tasks-budgets');
  await manager('DELETE', 'endpoints/shared?final=true');
  await manager('DELETE', 'budgets/gpu');
  await claimUntil('a budget that is gone is not shown', async () => await page.locator('#budgets').isHidden());
  await c.close();
}

// It stops, as a machine does that hangs.
async function nodeDies() {
  const { c, page } = await dashboard(EU);
  process.kill(Number(TASK_PID), 'SIGSTOP');
  try {
    await claimUntil('a task node that died is told', async () => /Task node task\.1 is DOWN for \d+ s; \d+ partitions there/.test(await page.locator('#problems').innerText()));
    await claimUntil('and which pools it concerns', async () => await cell(page, 'tp', 'ride/*', 'State') === 'AWAY');
    await claimUntil('and which partitions', async () => await page.locator('#parts td.bad').count() > 0);
    await k.accessible(page, 'tasks, a node is down');
    await k.shot(page, 'tasks-node-down');
  } finally {
    process.kill(Number(TASK_PID), 'SIGCONT');
  }
  await claimUntil('and when it is back', async () => await cell(page, 'tp', 'ride/*', 'State') === 'OPEN');
  await c.close();
}

async function phoneAndDark() {
  for (const [name, options] of [
    ['tasks-phone', { viewport: { width: 360, height: 740 } }],
    ['tasks-dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
    ['tasks-phone-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ]) {
    const { c, page } = await dashboard(EU, options);
    await button(page, 'Waiting').click();
    await claimUntil(name + ': it lives', async () => await page.locator('#tasks-of tbody tr').count() > 0);
    await k.fits(page, name);
    await k.accessible(page, name);
    await k.shot(page, name);
    await c.close();
  }
}

k.main([empty, poolForms, crowd, whyOfOne, payloadOfOne, wrongLinks, manyTasks, poolGraph, stopHere, pauseAndResume, redriveAndDiscard, noWorker, workerWords, whatWasTried, endpoints, endpointForms, scheduleForms, budgetsAndSchedules, phoneAndDark,
  nodeDies]);
