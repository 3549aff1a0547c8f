// demo_gpu.js: the page of `make demo-gpu` in a real browser: lanes fill, a server dies, the judgement
// comes. Run by e2e_demo_gpu.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const { DEMO_URL } = process.env;

async function serversAndTenants() {
  const c = await k.visitor({ viewport: { width: 1280, height: 900 } });
  const page = await c.newPage();
  await page.goto(DEMO_URL);
  await claimUntil('slots of servers fill', async () => await page.locator('.cell.one, .cell.flood').count() > 2);
  await claimUntil('tenants have answers', async () => /^[1-9]/.test(await page.locator('#tenants').getAttribute('aria-label')));
  await claimUntil('time to the first token is told', async () => /[0-9.]+ s/.test(await page.locator('#figures div').first().innerText()));
  await k.shot(page, 'demo-gpu');
  await k.accessible(page, 'the demo of servers');
  await claimUntil('a server dies', async () => await page.locator('.lane.dead').count() === 1);
  await claimUntil('another one comes', async () => await page.locator('.lane').count() === 4);
  await k.shot(page, 'demo-gpu-dies');
  await claimUntil('the judgement comes', async () => /^[0-9]+ promises kept, 0 broken$/.test(await page.locator('#verdict').innerText()));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await page.setViewportSize({ width: 360, height: 740 });
  await k.fits(page, 'the demo of servers on a phone');
  await k.shot(page, 'demo-gpu-phone');
  await c.close();
}

k.main([serversAndTenants]);
