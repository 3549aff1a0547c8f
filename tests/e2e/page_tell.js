// page_tell.js: people who ask on the waiting page to be told. Run by e2e_tell.sh.
'use strict';
const fs = require('fs');
const k = require('./kit.js');
const { claim, claimUntil } = k;
const KEY = 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4';
const TARGET = '/v1/queues/login';

const turns = () => fs.readFileSync(process.env.SEEN, 'utf8').split('\n').filter(Boolean).map(l => JSON.parse(l))
  .filter(c => c.path === '/told/turns').map(c => JSON.parse(Buffer.from(c.body, 'base64')).data);

async function pageHas(turn_notice, selector) {
  await k.admin('PATCH', '', { turn_notice: { queue: 'hook', claim_window: '60s', ...turn_notice } });
  const ok = await k.until(async () => {
    const c = await k.visitor(), page = await c.newPage();
    await page.goto(k.pageUrl(TARGET));
    const is = await page.locator(selector).count();
    await page.locator('#leave button').click();
    await page.waitForSelector('article.left');
    await c.close();
    return is;
  });
  if (!ok) throw new Error('no ' + selector);
}

// A push service that is made up: what headless browsers have none of.
const ENDPOINT = 'https://push.example/made-up/' + 'x'.repeat(1200); // some of Edge are about as long
const madeUp = endpoint => {
  self.subscribed = [];
  PushManager.prototype.subscribe = function (how) {
    self.subscribed.push([how.userVisibleOnly, how.applicationServerKey.length, how.applicationServerKey[0]]);
    return Promise.resolve({ toJSON: () => ({ endpoint, keys: { p256dh: 'p', auth: 'a' } }) });
  };
};

async function button() {
  await pageHas({ push_key: KEY }, '#push');
  const c = await k.visitor({ permissions: ['notifications'] }), page = await c.newPage();
  await page.addInitScript(madeUp, ENDPOINT);
  await page.goto(k.pageUrl(TARGET));
  const b = page.locator('#push');
  await b.waitFor();
  claim('a button asks', await b.textContent() === 'Tell me when it is my turn' && await b.getAttribute('aria-pressed') === 'false');
  await k.accessible(page, 'a button that tells');
  await b.focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('#push[aria-pressed=true]');
  claim('it subscribes with the key', JSON.stringify(await page.evaluate(() => self.subscribed)) === '[[true,65,4]]');
  claim('it says so, aloud, too', (await page.locator('#live').textContent()).startsWith('You will be told') && (await b.textContent()).startsWith('You will be told'));
  claim('the focus stays', await b.evaluate(e => e === document.activeElement));
  await page.reload();
  await page.waitForSelector('#push[aria-pressed=true]');
  claim('a page that is loaded again knows it', true);
  await k.accessible(page, 'a button that is pressed');

  const title = await page.locator('#title').textContent(), back = '/q/login?return=' + encodeURIComponent(TARGET);
  const [worker] = c.serviceWorkers();
  const kept = () => worker.evaluate(async () => (await (await caches.open('segq:push')).keys()).length);
  // the browser renews it while no page is open
  await page.close();
  await worker.evaluate(async endpoint => {
    const e = new ExtendableEvent('pushsubscriptionchange');
    e.newSubscription = { toJSON: () => ({ endpoint, keys: { p256dh: 'p', auth: 'a' } }) };
    e.waitUntil = p => { self.renewed = p; };
    dispatchEvent(e);
    await self.renewed;
  }, ENDPOINT + 'new');
  claim('the ticket stays known to the worker', await kept() === 1);

  // what is sent is shown, by the worker: no headless browser shows it
  await worker.evaluate(() => { registration.showNotification = async (text, o) => { self.shown = [text, o.body, o.data, o.lang, o.tag]; }; });
  const push = data => worker.evaluate(async text => {
    dispatchEvent(new PushEvent('push', text ? { data: text } : {}));
    return self.shown;
  }, data);
  const shows = async (what, text, want) => claim(what, JSON.stringify(await push(text)) === JSON.stringify(want.concat('en', k.ROUTER + '/q/login/')));
  await shows('the worker says that it is soon', '{"type":"turn.soon","data":{}}', ['It is your turn soon', title, back]);
  await shows('and that it is now, in its place', '{"type":"turn.now","data":{}}', ['It is your turn', title, back]);
  await claimUntil('which is the last word: the worker forgets the ticket', async () => await kept() === 0);
  await shows('without a word of the sender, too', '', ['It is your turn', title, back]);
  await shows('and whatever is sent', 'null', ['It is your turn', title, back]);
  await shows('or what the sender says', '{"title":"Concert","body":"Come","url":"https://shop.example/?t=1"}', ['Concert', 'Come', 'https://shop.example/?t=1']);

  await k.release(1);
  await claimUntil('the endpoint gets the renewed subscription when the turn has come', () => turns().some(t => t.contact.endpoint === ENDPOINT + 'new'));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
}

async function takesBack() {
  const c = await k.visitor({ permissions: ['notifications'] }), page = await c.newPage();
  await page.addInitScript(madeUp, ENDPOINT);
  await page.goto(k.pageUrl(TARGET));
  await page.locator('#push').click();
  await page.waitForSelector('#push[aria-pressed=true]');
  const tab = await c.newPage();
  await tab.goto(k.pageUrl(TARGET));
  await tab.waitForSelector('#push[aria-pressed=true]');
  const gone = page.waitForResponse(r => r.url().endsWith('/contact') && r.request().method() === 'DELETE');
  await page.locator('#push').click();
  claim('pressed again it takes it back', (await gone).status() === 204);
  await page.waitForSelector('#push[aria-pressed=false]');
  await tab.waitForSelector('#push[aria-pressed=false]');
  claim('another tab says so, too', true);
  await tab.close();
  claim('its worker, with the subscription, goes', await page.evaluate(async () => !(await navigator.serviceWorker.getRegistrations()).length));
  await page.locator('#push').click();
  await page.waitForSelector('#push[aria-pressed=true]');
  claim('and may be asked for again', await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length === 1));
  await c.close();

  const no = await k.visitor(), other = await no.newPage(); // who asks for permission is refused here
  await other.goto(k.pageUrl(TARGET));
  await other.locator('#push').click();
  await claimUntil('who does not consent is told what that means', async () => (await other.locator('#pushed').textContent()).startsWith('That did not work'));
  claim('and the button is as before', await other.locator('#push').getAttribute('aria-pressed') === 'false');
  await no.close();
}

async function field() {
  await pageHas({ push_key: '', field: 'email' }, '#tell');
  const c = await k.visitor({ javaScriptEnabled: false }), page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await page.getByLabel('E-mail address').fill('anna@example.org');
  await page.getByRole('button', { name: 'Tell me when it is my turn' }).click();
  claim('without scripts there is a field', (await page.locator('#told').textContent()).startsWith('You will be told'));
  await c.close();
  const s = await k.visitor(), look = await s.newPage();
  await look.goto(k.pageUrl(TARGET));
  await k.accessible(look, 'a field');
  await k.fits(look, 'a field');
  await s.close();
  await k.release(2, 2);
  await claimUntil('the endpoint gets it', () => turns().some(t => t.contact === 'anna@example.org'));
}

k.main([button, takesBack, field]);
