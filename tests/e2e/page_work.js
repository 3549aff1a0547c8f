// page_work.js: a place that costs some work, in a real browser: done by workers, told aloud, quick enough for a
// phone; without scripts, or without WebCrypto, to wait is the way in. Run by e2e_page.sh.
'use strict';
const { pbkdf2Sync } = require('node:crypto');
const k = require('./kit.js');
const { claim, claimUntil } = k;
const TARGET = '/v1/queues/login';
const PHONE = 4; // times slower than this machine's browser, with as many cores
const FREE_MS = .09; // for a try by OpenSSL, on a free machine

// How many times slower than a free machine this one is now.
function slowness() {
  const from = process.hrtime.bigint();
  for (let i = 0; i < 2000; i++) pbkdf2Sync('n' + i, 'salt', 300, 32, 'sha256');
  return Math.max(1, Number(process.hrtime.bigint() - from) / 2e9 / FREE_MS);
}

const asks = async (mode, cost = 'auto') => {
  await k.admin('PATCH', '', { challenge: { mode, cost } });
  const want = mode === 'on' ? 428 : 201;
  if (!await k.until(async () => (await fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST' })).status === want)) throw new Error('no ' + want);
};

async function working(c, first) {
  const page = await c.newPage();
  await page.addInitScript(() => { // its answer goes when it was seen at work, however quick that is
    const submit = HTMLFormElement.prototype.submit;
    HTMLFormElement.prototype.submit = function () {
      window.go = () => submit.call(this);
      if (window.seen || !document.querySelector('article.work')) window.go();
    };
  });
  await page.goto(k.pageUrl(TARGET), { waitUntil: 'commit' });
  await page.waitForSelector('article.work');
  const from = Date.now();
  if (first) {
    claim('it says what happens', (await page.locator('h1').textContent()).includes('your browser earns your place'));
    claim('aloud, too', await page.locator('#live').getAttribute('aria-live') === 'polite');
    claim('there is nothing to press', await page.locator('button.main').isHidden());
  }
  await page.evaluate(() => { window.seen = true; if (window.go) window.go(); });
  await page.waitForSelector('article.waiting');
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  return [Date.now() - from, page];
}

async function works() {
  await asks('on');
  const bare = await k.visitor({ javaScriptEnabled: false }), late = await bare.newPage();
  await late.goto(k.pageUrl(TARGET));
  const from = Date.now(), button = late.getByRole('button', { name: 'Join the line' });
  claim('without scripts it says to wait', (await late.locator('#patience').textContent()).startsWith('Without scripts: wait'));

  const c = await k.visitor(), [, page] = await working(c, true);
  claim('and then it has its place', /^\d/.test(await k.shownPlace(page)));
  await page.reload();
  claim('a reload costs nothing', await page.locator('article.waiting').count() === 1);
  await c.close();

  // Tries and their time, by the page's own workers, of a challenge that has not ended soon.
  const MOST = 524288;
  await asks('on', String(MOST));
  const busy = await k.visitor(), look = await busy.newPage();
  await look.addInitScript(() => { HTMLFormElement.prototype.submit = () => {}; }); // its answer is not wanted
  await look.goto(k.pageUrl(TARGET), { waitUntil: 'commit' });
  await look.waitForSelector('article.work');
  await k.accessible(look, 'at work');
  const bar = () => look.locator('#bar').evaluate(b => b.value);
  await k.until(async () => await bar() > 0.1);
  const [a, at] = [await bar(), Date.now()];
  const slow = slowness(); // while it works: both share the machine
  await k.until(async () => Date.now() - at > 1500 || await bar() >= 90);
  const ms = 100 * (Date.now() - at) / (await bar() - a) / MOST;
  await busy.close();
  const p95 = .95 * 8192 * ms * PHONE;
  claim(`a phone ${PHONE} times slower has its place within 4 s (p95 ${Math.round(p95)} ms: ${ms.toFixed(3)} ms a try; this machine: ${slow.toFixed(1)} times slower than free)`, p95 < 4000 * slow);

  await asks('on');
  await k.until(() => Date.now() - from > 21000);
  await button.click();
  claim('who has waited half a minute is let in by the button', await late.locator('article.waiting').count() === 1, await late.locator('h1').textContent());
  await bare.close();
  const other = await k.visitor({ javaScriptEnabled: false }), second = await other.newPage();
  await second.goto(k.pageUrl(TARGET));
  await second.getByRole('button', { name: 'Join the line' }).click();
  claim('who presses at once is not', await second.locator('article.work').count() === 1);
  await other.close();
}

async function worksThenWaits() { // whatever fails, those behind it join freely
  try { await works(); } finally { await asks('off'); }
}

k.main([worksThenWaits]);
