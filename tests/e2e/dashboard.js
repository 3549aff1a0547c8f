// dashboard.js: queuemng's dashboard in a real browser, scenario by scenario. Run by
// e2e_dashboard.sh.
'use strict';
const fs = require('fs');
const k = require('./kit.js');
const { claim, claimUntil } = k;
const { DESK, dashboard, drawer, tile, button, asked, isAsked, yes } = require('./dash_kit.js');

async function wrongToken() {
  const c = await k.visitor(DESK);
  const page = await c.newPage();
  await page.goto(k.ADMIN + '/');
  await page.getByLabel('Admin token').waitFor(); // a session is looked for first
  await k.accessible(page, 'sign in');
  claim('nothing is refused yet', await page.locator('#refused').isHidden());
  await page.getByLabel('Admin token').fill('not-the-token');
  await button(page, 'Sign in').click();
  await page.getByText('does not know this token').waitFor();
  claim('a wrong token shows nothing', await page.locator('#all').isHidden());
  await k.shot(page, 'dashboard-wrong-token');
  await page.getByLabel('Admin token').fill(process.env.ADMIN_TOKEN);
  await page.getByLabel('Your name').fill('bert');
  await button(page, 'Sign in').click();
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  claim('the right one is let in', await page.locator('#all').isVisible());
  const kept = await page.evaluate(() => [localStorage.length, location.href, document.cookie]);
  claim('the token is kept nowhere, and no script sees the session', kept[0] === 0 && !kept[1].includes('token') && kept[2] === '' &&
    !await page.evaluate(t => JSON.stringify(Object.entries(sessionStorage)).includes(t), process.env.ADMIN_TOKEN), String(kept));
  const [cookie] = await c.cookies();
  claim('it is a cookie that stays here', cookie.httpOnly && cookie.sameSite === 'Strict' && cookie.expires === -1 && !cookie.value.includes(process.env.ADMIN_TOKEN), JSON.stringify(cookie));
  await page.reload();
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  claim('a reload asks for no token', await page.locator('#sign').isHidden());
  await page.route('**/v1/admin/session', r => r.request().method() === 'DELETE' ? r.abort() : r.continue());
  await button(page, 'Sign out').click();
  await page.getByText('The session goes on').waitFor();
  await page.unroute('**/v1/admin/session');
  await page.reload();
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  claim('a sign-out that was not heard is no sign-out', await page.locator('#sign').isHidden());
  await button(page, 'Sign out').click();
  claim('a sign-out asks for a token', await page.locator('#sign').isVisible());
  await claimUntil('and takes the cookie away', async () => (await c.cookies()).length === 0);
  await page.reload();
  await page.locator('#token').waitFor();
  claim('also after a reload', await page.locator('#all').isHidden());
  await c.close();
}

async function liveCluster() {
  await k.joinMany(50);
  const { c, page } = await dashboard();
  claim('the link signs in, and takes the token out of the address', page.url() === k.ADMIN + '/', page.url());
  await claimUntil('it shows who waits', async () => await tile(page, 'Waiting') === '50');
  await claimUntil('the chain: three segments, a head and a tail', async () =>
    await page.locator('.chain li:not(.gap)').count() >= 3 && await page.locator('.tag', { hasText: 'HEAD' }).count() === 1 &&
    await page.locator('.tag', { hasText: 'TAIL' }).count() === 1);
  await claimUntil('the nodes are up', async () => await page.locator('#nodes td.state', { hasText: 'UP' }).count() === 3);
  await claimUntil('the metric and its tiers are drawn', async () => await page.locator('.gauge.idle i').count() === 1);
  await claimUntil('waiting and arrivals are drawn over time', async () => (await page.locator('#g-svg .l0').getAttribute('d')).includes('L') &&
    (await page.locator('#g-svg .l1').getAttribute('d')).includes('L'));
  await k.joinMany(7);
  await claimUntil('it moves by itself', async () => await tile(page, 'Waiting') === '57');
  await claimUntil('the events say what happened', async () => (await page.locator('#events').innerText()).includes('Router router.0 connected'));
  await page.locator('#routine').check();
  await claimUntil('and what is routine, when wanted', async () => (await page.locator('#events').innerText()).includes('is sealed (20 joined)'));
  await k.accessible(page, 'dashboard');
  await k.fits(page, 'dashboard');
  await k.shot(page, 'dashboard');
  claim('nobody else is asked', c.asked.every(r => r.url().startsWith(k.ADMIN)));
  claim('no token in any address', c.asked.every(r => !r.url().includes(process.env.ADMIN_TOKEN)));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await page.route('**/v1/admin/**', r => r.abort());
  await claimUntil('silence is told', async () => (await page.locator('#word').innerText()) === 'NO ANSWER from queuemng');
  await k.accessible(page, 'dashboard, no answer');
  await k.shot(page, 'dashboard-no-answer');
  await page.unroute('**/v1/admin/**');
  await claimUntil('and its end', async () => (await page.locator('#link').innerText()) === 'live');
  await c.close();
}

