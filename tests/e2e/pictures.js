// pictures.js: what README shows of the waiting page and of the dashboard. Run by e2e_pictures.sh
// while a crowd arrives; E2E_PICTURES is the folder.
'use strict';
const path = require('path');
const k = require('./kit.js');
const { claimUntil } = k;

const keep = (page, name) => page.screenshot({ path: path.join(process.env.E2E_PICTURES, name + '.png') });
const waiting = async () => (await k.queue()).waiting;

async function pictures() {
  await claimUntil('a line stands', async () => await waiting() > 8000);
  const at = { locale: 'en-GB', colorScheme: 'light' };
  const c = await k.visitor({ ...at, viewport: { width: 760, height: 840 } });
  const page = await c.newPage();
  await page.goto(k.pageUrl('/v1/queues/login'));
  const first = await k.shownPlace(page);
  const d = await k.visitor({ ...at, viewport: { width: 1280, height: 860 } });
  const dash = await d.newPage();
  await dash.goto(k.ADMIN + '/#token=' + encodeURIComponent(process.env.ADMIN_TOKEN) + '&who=anna');
  await dash.locator('#q-name', { hasText: 'login' }).waitFor();
  await claimUntil('it moves', async () => {
    const place = await k.shownPlace(page);
    return place && place !== first;
  });
  const arrived = Date.now();
  await claimUntil('there is something to see: half a minute of it', async () => Date.now() - arrived > 30000);
  await claimUntil('what it says is fresh', async () => /Updated [0-9] s ago/.test(await page.locator('#fresh').textContent()));
  await keep(page, 'page');
  await keep(dash, 'dashboard');
  await c.close();
  await d.close();
}

// (kit.js' main empties the line first: here it is the subject)
k.open().then(async browser => {
  await pictures();
  await browser.close();
}).catch(e => { console.log('FAIL pictures: ' + e.message); process.exit(1); });
