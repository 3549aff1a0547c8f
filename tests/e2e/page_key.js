// page_key.js: a place that works with one browser alone, in a real one: by a key that no script can read out; by the
// cookie alone where there is no WebCrypto (plain http). Run by e2e_page.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const TARGET = '/v1/queues/login', COOKIE = 'segq_device_login';

const device = async c => ((await c.cookies()).find(x => x.name === COOKIE) || { value: '' }).value;
const join = dpop => fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST', headers: dpop ? { DPoP: 'none' } : {} });

async function binds(bind) {
  await k.admin('PATCH', '', { bind });
  const is = async () => { const r = await join(bind === 'key'); return bind === 'none' ? !r.headers.get('Set-Cookie') : r.status === 401; };
  if (!await k.until(is)) throw new Error('no bind: ' + bind);
}

async function oneBrowser() {
  await binds('key');
  const c = await k.visitor(), page = await c.newPage();
  await page.clock.install();
  await page.goto(k.pageUrl(TARGET));
  await page.waitForSelector('article.waiting');
  const first = await device(c), ticket = await page.locator('#leave input[name=token]').inputValue();
  claim('the page joins with a key', /^[\w-]{22}\.[\w-]{22}$/.test(first), first);
  const key = () => page.evaluate(() => new Promise(done => {
    const open = indexedDB.open('segq', 1);
    open.onsuccess = () => {
      const get = open.result.transaction('keys').objectStore('keys').get('device');
      get.onsuccess = () => crypto.subtle.exportKey('jwk', get.result.privateKey).then(() => 'read out', () => get.result.privateKey.extractable).then(done);
    };
  }));
  claim('that no script can read out', await key() === false);
  await new Promise(done => setTimeout(done, 1100)); // a stamp has seconds
  await page.clock.fastForward(481000);
  await claimUntil('which is proved anew in time', async () => await device(c) !== first);
  claim('  with the same id', (await device(c)).slice(0, 22) === first.slice(0, 22));

  await c.clearCookies({ name: COOKIE });
  await page.reload();
  await page.waitForSelector('article.waiting');
  claim('when the cookie is gone the key finds the place', await page.locator('#leave input[name=token]').inputValue() === ticket);
  claim('  and has its cookie again', (await device(c)).slice(0, 22) === first.slice(0, 22));

  const thief = await k.visitor(), theirs = await thief.newPage();
  await thief.addCookies((await c.cookies()).filter(x => x.name === 'segq_ticket'));
  await theirs.goto(k.pageUrl(TARGET));
  await theirs.waitForSelector('main:not([hidden]) article.other_device');
  claim('another browser reads whose the place is', await theirs.locator('h1').textContent() === 'This place belongs to another device');
  await thief.close();

  await k.release(1, 1);
  await page.waitForURL(k.ROUTER + TARGET);
  claim('and it comes in', (await c.cookies()).some(x => x.name === 'segq_pass'));
  claim('no errors, no policy broken', c.wrong.filter(x => !/403/.test(x)).length === 0, c.wrong.join('; '));
  await c.close();

  const leaver = await k.visitor(), gone = await leaver.newPage();
  await gone.goto(k.pageUrl(TARGET));
  await gone.waitForSelector('article.waiting');
  await gone.route('**/v1/tickets/*', r => r.abort()); // no poll sees it first
  await leaver.clearCookies({ name: COOKIE });
  await gone.click('#leave button');
  await gone.waitForSelector('article.left');
  claim('who leaves has proved the key before', await device(leaver) !== '');
  await leaver.close();

  const patient = await k.visitor(), slow = await patient.newPage();
  await slow.goto(k.pageUrl(TARGET));
  await slow.waitForSelector('article.waiting');
  await slow.route('**/v1/tickets/*/device', () => {}); // an answer that never comes
  const number = await slow.locator('article ~ p code').innerText();
  await patient.clearCookies({ name: COOKIE });
  await slow.click('#leave button');
  await slow.waitForSelector('main:not([hidden]) article.other_device', { timeout: 20000 });
  claim('who cannot prove it is told so in time, and the number', (await slow.locator('article').innerText()).includes(number), number);
  await patient.close();

  const keeps = await k.visitor(), last = await keeps.newPage();
  await last.goto(k.pageUrl(TARGET));
  await last.waitForSelector('article.waiting');
  await last.route('**/v1/tickets/*/device', () => {});
  await last.click('#leave button');
  await last.waitForSelector('article.left', { timeout: 20000 });
  claim('who has a good cookie leaves, proof or not', last.url().includes('left=1'), last.url());
  await keeps.close();

  const plain = await k.visitor(), old = await plain.newPage();
  await old.goto(k.pageUrl(TARGET).replace(k.ROUTER, k.PLAIN));
  await old.waitForSelector('article.waiting');
  claim('without WebCrypto it has a cookie', (await device(plain)).length === 22, await device(plain));
  await plain.close();
  await binds('none');
}

k.main([oneBrowser]);