// Most of sixty leave, so their segments become one, faster than anybody looks.
async function merges() {
  const { c, page } = await dashboard();
  const all = await Promise.all(Array.from({ length: 60 }, async () =>
    (await fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST' })).json()));
  await Promise.all(all.filter((t, i) => i % 5).map(t => fetch(k.ROUTER + '/v1/tickets/' + t.token, { method: 'DELETE' })));
  try {
    await k.admin('PATCH', '', { merge: true });
    await page.locator('.lane summary').click();
    await claimUntil('a merge is seen, though it takes no time', async () =>
      /has taken #\d+ in, with \d+/.test(await page.locator('.chain li.moving').first().innerText()));
    claim('and in the strip', await page.locator('.strip .moving').count() > 0);
    await k.shot(page, 'dashboard-merge');
  } finally {
    await k.admin('PATCH', '', { merge: false });
  }
  await c.close();
}

async function pauseAndResume() {
  await k.joinMany(3);
  const { c, page } = await dashboard();
  await drawer(page);
  await button(page, 'Pause').click();
  await page.locator('#ask-no').click();
  claim('a question that is answered no changes nothing', (await k.queue()).state === 'open' && !await isAsked(page));
  await button(page, 'Pause').click();
  await yes(page, 'a pause', 'Pause: login?');
  await claimUntil('the pause is shown in words', async () => await page.locator('#q-state').innerText() === 'PAUSED');
  await claimUntil('and above all', async () => (await page.locator('#problems').innerText()).includes('login is PAUSED'));
  await claimUntil('routers have it', async () => (await k.queue()).state === 'paused');
  await k.accessible(page, 'dashboard, paused');
  await k.shot(page, 'dashboard-paused');
  await claimUntil('who did it is noted', async () => (await page.locator('#audit').innerText()).includes('state “open” → “paused”'));
  claim('with the name', (await page.locator('#audit li').first().innerText()).includes('anna (127.0.0.1)'));
  await button(page, 'Open').click();
  await yes(page, 'the end of the pause', 'Open: login?');
  await claimUntil('it is open again', async () => (await k.queue()).state === 'open');
  const entries = () => fs.readFileSync(process.env.AUDIT_FILE, 'utf8').trim().split('\n').map(JSON.parse);
  await claimUntil('the file has it, line by line', async () => entries().some(e => e.who === 'anna' && e.name === 'login' &&
    e.changes.some(x => x.key === 'state' && x.from === 'open' && x.to === 'paused')));
  await c.close();
}

// A pause says what people read meanwhile, and offers another text; in other languages, too.
async function pauseWithMessage() {
  await k.admin('PATCH', '', { message: 'We are open. Please keep this page.' });
  const { c, page } = await dashboard();
  await drawer(page);
  await claimUntil('the message is known', async () => await page.locator('#message').inputValue() === 'We are open. Please keep this page.');
  await button(page, 'Pause').click();
  await page.locator('#ask-yes').waitFor();
  const body = page.locator('#ask-body');
  claim('the message that stands is said', (await body.innerText()).includes('Now they read: “We are open. Please keep this page.”'), await body.innerText());
  await body.getByLabel('Message to those who wait').fill('Back in ten minutes');
  await button(page, 'Add a language').click();
  await body.locator('.item').getByLabel('Text').fill('Gleich geht es weiter');
  await body.locator('.item').getByLabel('Language').fill('de');
  await k.accessible(page, 'a pause with a message');
  await k.fits(page, 'a pause with a message');
  await k.shot(page, 'dashboard-ask-pause');
  await yes(page, 'a pause', 'Pause: login?');
  await claimUntil('both are set in one change', async () => {
    const q = await (await fetch(k.ADMIN + '/v1/admin/queues/login', { headers: { Authorization: 'Bearer ' + k.ADMIN_TOKEN } })).json();
    return q.state === 'paused' && q.message === 'Back in ten minutes' && q.page.messages.length === 1 && q.page.messages[0].lang === 'de';
  });
  await k.admin('PATCH', '', { message: '', state: 'open' });
  await c.close();
}

async function releaseByKeyboard() {
  await k.joinMany(10);
  const { c, page } = await dashboard();
  await claimUntil('ten wait', async () => await tile(page, 'Waiting') === '10');
  await page.locator('#open-drawer').focus();
  await page.keyboard.press('Enter');
  claim('the drawer has the focus', await page.evaluate(() => document.activeElement.id) === 'close-drawer');
  await page.keyboard.press('Escape');
  claim('and gives it back', await page.locator('#drawer').isHidden() && await page.evaluate(() => document.activeElement.id) === 'open-drawer');
  await page.keyboard.press('Enter');
  await page.locator('#release-n').focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('4');
  await page.keyboard.press('Enter');
  await page.locator('#ask-yes').waitFor();
  claim('a release says how many, from where', await asked(page) === 'Release 4 people from login now?', await asked(page));
  claim('what is in focus changes nothing', await page.evaluate(() => document.activeElement.id) === 'ask-no');
  await k.shot(page, 'dashboard-ask');
  await k.accessible(page, 'a question');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await claimUntil('four are let in', async () => await tile(page, 'Waiting') === '6');
  await page.locator('#ask').waitFor({ state: 'hidden' });
  await claimUntil('and noted', async () => (await page.locator('#audit').innerText()).includes('released 4 by hand'));
  await c.close();
}

async function rateAndTiers() {
  const { c, page } = await dashboard();
  await drawer(page);
  await page.locator('#rate-n').fill('0');
  await button(page, 'Set rate …').click();
  await claimUntil('a rate of 0 is not taken', async () => (await page.locator('#done').innerText()).includes('two things'));
  claim('and nothing is asked', !await isAsked(page));
  await button(page, 'By the limits …').click();
  await yes(page, 'a rate', 'Let people into login by its limits again?');
  await claimUntil('the limits rule', async () => (await page.locator('#limit-now').innerText()).includes('the metric cpu'));
  await claimUntil('the tier in force is filled', async () => await page.locator('.gauge span.now').count() === 1 && await page.locator('.gauge.idle').count() === 0);
  await button(page, 'Change the tiers …').click();
  await page.locator('.tier .below').first().fill('not a number');
  await page.locator('#ask-yes').click();
  await claimUntil('what is no number is said', async () => (await page.locator('#ask-why').innerText()).includes('is no number'));
  await page.locator('.tier .below').first().fill('41');
  await page.locator('.tier .per').first().fill('2345');
  await k.shot(page, 'dashboard-tiers');
  await k.accessible(page, 'tiers');
  await yes(page, 'a change of tiers', 'Change the tiers of login?');
  await claimUntil('the new tier is drawn', async () => (await page.locator('#limits').innerText()).includes('< 41'));
  claim('and all of them stand in words', (await page.locator('#limits small').first().innerText()).startsWith('below 41: 2,345/s · '));
  await page.locator('#rate-n').fill('0.0001');
  await button(page, 'Set rate …').click();
  await yes(page, 'a fixed rate', 'Let people into login at a fixed');
  await claimUntil('the rate is fixed', async () => (await page.locator('#limit-now').innerText()).includes('a fixed rate'));
  for (const rate of ['7', '0.0001']) { /* sooner than the picture of the cluster: nobody else's change */
    await page.locator('#rate-n').fill(rate);
    await button(page, 'Set rate …').click();
    await yes(page, `at once ${rate}`, 'Let people into login at a fixed');
  }
  await claimUntil('two orders in one second are both carried out', async () => (await page.locator('#limit-now').innerText()).includes('0.0001'));
  await page.locator('#mode').selectOption('both');
  await page.locator('#max-n').fill('0');
  await page.locator('#f-max button').click();
  await page.locator('#ask-yes').click();
  await claimUntil('what queuemng refuses is said', async () => (await page.locator('#ask-why').innerText()).includes('max_active'));
  await page.locator('#ask-no').click();
  await c.close();
}

// Opened by the clock, tomorrow: planned, so no trouble, and yet said.
async function notOpenYet() {
  const { c, page } = await dashboard();
  await k.admin('PATCH', '', { opens_at: new Date(Date.now() + 86400000).toISOString().replace(/\.\d+/, '') });
  try {
    await claimUntil('before its hour a queue is not open', async () => await page.locator('#q-state').innerText() === 'NOT OPEN');
    claim('it says when it opens', (await page.locator('#q-says').innerText()).includes('It opens at'));
    await claimUntil('and that is no trouble', async () => await page.locator('#word').innerText() === 'ALL WELL');
    await k.admin('PATCH', '', { prequeue: '48h' });
    await claimUntil('who is early is counted', async () => {
      await k.joinMany(1);
      return / [1-9]\d* are here early: their places are drawn/.test(await page.locator('#q-says').innerText());
    });
  } finally {
    await k.admin('PATCH', '', { opens_at: '', prequeue: 0 });
  }
  await claimUntil('without an hour it is open', async () => await page.locator('#q-state').innerText() === 'OPEN');
  await k.emptyLine();
  await k.admin('POST', '/close');
  await claimUntil('a queue that was closed', async () => await page.locator('#q-state').innerText() === 'CLOSED');
  await claimUntil('is no problem when nobody is in it', async () => await page.locator('#word').innerText() === 'ALL WELL');
  await k.admin('POST', '/open');
  await c.close();
}

// Paused: into an empty line that is open a visitor is let in at once, and sees no message.
async function messageToWaiters() {
  await k.admin('POST', '/pause');
  const { c, page } = await dashboard();
  const v = await k.visitor();
  const waiter = await v.newPage();
  await waiter.goto(k.pageUrl('/v1/queues/login'));
  await drawer(page);
  await page.locator('#message').fill('Back in <ten> minutes');
  await page.locator('#f-message button').click();
  await yes(page, 'a message', 'Publish this message to');
  await claimUntil('the message appears on the waiting page', () =>
    waiter.getByText('Back in <ten> minutes', { exact: true }).isVisible());
  await k.shot(waiter, 'page-message');
  claim('and in the answers to clients', (await k.queue()).message === 'Back in <ten> minutes');
  await page.locator('#message').fill('');
  await page.locator('#f-message button').click();
  await yes(page, 'taking it away', 'Remove the message of login?');
  await claimUntil('it is gone from the page', () => waiter.locator('#message').isHidden());
  await k.admin('POST', '/open');
  await v.close();
  await c.close();
}

// It stops, as a machine does that hangs: links are silent.
async function nodeDies() {
  await k.joinMany(50);
  const { c, page } = await dashboard();
  await page.locator('#routine').check();
  process.kill(Number(process.env.SEGMENT_PID), 'SIGSTOP');
  try {
    await claimUntil('a node that died is told in words', async () =>
      /Node segment\.1 is DOWN for \d+ s/.test(await page.locator('#problems').innerText()));
    await claimUntil('and above all', async () => await page.locator('#word').innerText() === 'TROUBLE');
    await claimUntil('its segments are marked', async () => await page.locator('.chain li.sick').count() > 0);
    await claimUntil('and in the log', async () =>
      (await page.locator('#events').innerText()).includes('Segment node segment.1 is away'));
    await k.accessible(page, 'dashboard, a node is down');
    await k.shot(page, 'dashboard-node-down');
  } finally {
    process.kill(Number(process.env.SEGMENT_PID), 'SIGCONT');
  }
  await claimUntil('and when it is back', async () => !(await page.locator('#problems').innerText()).includes('DOWN'));
  const node = page.locator('#nodes tr', { hasText: 'segment.1' });
  await node.getByRole('button', { name: 'Drain …' }).click();
  await yes(page, 'a drain', 'Drain node segment.1?');
  await claimUntil('the drain is told', async () => (await page.locator('#problems').innerText()).includes('segment.1 is being DRAINED'));
  await node.getByRole('button', { name: 'Use again …' }).click();
  await yes(page, 'the end of a drain', 'Use node segment.1 again?');
  await claimUntil('and its end', async () => (await node.locator('.state').innerText()) === 'UP');
  await c.close();
}

// Names that differ by a digit alone: each is told once, however long one looks, whatever is found.
async function manyPaused() {
  const names = ['event-09', 'event-18', 'event-27', 'event-36', 'event-45'];
  const order = (method, path, body) => fetch(k.ADMIN + '/v1/admin/queues/' + path, { method, headers: { Authorization: 'Bearer ' + k.ADMIN_TOKEN }, body: body && JSON.stringify(body) });
  const { c, page } = await dashboard();
  const problems = page.locator('#problems li');
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => window.seen.push(document.querySelectorAll('#problems li').length)).observe(document.getElementById('problems'), { childList: true, characterData: true, subtree: true });
  });
  try {
    for (const name of names) await order('PUT', name, { state: 'paused' });
    await claimUntil('what is alike is one line', async () => (await problems.allInnerTexts()).some(t => t.startsWith('5 queues are PAUSED') && names.every(n => t.includes(n))));
    claim('with others it says so of all', (await page.locator('#sum').innerText()).includes('of 6 queues'), await page.locator('#sum').innerText());
    await k.accessible(page, 'five queues are paused');
    await k.shot(page, 'dashboard-five-paused');
    for (const name of names.slice(0, 3)) await order('POST', name + '/open');
    await claimUntil('two have a line each', async () => await problems.count() === 2 && (await problems.allInnerTexts()).every(t => / is PAUSED/.test(t)));
    await k.joinMany(1); // its figure moves meanwhile
    await page.locator('#find').evaluate(e => { e.value = 'login'; e.dispatchEvent(new Event('input')); });
    await claimUntil('what is looked for hides no trouble', async () => await page.locator('#queues li').count() === 1 && await problems.count() === 2);
    const most = await page.evaluate(() => Math.max(0, ...window.seen));
    claim(`there were never more than 6 lines: ${most}`, most <= 6);
    claim('no key is there twice', c.wrong.length === 0, c.wrong.join('; '));
  } finally {
    for (const name of names) await order('DELETE', name + '?final=true');
  }
  await c.close();
}

// Its people are awaited on the other node: that is trouble until they are back.
async function nodeIsLost() {
  const { c, page } = await dashboard();
  const joined = await Promise.all(Array.from({ length: 40 }, async () =>
    (await fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST' })).json()));
  const problems = () => page.locator('#problems').innerText();
  const node = page.locator('#nodes tr', { hasText: 'segment.1' });
  await claimUntil('forty wait', async () => await tile(page, 'Waiting') === '40');
  process.kill(Number(process.env.SEGMENT_PID), 'SIGSTOP');
  try {
    await claimUntil('who is not back yet is counted', async () =>
      /up to \d+ (people|person) of \d+ lost segments? (is|are) not back yet/.test(await problems()));
    claim('in red', await page.locator('#word').innerText() === 'TROUBLE');
    claim('the sentence at the top has the queue', (await page.locator('#sum').innerText()).includes('in login;'));
    await k.accessible(page, 'dashboard, people are missing');
    await k.shot(page, 'dashboard-node-lost');
    await claimUntil('what happened is told in sentences', async () =>
      (await page.locator('#events').innerText()).includes('Segment node segment.1 has been away for'));
    claim('no line of the log is shown raw', !/\w=\S/.test(await page.locator('#events').innerText()),
      (await page.locator('#events').innerText()).split('\n').find(l => /\w=\S/.test(l)));
    await Promise.all(joined.map(t => fetch(k.ROUTER + '/v1/tickets/' + t.token)));
    await claimUntil('they come back by polling', async () =>
      !/not back yet/.test(await problems()) && /being brought back/.test(await problems()));
    claim('and others may still come: red', await page.locator('#word').innerText() === 'TROUBLE');
  } finally {
    process.kill(Number(process.env.SEGMENT_PID), 'SIGCONT');
  }
  await claimUntil('the node is back', async () => (await node.locator('.state').innerText()) === 'UP');
  await c.close();
}

async function rejectIsTyped() {
  await k.joinMany(3);
  const { c, page } = await dashboard();
  await claimUntil('three wait', async () => await tile(page, 'Waiting') === '3');
  await drawer(page);
  await button(page, 'Reject').click();
  await page.locator('#ask-yes').waitFor();
  const says = await page.locator('#ask-body').innerText();
  claim('a reject says that places are kept', says.includes('those in line keep their places') && says.includes('3 people in line'), says);
  claim('and is not done by a click', await page.locator('#ask-yes').isDisabled());
  await page.locator('#ask-name').fill('logi');
  claim('nor with another name', await page.locator('#ask-yes').isDisabled());
  await page.keyboard.press('Enter');
  claim('nor by Enter', await isAsked(page) && (await k.queue()).state === 'open');
  await k.accessible(page, 'a dangerous question');
  await k.shot(page, 'dashboard-ask-reject');
  await page.locator('#ask-name').fill('login');
  await yes(page, 'a reject', 'Reject: login?');
  await claimUntil('it rejects', async () => (await k.queue()).state === 'reject');
  await button(page, 'Open').click();
  await yes(page, 'its end', 'Open: login?');
  await claimUntil('it is open again', async () => (await k.queue()).state === 'open');
  await c.close();
}

// Everybody in at once cannot be undone: no click does it, and no form beside it.
async function passthroughIsTyped() {
  await k.joinMany(3);
  const { c, page } = await dashboard();
  await claimUntil('three wait', async () => await tile(page, 'Waiting') === '3');
  await drawer(page);
  claim('it stands in the danger zone', await page.locator('.apart', { hasText: 'Danger zone' }).getByRole('button', { name: 'Let everybody pass' }).count() === 1 &&
    await page.locator('#states button').allInnerTexts().then(v => v.join()) === 'Open,Pause,Close', await page.locator('#states').innerText());
  await button(page, 'Let everybody pass').click();
  await page.locator('#ask-yes').waitFor();
  const says = await page.locator('#ask-body').innerText();
  claim('it says who goes in, and that this is for good', says.includes('3 people go in at once, whatever the backend bears') && says.includes('no undo'), says);
  claim('and is not done by a click', await page.locator('#ask-yes').isDisabled() && await page.locator('#ask-yes').innerText() === 'Let 3 in');
  await k.accessible(page, 'everybody passes?');
  await k.shot(page, 'dashboard-ask-passthrough');
  await page.locator('#ask-no').click();
  await button(page, 'Whole definition …').click();
  const text = page.locator('#ask textarea');
  await text.fill((await text.inputValue()).replace('"state": "open"', '"state": "passthrough"'));
  await page.locator('#ask-yes').click();
  await claimUntil('nor by way of the definition', async () => (await page.locator('#ask-why').innerText()).includes('is set in the danger zone'));
  await page.locator('#ask-no').click();
  claim('nobody has gone in', await tile(page, 'Waiting') === '3' && (await k.queue()).state === 'open');
  await k.joinMany(98);
  await claimUntil('a hundred and one wait', async () => await tile(page, 'Waiting') === '101');
  for (const [field, value, form] of [['#release-n', '101', '#f-release'], ['#rate-n', '5000', '#f-rate']]) {
    await page.locator(field).fill(value);
    await page.locator(form + ' button').first().click();
    await page.locator('#ask-yes').waitFor();
    claim(`${form}: a number that lets all of them in says so`, (await page.locator('#ask-body').innerText()).includes('101 people go in at once'), await page.locator('#ask-body').innerText());
    claim(`${form}: and wants the name`, await page.locator('#ask-yes').isDisabled());
    await page.locator('#ask-no').click();
  }
  await page.locator('#release-n').fill('100');
  await page.locator('#f-release button').click();
  claim('a smaller one does not', await page.locator('#ask-yes').isEnabled());
  await page.locator('#ask-no').click();
  await button(page, 'Let everybody pass').click();
  await page.locator('#ask-name').fill('login');
  await yes(page, 'a passthrough', 'Let everybody in login pass?');
  await claimUntil('they go in', async () => await tile(page, 'Waiting') === '0');
  await k.admin('POST', '/open');
  await c.close();
}

// What is rare, or takes long: the words alone, of answers that are made up.
async function words() {
  const { c, page } = await dashboard();
  const said = await page.evaluate(async () => {
    const w = await import('/dashboard/words.js'), pr = await import('/dashboard/problems.js'), dom = await import('/dashboard/dom.js'), ev = await import('/dashboard/events.js'), d = await import('/dashboard/draw.js');
    const q = o => Object.assign({ queue: 'q', state: 'open', mode: 'rate', max_active: 5, waiting: 6, returning: 0, inside: 0, inside_flushed: 0, flushed_until_ms: 0,
      allowed_per_s: 100, rate_per_s: 98, limited_by: 'cpu', eta_last_s: 240, eta_reason: null, rebuilding: 0, missing: 0,
      def: { hysteresis: 5, limits: [{ metric: 'cpu', tiers: [{ below: 50, rate_per_s: 500 }, { below: 90, rate_per_s: 200 }, { below: 95, rate_per_s: 100 }] }] } }, o);
    const node = o => Object.assign({ name: 'a', up: true, draining: false, segments: 2, silent_ms: 0 }, o);
    const of = (queues, nodes) => pr.problemsOf({ healthy: true, routers: [1], metrics: [], nodes: [node({ name: 'x' }), ...(nodes || [])], unusual: queues });
    const lane = (...up) => ({ segments: [{ waiting: 0, returning: 0, reachable: false }, ...up.map(reachable => ({ waiting: 3, returning: 0, reachable }))] }); // an empty one before them
    const live = (queue, nodes) => of([queue], nodes).map(x => [x.level, x.says]);
    const paused = (n, waiting = 0) => Array.from({ length: n }, (_, i) => q({ queue: 'event-' + i, state: 'paused', waiting: waiting * i }));
    const twice = document.createElement('ul'), shown = [];
    for (let i = 0; i < 3; i++) {
      dom.list(twice, ['a-1', 'a-2', 'a-1'], x => x, () => document.createElement('li'), (e, x) => { e.textContent = x; });
      shown.push(twice.textContent);
    }
    const gauge = (queue, value) => {
      const e = document.createElement('div');
      d.gauges_show(e, queue, [{ name: 'cpu', ok: true, value }]);
      return e.querySelector('p').textContent + ' [' + e.querySelector('span.now').textContent + ']' + (e.querySelector('em') || { textContent: '' }).textContent;
    };
    w.knowMetrics([{ name: 'cpu' }]);
    const day = dom.clock(new Date(2026, 10, 24, 1, 30, 5).getTime()), flip = i => ({ seq: i, at_ms: 1e12 + 1000 * i, level: 'info', text: `event=rate_limit_changed queue=q by=cpu allowed_per_s=${i % 2 ? 100 : 200} was_by=cpu was_per_s=${i % 2 ? 200 : 100}` });
    const folded = ev.fold([{ seq: 1, at_ms: 1e12, level: 'warn', text: 'event=node_down node=a segments=1' }, ...Array.from({ length: 99 }, (_, i) => flip(i + 2))]);
    const { get } = await import('/dashboard/api.js'), ask = window.fetch;
    window.fetch = async () => new Response('{"columns":[');
    const cut = await get('cluster/history').catch(e => e.name).finally(() => { window.fetch = ask; });
    return {
      sum: w.sumOf(q()), sumUnknown: w.sumOf(q({ eta_last_s: null, eta_reason: 'measuring' })), sumStay: [w.sumOf(q({ limited_by: 'slots', rate_per_s: 0, eta_reason: 'stay' })), w.sumOfAll({ waiting: 2, returning: 0, queues_waiting: 1, rate_per_s: 0, longest: { queue: 'q', eta_s: 240, eta_reason: 'stay' } }, 2)],
      stopped: [{}, { mode: 'slots', allowed_per_s: 0 }, { allowed_per_s: 0 }, { allowed_per_s: 0, lanes: [lane(true, false)] }, { allowed_per_s: 0, lanes: [lane(true, true), lane(false, true)] },
        { limited_by: 'recovery', lanes: [lane(false, false)] }].map(o => w.etaOf(q(Object.assign({ eta_last_s: null, eta_reason: 'stopped' }, o)))[1]),
      sumEmpty: w.sumOf(q({ waiting: 0 })),
      flushed: w.saysOf(q({ mode: 'slots', limited_by: 'flushed', inside: 5, inside_flushed: 5 })),
      flushedProblem: live(q({ mode: 'slots', limited_by: 'flushed', inside: 5, inside_flushed: 5 })),
      lost: live(q({ rebuilding: 2, missing: 12000 }), [node({ up: false, segments: 0, silent_ms: 60000 })]),
      noLimits: live(q({ limited_by: 'no_limits' })), warned: live(q({ warning: 'nobody is told' })),
      nowhere: pr.problemsOf({ healthy: true, routers: [1], metrics: [], nodes: [node({ draining: true }), node({ name: 'b', up: false, segments: 0 })], unusual: [] }).map(x => [x.level, x.says]),
      drained: live(q(), [node({ draining: true, segments: 0 }), node({ draining: true, segments: 0, up: false, retired: true, forget_in_ms: 9 })]),
      draining: live(q(), [node({ draining: true, drain: { segments_left: 2, moving: 0, why: 'no room', segment: 17, again_in_ms: 26000 } }), node({ name: 'b', draining: true, drain: { segments_left: 2, moving: 1, why: '', segment: null, again_in_ms: null } })]),
      held: gauge(q(), 89.64), plain: gauge(q({ allowed_per_s: 200 }), 89.64), above: gauge(q({ allowed_per_s: 0 }), 93),
      folded: folded.map(x => [x.n, x.said]),
      first: pr.problemsOf({ healthy: true, routers: [], metrics: [], nodes: [node()], unusual: [q({ rebuilding: 2, missing: 12000 })] }).map(x => x.kind),
      unlisted: pr.problemsOf({ healthy: true, routers: [1], metrics: [], nodes: [node()], unusual: paused(3), unusual_total: 5 }).map(x => x.says),
      two: of(paused(2)).map(x => x.kind + ' ' + x.name), many: of(paused(8, 100), [node({ up: false, silent_ms: 9000 })]).map(x => [x.level, x.says]),
      all: w.sumOfAll({ waiting: 3100, returning: 20, queues_waiting: 4, rate_per_s: 521, longest: { queue: 'event-09', eta_s: 720 } }, 51),
      allEmpty: w.sumOfAll({ waiting: 0, returning: 0, queues_waiting: 0, rate_per_s: 0, longest: null }, 51),
      allHeld: w.sumOfAll({ waiting: 1, returning: 0, queues_waiting: 1, rate_per_s: 0, longest: null }, 2), shown,
      day, once: ev.once([['operator', 'who=anna did=POST what=/v1/admin/queues/shop/release'], ['release_by_hand', 'queue=shop n=3'], ['queue_changed', 'queue=shop version=8'], ['admin_change', 'by=anna queue=shop change=a=1'],
        ['operator', 'who=anna did=POST what=/v1/admin/nodes/b/drain'], ['queue_changed', 'queue=other version=2'],
        ['queue_state', 'queue=sale state=paused'], ['admin_change', 'by=anna queue=sale change="a=1 state=\\"paused\\""'], ['queue_state', 'queue=night state=open']].map(([event, rest], i) => ({ seq: i, at_ms: 1e12 + i, level: 'info', text: `event=${event} ${rest}` }))).map(x => x.seq),
      routine: ['opened', 'unused', 'sealed', 'removed', 'lost'].map(x => ev.isRoutine(`event=segment_${x} seg=1 queue=q`)),
      odd: ev.sentence('event=new_thing node=a why="b c"'), cut,
    };
  });
  const is = (what, got, want) => claim(what, JSON.stringify(got) === JSON.stringify(want), JSON.stringify(got));
  is('half an answer is none', said.cut, 'SyntaxError');
  is('the truth in one sentence', said.sum, '6 people wait in q; 98 a second go in, limited by the metric cpu; the last in line waits about 4 min.');
  is('what is not known is said', said.sumUnknown, '6 people wait in q; 98 a second go in, limited by the metric cpu; the wait of the last in line is not known.');
  is('an estimate by the longest stay says so', said.sumStay.map(x => / (the last in line waits|the longest wait is) about 4 min(, in .*)?, if all who are inside stay as long as they may\.$/.test(x)), [true, true]);
  is('why nobody goes in: the limit, the node of the head, or both', said.stopped, ['the node of its head is away', 'the node of its head is away', 'a limit lets nobody in', 'a limit lets nobody in',
    'a limit lets nobody in, and the node of its head is away', 'a lost segment comes back first']);
  is('an empty line', said.sumEmpty, 'Nobody waits in q.');
  is('slots after a flush', said.flushed, '5 of 5 slots taken, 5 by passes from before the flush; limited by passes from before the flush.');
  is('and why nobody goes in', said.flushedProblem, [['warn', 'q: 5 of 5 slots taken, 5 by passes from before the flush, 6 people wait']]);
  is('a lost node stays red', said.lost, [['bad', 'q: up to 12,000 people of 2 lost segments are not back yet; whoever goes on polling keeps the place'],
    ['warn', 'Node a is GONE for 60 s, and nobody is on it: start it again, or forget it']]);
  is('a queue without limits is no problem', said.noLimits, []);
  is('one whose definition is warned of is one', said.warned, [['warn', 'q: nobody is told']]);
  is('nor is a node that was drained', said.drained, []);
  is('a drain says what holds it up', said.draining, [['warn', 'Node a is being DRAINED: 2 segments are left; segment 17 stays: no room, tried again in 26 s'], ['warn', 'Node b is being DRAINED: 2 segments are left']]);
  claim('a drain of all of them is', said.nowhere.some(x => x[0] === 'bad' && x[1].startsWith('All segment nodes are being DRAINED')), JSON.stringify(said.nowhere));
  is('hysteresis is said', said.held, 'cpu is 89.64: stays at 100/s until below 85; it was above 90 (hysteresis 5) [< 95100/s]more below 85');
  is('where there is none, it is not', said.plain, 'cpu is 89.64, below 90: at most 200 a second [< 90200/s]');
  is('above the last border, too', said.above, 'cpu is 93: stays at 0/s until below 90; it was above 95 (hysteresis 5) [≥ 95nobody]more below 90');
  is('a rate that goes up and down is one line', said.folded, [[99, 'q: 200 a second by cpu, was 100 by cpu'], [1, 'Segment node a is away (1 segment)']]);
  is('what concerns everybody comes first', said.first, ['routers', 'lost']);
  is('queues beyond those that are listed are told of', said.unlisted.slice(-1), ['2 more queues with fewer people are not open, or keep people waiting: segqctl status lists all']);
  is('two that are alike have a line each', said.two, ['is paused event-0', 'is paused event-1']);
  is('more are one line, and what is worse stands above it', said.many, [['bad', 'Node a is DOWN for 9 s; 2 segments are there, whose people keep their places'],
    ['warn', '8 queues are PAUSED (people join and wait, nobody is let in): event-7, event-6, event-5, event-4, event-3, event-2 and 2 more; 2,800 people wait']]);
  is('of many queues the sum is over all', said.all, '3,120 people wait in 4 of 51 queues; 521 a second go in; the longest wait is about 12 min, in event-09.');
  is('of empty ones, too', said.allEmpty, 'Nobody waits in any of 51 queues.');
  is('and what is not known of them', said.allHeld, '1 person waits in 1 of 2 queues; nobody goes in now; how long they wait is not known.');
  is('a list shows a key once, however often it is brought up to date', said.shown, ['a-1a-2', 'a-1a-2', 'a-1a-2']);
  is('a day is said as in English', said.day, '24 Nov 01:30');
  is('of two lines about one change one is left', said.once, [1, 3, 4, 5, 7, 8]);
  is('a segment comes and goes without a mark, but for one that is lost', said.routine, [true, true, true, true, false]);
  is('what a later queuemng says is no raw line', said.odd, 'New thing: node a, why b c');
  await c.close();
}

async function phoneAndDark() {
  await k.joinMany(30);
  for (const [name, options] of [
    ['dashboard-phone', { viewport: { width: 360, height: 740 } }],
    ['dashboard-dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
    ['dashboard-phone-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ]) {
    const { c, page } = await dashboard(options);
    await claimUntil(name + ': it lives', async () => Number(await tile(page, 'Waiting')) >= 30);
    await k.fits(page, name);
    await k.accessible(page, name);
    await k.shot(page, name);
    await c.close();
  }
}

k.main([wrongToken, liveCluster, merges, pauseAndResume, pauseWithMessage, releaseByKeyboard, rateAndTiers, notOpenYet, messageToWaiters, rejectIsTyped, passthroughIsTyped, words, manyPaused, nodeDies, phoneAndDark, nodeIsLost]);
