// demo.js: the page of `make demo-calls` in a real browser: figures move, the target fails and is
// well again, all calls finish. Run by e2e_demo.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const { DEMO_URL } = process.env;

async function demo(options) {
  const c = await k.visitor(Object.assign({ viewport: { width: 1280, height: 900 } }, options));
  const page = await c.newPage();
  await page.goto(DEMO_URL);
  return { c, page };
}

const count = async (page, name) => Number((await page.locator('#counts li', { hasText: name }).locator('b').innerText()).replace(/,/g, ''));
const why = page => page.locator('#why').innerText();
const button = (page, name) => page.getByRole('button', { name, exact: true });
// Of the picture: how many of its points are not empty.
const painted = page => page.locator('#picture').evaluate(c =>
  c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length);

async function callsComeGoAndFinish() {
  const { c, page } = await demo();
  await claimUntil('calls are in line, and go', async () => await count(page, 'In line') > 0 && await count(page, 'Under way') > 0);
  await claimUntil('why they wait is said', async () => /wait\. .*(300 a second|bears at once)/.test(await why(page)));
  await claimUntil('some are answered', async () => await count(page, 'Answered') > 50);
  claim('dots are painted', await painted(page) > 3000, String(await painted(page)));
  await k.shot(page, 'demo');
  await button(page, 'Fail for 5 s').click();
  await claimUntil('a target that fails is down, and nothing is burnt', async () => /target is down/.test(await why(page)));
  claim('the order is shown', await button(page, 'Fail for 5 s').getAttribute('aria-pressed') === 'true');
  await k.shot(page, 'demo-fails');
  await k.accessible(page, 'the demo');
  await claimUntil('after a while it is well', async () => await button(page, 'Fail for 5 s').getAttribute('aria-pressed') === 'false');
  await claimUntil('all finish', async () => /^All 6,000 are over: 6,000 were answered, none was lost/.test(await why(page)));
  claim('none is dead', await count(page, 'Dead') === 0);
  await k.shot(page, 'demo-over');
  claim('nobody else is asked', c.asked.every(r => r.url().startsWith(k.ADMIN)));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await button(page, 'Once more').click();
  await claimUntil('they come once more', async () => await count(page, 'In line') > 100);
  await c.close();
}

async function phoneDarkAndStill() {
  for (const [name, options] of [
    ['demo-phone', { viewport: { width: 360, height: 740 } }],
    ['demo-dark', { colorScheme: 'dark' }],
    ['demo-phone-dark-still', { viewport: { width: 390, height: 844 }, colorScheme: 'dark', reducedMotion: 'reduce' }],
  ]) {
    const { c, page } = await demo(options);
    await claimUntil(name + ': it lives', async () => await count(page, 'Answered') > 0 && await painted(page) > 1000);
    await k.fits(page, name);
    await k.accessible(page, name);
    await k.shot(page, name);
    await c.close();
  }
}

async function withoutTheToken() {
  const c = await k.visitor();
  const page = await c.newPage();
  await page.goto(k.ADMIN + '/dashboard/demo.html');
  await claimUntil('without the token it says what to open', async () => (await why(page)).includes('make demo-calls'));
  claim('and orders nothing', await page.locator('#orders button').count() === 0);
  await c.close();
}

k.main([callsComeGoAndFinish, phoneDarkAndStill, withoutTheToken]);
