// dashboard_more.js: the dashboard's picture over time, what is set up with it, and what it weighs. Run
// by e2e_dashboard.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const { DESK, dashboard, drawer, button, yes, asked } = require('./dash_kit.js');

// The picture over time: ranges, the cursor by keys, marks that tell, lists that can be sifted.
async function pictureOverTime() {
  await k.joinMany(20);
  await k.admin('PATCH', '', { message: 'Soon' });
  const { c, page } = await dashboard();
  await claimUntil('what is now stands beside the lines', async () => /Waiting\s*20/.test(await page.locator('#g-now').innerText()));
  await claimUntil('and in words', async () => (await page.locator('#g-says').innerText()).startsWith('Last 10 min: between'));
  await page.locator('#g-area').focus();
  await page.keyboard.press('Home');
  claim('a key goes back in time', /^\d\d:\d\d:\d\d$/.test(await page.locator('#g-when').innerText()) &&
    /Waiting/.test(await page.locator('#g-area').getAttribute('aria-valuetext')), await page.locator('#g-when').innerText());
  await page.keyboard.press('Escape');
  claim('and another one to now', await page.locator('#g-when').innerText() === 'now');
  const mark = page.locator('#g-marks button.change').last();
  await mark.focus();
  claim('a mark tells what happened', (await page.locator('#g-tip').innerText()).includes('message'), await page.locator('#g-tip').innerText());
  await k.accessible(page, 'a mark is told');
  await k.shot(page, 'dashboard-mark');
  for (const name of ['1 h', '24 h', '10 min']) {
    await button(page, name).click();
    await claimUntil(`the range of ${name} has lines`, async () => (await page.locator('#g-says').innerText()).startsWith(`Last ${name}: between`) &&
      (await page.locator('#g-svg .l0').getAttribute('d')).length > 5);
    if (name === '24 h') await k.shot(page, 'dashboard-24h');
  }
  await page.locator('#e-find').fill('router.0 connected');
  await claimUntil('events are sifted by words', async () => await page.locator('#events li').count() === 1);
  await page.locator('#e-find').fill('');
  await page.locator('#e-kind').selectOption('Changes');
  await claimUntil('and by kind', async () => !(await page.locator('#events').innerText()).includes('connected') && await page.locator('#events li').count() > 0);
  await page.locator('#a-find').fill('nobody has done this');
  await claimUntil('changes, too', async () => await page.locator('#a-none').innerText() === 'No change fits.');
  await page.locator('#a-find').fill('');
  await page.locator('#a-kind').selectOption('Nodes');
  await claimUntil('by kind, too', async () => await page.locator('#audit li').count() === 0);
  await page.locator('#a-kind').selectOption('Queues');
  await claimUntil('and found again', async () => (await page.locator('#audit').innerText()).includes('message'));
  await k.admin('PATCH', '', { message: '' });
  await c.close();
}

// What is set once: a queue added, changed, flushed, deleted.
async function setUp() {
  const { c, page } = await dashboard();
  await button(page, 'Add a queue …').click();
  await page.getByLabel('Name').last().fill('shop');
  await page.locator('#ask textarea').fill('{ "release_per_s": ');
  await page.locator('#ask-yes').click();
  await claimUntil('what is no JSON is said', async () => (await page.locator('#ask-why').innerText()).includes('no JSON'));
  await page.locator('#ask textarea').fill('{ "release_per_s": 7 }');
  await k.accessible(page, 'a new queue');
  await yes(page, 'a new queue', 'Add a queue');
  await claimUntil('it is shown', async () => await page.locator('#q-name').innerText() === 'shop');
  await claimUntil('with the name of who made it', async () => (await page.locator('#audit').innerText()).includes('anna (127.0.0.1): shop: made'));
  await drawer(page);
  await k.accessible(page, 'the drawer');
  await k.shot(page, 'dashboard-drawer');
  await button(page, 'Whole definition …').click();
  await page.locator('#ask-head', { hasText: 'The definition of shop' }).waitFor();
  const text = page.locator('#ask textarea');
  await text.fill((await text.inputValue()).replace('"release_per_s": 7', '"release_per_s": 8'));
  claim('what changes is named', (await page.locator('#ask-body').innerText()).includes('To be changed: release_per_s.'));
  await k.shot(page, 'dashboard-definition');
  await yes(page, 'a definition', 'The definition of shop');
  await claimUntil('it is changed', async () => (await page.locator('#audit').innerText()).includes('shop: release_per_s 7 → 8'));
  await button(page, 'Page and texts …').click();
  const preview = page.getByRole('link', { name: 'Preview of all states of the page' });
  await preview.waitFor();
  const [tab] = await Promise.all([c.waitForEvent('page'), preview.click()]);
  await tab.waitForLoadState();
  claim('the page is shown in all its states', new URL(tab.url()).pathname === '/q/shop' && await tab.getByRole('link', { name: 'paused' }).count() === 1, tab.url());
  await tab.close();
  await page.locator('#ask-no').click();
  await button(page, 'Hours …').click();
  await page.getByLabel('Opens at').fill('2099-01-01T20:00');
  await yes(page, 'hours', 'When is shop open?');
  await claimUntil('they are said', async () => /It opens at 1 Jan 2099,? .*20:00/.test(await page.locator('#q-says').innerText()));
  for (const [name, question] of [['Flush …', 'Flush shop?'], ['Delete …', 'Delete shop?']]) {
    await button(page, name).click();
    claim(name + ' wants the name', await page.locator('#ask-yes').isDisabled());
    await page.locator('#ask-name').fill('shop');
    await yes(page, name, question);
  }
  await claimUntil('it is gone', async () => await page.locator('#q-name').innerText() === 'login');
  await c.close();
}

// What a browser loads of the page, as it comes over the wire.
async function smallOnTheWire() {
  const get = async path => (await new Promise((done, fail) => require('http').get(k.ADMIN + path, { headers: { 'Accept-Encoding': 'gzip' } }, r => {
    let n = 0;
    r.on('data', d => { n += d.length; });
    r.on('end', () => done({ n, coded: r.headers['content-encoding'] }));
  }).on('error', fail)));
  const c = await k.visitor(DESK), page = await c.newPage();
  await page.goto(k.ADMIN + '/', { waitUntil: 'networkidle' });
  const paths = [...new Set(c.asked.map(r => new URL(r.url()).pathname))].filter(p => p === '/' || p.startsWith('/dashboard/'));
  const got = await Promise.all(paths.map(get)), sum = got.reduce((n, x) => n + x.n, 0);
  claim(`the dashboard is ${sum} bytes in ${got.length} files: at most 60 KB`, got.length > 10 && sum <= 60 * 1024, String(sum));
  claim('and comes compressed', got.every(x => x.coded === 'gzip'));
  await c.close();
}

k.main([pictureOverTime, setUp, smallOnTheWire]);
