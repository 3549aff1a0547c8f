// page_places.js: one page for a person in two lines, in a real browser, with scripts and without: the first turn
// is taken, the other place is given up, or kept; by a claim, on two devices. Run by e2e_page.sh.
'use strict';
const { createHmac } = require('node:crypto');
const k = require('./kit.js');
const { claim, claimUntil } = k;
const GROUP = k.ROUTER + '/q/worlds?return=' + encodeURIComponent('/v1/queues/login');
const RIDES = '/v1/admin/queues/rides';

async function operator(method, where, body) {
  const r = await fetch(k.ADMIN + where, { method, headers: { Authorization: 'Bearer ' + k.ADMIN_TOKEN }, body: body && JSON.stringify(body) });
  return r.status < 300;
}

const rows = async page => (await page.locator('#places > div').allInnerTexts()).map(t => t.replace(/\s+/g, ' '));
const ahead = async page => (await page.locator('#places b').allInnerTexts()).join();

async function firstTurnOfTwo() {
  await operator('PUT', RIDES, { release_per_s: 0.0001, away: 0 });
  await k.until(async () => (await fetch(k.ROUTER + '/v1/queues/rides')).status === 200);
  await k.joinMany(2);
  const c = await k.visitor({ viewport: { width: 320, height: 568 } }), page = await c.newPage();
  await page.goto(GROUP);
  claim('both places are on one page', await ahead(page) === '3,1', (await rows(page)).join());
  claim('it says what happens', await page.locator('h1').innerText() === 'You are in several lines');
  await k.fits(page, 'places');
  await k.accessible(page, 'places');
  await k.shot(page, 'places');
  const bare = await k.visitor({ javaScriptEnabled: false, locale: 'zh-CN' }), plain = await bare.newPage();
  await plain.goto(GROUP);
  claim('without scripts, too', await ahead(plain) === '4,2' && await plain.locator('html').getAttribute('lang') === 'zh');
  claim('  where it is loaded again', (await plain.content()).includes('http-equiv="refresh"'));
  await page.evaluate(() => { self.mine = true; });
  await k.release(1, 4);
  await claimUntil('places move by themselves', async () => await ahead(page) === '2,1');
  claim('  without loading the page anew', await page.evaluate(() => self.mine));
  await operator('POST', RIDES + '/release?n=1');
  await claimUntil('the first turn goes in by itself', async () => page.url() === k.ROUTER + '/v1/queues/login');
  claim('  with a pass', (await c.cookies(k.ROUTER)).some(x => x.name === 'segq_pass'));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await claimUntil('the other place is given up', async () => {
    await plain.goto(GROUP);
    return await ahead(plain) === '2,1';
  });
  await plain.locator('#leave button').click();
  claim('who leaves, leaves all', plain.url().includes('left=1') && (await fetch(GROUP)).status === 200);
  await plain.goto(GROUP.replace('?', '?left=1&'));
  claim('  and has no place until it joins again', await plain.locator('#places').count() === 0);
  await c.close();
  await bare.close();
}

async function eachTurnWhereOthersAreKept() {
  const c = await k.visitor(), page = await c.newPage();
  await page.goto(GROUP.replace('worlds', 'kept'));
  claim('it says that the others are kept', (await page.locator('article').innerText()).includes('the other places stay yours'));
  const here = (await ahead(page)).split(',').map(Number);
  await operator('POST', RIDES + '/release?n=' + here[1]);
  const enter = page.locator('#places button');
  await claimUntil('a turn is shown beside the place that waits', async () => await enter.count() === 1);
  claim('  and read aloud', (await page.locator('#live').textContent()).includes('It is your turn'));
  await k.accessible(page, 'kept');
  await k.shot(page, 'kept');
  const [inside] = await Promise.all([c.waitForEvent('page'), enter.click()]);
  await claimUntil('  it leads in, in a page of its own', () => inside.url() === k.ROUTER + '/v1/queues/login');
  await k.release(here[0], here[0]);
  await claimUntil('the other turn comes, too', async () => await enter.count() === 2);
  claim('no errors, no policy broken: kept', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
}

/* A link of the operator's back end for a person. */
function invited(sub, members = {}) {
  const part = x => Buffer.from(JSON.stringify(x)).toString('base64url');
  const text = part({ alg: 'HS256', kid: 'shop' }) + '.' +
    part({ aud: ['login', 'rides'], lane: 'default', sub, exp: Math.floor(Date.now() / 1000) + 300, ...members });
  return GROUP.replace('?', '?claim=' + text + '.' + createHmac('sha256', process.env.CLAIM_SECRET).update(text).digest('base64url') + '&');
}

async function onePersonByAClaim() {
  const c = await k.visitor(), page = await c.newPage(), link = invited('anna');
  await page.goto(link);
  const here = await ahead(page);
  claim('a link with a claim joins both', /^\d+,\d+$/.test(here), here);
  claim('  and does not stay in the address', !page.url().includes('claim') && page.url().includes('return='), page.url());
  await page.goBack();
  claim('  nor in the history', !page.url().includes('claim'), page.url());
  const bare = await k.visitor({ javaScriptEnabled: false }), plain = await bare.newPage();
  await plain.goto(link);
  claim('another device of that person, without scripts, has the same places', await ahead(plain) === here, await ahead(plain));
  claim('  and no claim in its address', !plain.url().includes('claim'), plain.url());
  await plain.goto(invited('bob'));
  const [login, rides] = (await ahead(plain)).split(',').map(Number);
  claim('another person has others, in that browser, too', login > Number(here.split(',')[0]), here);
  await plain.locator('#leave button').click();
  await page.goto(link);
  claim('the first one has kept its places', await ahead(page) === here, await ahead(page));
  await operator('POST', RIDES + '/release?n=' + rides);
  await claimUntil('its turn leads in', async () => page.url() === k.ROUTER + '/v1/queues/login');
  await plain.goto(link);
  await claimUntil('  on the other device, too', async () => plain.url() === k.ROUTER + '/v1/queues/login');
  const pass = async x => (await x.cookies(k.ROUTER)).find(y => y.name === 'segq_pass').value;
  claim('  with the same pass', await pass(c) === await pass(bare));
  claim('no errors, no policy broken: by a claim', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
  await bare.close();
}

async function aLinkThatIsNotGood() {
  for (const [name, link] of [['one that is too old', invited('anna', { exp: 1 })], ['one for a single queue', invited('anna', { aud: 'login' })],
    ['one for a lane that a queue does not have', invited('anna', { lane: 'vip' })]]) {
    const c = await k.visitor({ locale: 'de-DE' }), page = await c.newPage();
    await page.goto(link);
    claim(name + ' is refused in words', await page.locator('h1').innerText() === 'Diese Einladung gilt nicht mehr', await page.locator('h1').innerText());
    await k.accessible(page, 'refused');
    await page.locator('form[action$="/join"] button').click();
    claim('  and leads to the ordinary lines', await page.locator('#places b').count() === 2 && !page.url().includes('claim'), page.url());
    await page.locator('#leave button').click();
    await c.close();
  }
}

k.main([firstTurnOfTwo, eachTurnWhereOthersAreKept, onePersonByAClaim, aLinkThatIsNotGood]);
