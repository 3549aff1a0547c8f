// page_client.js: clients/js in a browser, by a page that loads it as a module; and its middleware, behind
// which the shop is, in a server of node:http. e2e_page.sh starts the cluster.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const k = require('./kit.js');
const { claim, claimUntil } = k;

const lib = path.resolve(__dirname, '../../clients/js/lib');
const PAGE = `<!doctype html><title>In line</title><p id=place>-</p><script type=module>
  import { Client } from '/lib/client.mjs';
  const line = new Client(${JSON.stringify([k.ROUTER])}).line('login', { onTrouble: why => { document.title = why; } });
  for await (const t of line) document.querySelector('#place').textContent = t.position;
  document.cookie = 'segq_pass=' + line.ticket.pass;
  location = '/shop';
</script>`;
// Behind the site's own host, where the browser has the routers' cookies.
const OWN = PAGE.replace(/new Client.*/, `new Client(['']).line('login', { events: false, token: localStorage.token });`)
  .replace('for await (const t of line)', 'for await (const t of line) localStorage.token = line.token,');
const KEYED = OWN.replace('{ Client }', '{ Client, browserDeviceKey }').replace('events: false', '$&, key: await browserDeviceKey()');
const handOn = (q, a) => q.pipe(http.request(k.ROUTER + q.url, { method: q.method, headers: q.headers }, r => {
  a.writeHead(r.statusCode, r.headers);
  r.pipe(a);
}));

async function serve() {
  const { Gate } = await import(path.join(lib, 'index.mjs'));
  const gate = new Gate(k.ROUTER, 'login', { room: k.ROUTER }).express();
  const server = http.createServer((q, a) => {
    if (q.url === '/') a.setHeader('Content-Type', 'text/html').end(PAGE);
    else if (q.url === '/own') a.setHeader('Content-Type', 'text/html').end(OWN);
    else if (q.url === '/keyed') a.setHeader('Content-Type', 'text/html').end(KEYED);
    else if (/^\/(v1|q)\//.test(q.url)) handOn(q, a);
    else if (/^\/lib\/\w+\.mjs$/.test(q.url)) a.setHeader('Content-Type', 'text/javascript').end(fs.readFileSync(path.join(lib, path.basename(q.url))));
    else gate(q, a, () => a.setHeader('Content-Type', 'text/html').end(`<h1>Shop</h1><p id=ticket>${q.segq.ticket}</p>`));
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
}

async function moduleInABrowser() {
  await k.joinMany(2);
  const site = await serve(), c = await k.visitor(), page = await c.newPage();
  await page.goto(site + '/');
  await claimUntil('the place is told', async () => await page.locator('#place').innerText() === '3');
  const listens = () => c.asked.filter(r => r.url().endsWith('/events')).length;
  await claimUntil('it listens', () => listens() === 1);
  const polls = c.asked.length;
  await k.release(1, 3);
  await claimUntil('the next place is told', async () => await page.locator('#place').innerText() === '2');
  await k.release(2, 2);
  await claimUntil('who is let in gets through the middleware', async () => /^\d+-\d+$/.test(await page.locator('#ticket').innerText()));
  claim('by events: nothing else was asked', c.asked.slice(polls).every(r => r.url() === site + '/shop' || r.url().endsWith('favicon.ico')),
    c.asked.slice(polls).map(r => r.url()).join());
  claim('nothing is wrong', c.wrong.filter(w => !/favicon/.test(w)).length === 0, c.wrong.join('; '));
  const other = await (await k.visitor()).newPage();
  await other.goto(site + '/shop');
  claim('who has no pass comes to the waiting page', other.url().startsWith(k.ROUTER + '/q/login'), other.url());
  claim('and will come back', other.url().endsWith('?return=/shop'), other.url());
  await other.context().close();
  await c.close();
}

// `bind: device`, where nothing is told by events: the browser sends its cookie with each poll.
async function boundPlace() {
  await k.admin('PATCH', '', { bind: 'device' });
  const joined = () => fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST' });
  await claimUntil('the router binds tickets', async () => /^segq_device_login=/.test((await joined()).headers.get('set-cookie')));
  const c = await k.visitor(), page = await c.newPage();
  await page.addInitScript(() => { delete window.EventSource; });
  await page.goto(k.pageUrl('/'));
  const place = await k.shownPlace(page), polls = [];
  page.on('response', r => /\/v1\/tickets\/[\w-]+$/.test(r.url()) && polls.push(r.status()));
  await claimUntil('it polls', () => polls.length >= 3);
  claim('each poll is its own device\'s', polls.every(s => s === 200), polls.join());
  claim('the place is kept', await k.shownPlace(page) === place, await page.locator('body').innerText());
  polls.length = 0;
  await page.goto(await serve() + '/own');
  await claimUntil('the module, behind the site\'s own host, polls', () => polls.length >= 3);
  const there = await page.locator('#place').innerText(), before = polls.length;
  await page.reload();
  await claimUntil('and goes on after a reload', () => polls.length >= before + 2);
  claim('each is its own device\'s', polls.every(s => s === 200), polls.join());
  claim('in the same place', /^\d+$/.test(there) && await page.locator('#place').innerText() === there, there);
  await c.close();
  await k.admin('PATCH', '', { bind: 'none' });
}

// `bind: key`: a page of the site's own proves the key that the waiting page at this address has.
async function keyedPlace() {
  await k.admin('PATCH', '', { bind: 'key' });
  const joined = () => fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST', headers: { DPoP: 'none' } });
  await claimUntil('the router wants proofs', async () => (await joined()).status === 401);
  const site = await serve(), c = await k.visitor(), page = await c.newPage(), said = [];
  const device = async () => ((await c.cookies()).find(x => x.name === 'segq_device_login') || { value: '' }).value;
  page.on('response', r => said.push(`${r.request().method()} ${r.url()} ${r.status()}`));
  await page.goto(site + '/keyed');
  await claimUntil('a page of one\'s own has a place', async () => /^\d+$/.test(await page.locator('#place').innerText()));
  const first = await device(), place = await page.locator('#place').innerText();
  claim('  with a key', /^[\w-]{22}\.[\w-]{22}$/.test(first), first);
  await c.clearCookies({ name: 'segq_device_login' });
  await page.reload();
  await claimUntil('without the cookie it goes on', async () => await page.locator('#place').innerText() === place);
  claim('  since it has proved its key', (await device()).slice(0, 22) === first.slice(0, 22) && said.some(s => /^POST .*\/device 204$/.test(s)), said.join());
  claim('nothing is wrong', c.wrong.filter(w => !/favicon|40[13]/.test(w)).length === 0, c.wrong.join('; '));
  await c.clearCookies({ name: 'segq_device_login' });
  await page.goto(site + '/q/login');
  await page.waitForSelector('article.waiting');
  claim('the waiting page at this address is the same device', (await device()).slice(0, 22) === first.slice(0, 22), await device());
  await c.close();
  await k.admin('PATCH', '', { bind: 'none' });
}

k.main([moduleInABrowser, boundPlace, keyedPlace]);
