// page.js: the waiting page in a real browser, scenario by scenario. Run by e2e_page.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const TARGET = '/v1/queues/login'; // any page of this site will do

const place = page => k.shownPlace(page);

async function waitingToAdmitted() {
  await k.joinMany(3);
  const c = await k.visitor({ viewport: { width: 1280, height: 800 } });
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  claim('the fourth to come is number 4', await place(page) === '4', await place(page));
  await k.accessible(page, 'waiting');
  await k.shot(page, 'desktop');
  await k.release(2);
  await claimUntil('the place counts down by itself', async () => await place(page) === '2');
  claim('the bar has moved', Math.round(await page.locator('#bar').evaluate(b => b.value)) === 50);
  claim('the title says the place', (await page.title()).startsWith('2 · '));
  const icon = () => page.locator('#icon').getAttribute('href');
  const before = await icon();
  claim('so does the icon', before.startsWith('data:image/png'), before.slice(0, 30));
  claim('a sign of life', /^Updated \d+ s ago\.$/.test(await page.locator('#fresh').textContent()));
  const bell = page.locator('#bell');
  await bell.click();
  claim('a sound, if wished', await bell.getAttribute('aria-pressed') === 'true');
  await bell.click();
  claim('or not', await bell.getAttribute('aria-pressed') === 'false');
  await bell.click(); /* with it they are let in, too */
  const ticket = (await page.locator('main > .small code').textContent()).trim();
  claim('a number to ask for help with', /^\d+-\d+$/.test(ticket), ticket);
  await k.shot(page, 'desktop-half');
  const kinds = new Set(c.asked.map(r => r.resourceType()));
  claim('one page, who listens, and polls, nothing else',
    [...kinds].every(x => ['document', 'eventsource', 'fetch'].includes(x)) && kinds.has('eventsource') &&
    c.asked.filter(r => r.resourceType() === 'document').length === 1, [...kinds].join());
  claim('nobody else is asked', c.asked.every(r => r.url().startsWith(k.ROUTER)));
  claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
  await k.release(2);
  await page.waitForURL('**' + TARGET);
  claim('the admitted arrive where they wanted to go', page.url() === k.ROUTER + TARGET);
  const pass = (await c.cookies()).find(x => x.name === 'segq_pass');
  claim('with a pass in a cookie that scripts cannot read',
    Boolean(pass && pass.httpOnly && pass.sameSite === 'Lax' && pass.path === '/'));
  const claims = JSON.parse(Buffer.from(pass.value.split('.')[1], 'base64url'));
  claim('for this queue', claims.aud === 'login');
  claim('kept as long as a session can last (session_max, 1 h)', Math.abs(pass.expires - claims.nbf - 3600) < 120);
  await page.goto(k.pageUrl(TARGET));
  claim('coming back they are let through at once', page.url() === k.ROUTER + TARGET);
  await c.close();
}

async function withoutScripts() {
  await k.joinMany(1);
  const c = await k.visitor({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  const shown = async () => (await page.locator('#position').textContent()).trim();
  claim('no scripts: the place is there', await shown() === '2', await shown());
  await k.shot(page, 'no-script');
  await k.release(1);
  await claimUntil('no scripts: the page refreshes itself', async () => await shown() === '1');
  await claimUntil('no scripts: in the same place', async () => (await k.queue()).waiting === 1);
  await page.getByRole('button', { name: 'Leave the line' }).click();
  await page.getByRole('heading', { name: 'You have left the line' }).waitFor();
  await claimUntil('no scripts: one can leave', async () => (await k.queue()).waiting === 0);
  await k.shot(page, 'left');
  await page.getByRole('button', { name: 'Join the line' }).click();
  claim('no scripts: and join again', await shown() === '1');
  await k.release(1);
  await page.waitForURL('**' + TARGET);
  claim('no scripts: the admitted arrive, with the pass',
    (await c.cookies()).some(x => x.name === 'segq_pass'));
  await c.close();
}

const pollsOf = (c, page) => c.asked.filter(r => r.url().includes('/v1/tickets/') && r.frame().page() === page).length;

async function severalTabs() {
  await k.joinMany(1);
  const c = await k.visitor();
  const one = await c.newPage();
  await one.goto(k.pageUrl(TARGET));
  await k.until(() => pollsOf(c, one) > 0);
  const two = await c.newPage();
  await two.goto(k.pageUrl(TARGET));
  claim('two tabs show one place', await place(one) === await place(two));
  await claimUntil('and have one', async () => (await k.queue()).waiting <= 2);
  await claimUntil('the first tab listens', () => c.asked.some(r => r.url().endsWith('/events') && r.frame().page() === one));
  claim('the second does not ask', pollsOf(c, two) === 0, String(pollsOf(c, two)));
  await k.release(1);
  await claimUntil('and yet it shows the news', async () => await place(two) === '1');
  await one.close();
  await claimUntil('when the first is closed the second asks', () => pollsOf(c, two) > 0);
  const three = await c.newPage();
  await three.goto(k.pageUrl(TARGET));
  await k.release(1);
  await Promise.all([two, three].map(p => p.waitForURL('**' + TARGET)));
  claim('all tabs are let in', true);
  await c.close();
}

// Where nobody is told at once the page polls: no room (204), or something on the way keeps
// what the router sends.
async function notToldAtOnce() {
  for (const [what, how] of [['204', r => r.fulfill({ status: 204 })], ['no event comes', () => {}]]) {
    await k.joinMany(1);
    const c = await k.visitor();
    await c.route('**/events', how);
    const page = await c.newPage();
    await page.goto(k.pageUrl(TARGET));
    const was = Number(await place(page));
    const polls = () => c.asked.filter(r => /\/v1\/tickets\/[^/]+$/.test(r.url())).length;
    await claimUntil(what + ': it polls', () => polls() > 3);
    claim(what + ': it has asked to be told before', c.asked.some(r => r.url().endsWith('/events')));
    await k.release(1);
    await claimUntil(what + ': the place counts down', async () => Number(await place(page)) === was - 1);
    await c.close();
  }
}

// The cookie is lost, the storage is not: the old place is found again.
async function lostCookie() {
  const c = await k.visitor();
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await k.until(() => pollsOf(c, page) > 0);
  await k.joinMany(2);
  await c.clearCookies();
  await page.goto(k.pageUrl(TARGET));
  await claimUntil('a lost cookie does not cost the place', async () => await place(page) === '1');
  await claimUntil('and leaves no second one', async () => (await k.queue()).waiting === 3);
  await c.close();
}

async function offlineAndSleep() {
  await k.joinMany(1);
  const c = await k.visitor({ viewport: { width: 390, height: 844 } });
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await c.setOffline(true);
  await page.getByText('You seem to be offline').first().waitFor();
  claim('offline: it is said', await page.locator('#note').isVisible());
  await k.shot(page, 'offline');
  await k.release(1);
  await c.setOffline(false);
  await claimUntil('back again: the note goes', () => page.locator('#note').isHidden());
  await claimUntil('back again: the place is right', async () => await place(page) === '1');
  const cdp = await c.newCDPSession(page);
  await cdp.send('Page.setWebLifecycleState', { state: 'frozen' });
  const asleep = pollsOf(c, page);
  await k.joinMany(1);
  await cdp.send('Page.setWebLifecycleState', { state: 'active' });
  await claimUntil('after a sleep it asks again', () => pollsOf(c, page) > asleep);
  claim('and has its place', await place(page) === '1');
  await c.close();
}

async function phoneAndDark() {
  await k.joinMany(2);
  for (const [name, options] of [
    ['phone', { viewport: { width: 320, height: 568 } }],
    ['phone-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
    ['desktop-dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
    ['chinese', { viewport: { width: 390, height: 844 }, locale: 'zh-CN' }],
  ]) {
    const c = await k.visitor(options);
    const page = await c.newPage();
    await page.goto(k.pageUrl(TARGET));
    if (name === 'chinese') {
      claim('Chinese: the language is told', await page.locator('html').getAttribute('lang') === 'zh');
      claim('Chinese: the heading', await page.locator('h1').innerText() === '您正在排队');
    }
    await k.fits(page, name);
    await k.accessible(page, name);
    await k.shot(page, name);
    await c.close();
  }
}

async function whatTheOperatorSays() {
  const evil = '<img src=x onerror=alert(1)>"\'</script><script>alert(2)</script>';
  const logo = 'data:image/svg+xml,%3Csvg%20xmlns=%27http://www.w3.org/2000/svg%27%20'.replaceAll("'", '%27')
    .replaceAll('%27', '%22') + 'width=%2248%22%20height=%2248%22%3E%3Ccircle%20cx=%2224%22%20cy=%2224%22%20r=%2222%22%20fill=%22%23c2410c%22/%3E%3C/svg%3E';
  await k.admin('PATCH', '', { page: { title: 'Autumn Sale', accent: '#c2410c', logo, message: 'We let people in every minute.',
    image: logo, style: 'article{border-radius:4px}#image{height:5rem}@import url(https://evil.example/x.css);',
    return: ['https://shop.example'], texts: [{ lang: 'zh', title: '秋季促销', message: '' }] } });
  await k.until(async () => (await k.queue()).page !== 0);
  await k.joinMany(5);
  const c = await k.visitor({ viewport: { width: 390, height: 844 } });
  const page = await c.newPage();
  await page.clock.install();
  await page.goto(k.pageUrl(TARGET));
  claim('the operator\'s title', await page.locator('#title').innerText() === 'Autumn Sale');
  claim('and message', await page.locator('#message').innerText() === 'We let people in every minute.');
  claim('and logo', await page.locator('header img').evaluate(i => i.complete && i.naturalWidth > 0));
  claim('and picture', await page.locator('#image').evaluate(i => i.complete && i.naturalWidth > 0));
  claim('and style', await page.locator('article').evaluate(a => getComputedStyle(a).borderTopLeftRadius) === '4px');
  await k.accessible(page, 'branded');
  await k.shot(page, 'branded');
  await k.admin('PATCH', '', { page: { message: evil } });
  await claimUntil('a new message appears while people wait', async () => {
    await page.clock.fastForward(61000);
    return await page.locator('#message').innerText() === evil;
  });
  claim('as text, whatever is in it', c.wrong.length === 0 && !c.dialogs, c.wrong.join('; '));
  await page.reload();
  claim('also after a reload', await page.locator('#message').innerText() === evil && c.wrong.length === 0 && !c.dialogs);
  await k.shot(page, 'hostile-message');
  await c.close();
}

async function hostileReturns() {
  const c = await k.visitor();
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await k.release(1000, 1);
  await page.waitForURL('**' + TARGET);
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example', 'https:evil.example', 'javascript:alert(1)',
    '\t//evil.example', '/\t/evil.example', '/\n/evil.example', 'https://shop.example@evil.example', 'https://shop.example.evil.example',
    'https://shop.example\\@evil.example', 'https://shop.example:1@evil.example', 'data:text/html,x', '///evil.example']) {
    const r = await c.request.get(k.pageUrl(to), { maxRedirects: 0 });
    const at = new URL(r.headers().location, k.ROUTER);
    claim('not sent to ' + JSON.stringify(to), r.status() === 303 && ['https://shop.example', k.ROUTER].includes(at.origin) &&
      at.pathname === '/', r.status() + ' ' + at);
  }
  const r = await c.request.get(k.pageUrl('https://shop.example/a?b=c'), { maxRedirects: 0 });
  claim('but to an origin that is allowed', r.headers().location === 'https://shop.example/a?b=c');
  await c.close();
  const other = await k.visitor();
  const waiting = await other.newPage();
  await waiting.goto(k.pageUrl('"><script>alert(3)</script>'));
  claim('a hostile return leaves no trace in the page', !(await waiting.content()).includes('alert(3)') && other.wrong.length === 0);
  await other.close();
}

async function otherStates() {
  const c = await k.visitor({ viewport: { width: 390, height: 844 } });
  const page = await c.newPage();
  const sees = async (heading, name) => {
    await claimUntil(name + ' is said', async () => {
      await page.goto(k.pageUrl(TARGET));
      return (await page.locator('h1').innerText()) === heading;
    });
    await k.accessible(page, name);
    await k.shot(page, name);
  };
  await k.admin('POST', '/close');
  claim('the router has heard of it', await k.until(async () => (await k.queue()).state === 'closed')); // else the page takes a place
  await sees('The line is closed', 'closed');
  await k.admin('POST', '/open');
  await sees('You are in line', 'open');
  await page.locator('#position', { hasText: '1' }).waitFor();
  await k.admin('POST', '/pause');
  await claimUntil('a pause is said to who waits already', () => page.locator('#note').isVisible());
  claim('the heading says so, too', await page.locator('#heading').innerText() === 'The line is paused');
  const top = async () => (await page.locator('#heading').boundingBox()).y;
  const paused = await top();
  await k.accessible(page, 'paused');
  await k.shot(page, 'paused');
  await k.admin('POST', '/resume');
  await claimUntil('and its end', () => page.locator('#note').isHidden());
  claim('the heading has not moved', await top() === paused);
  claim('and says what it said before', await page.locator('#heading').innerText() === 'You are in line');
  page.once('dialog', () => {});
  await page.getByRole('button', { name: 'Leave the line' }).click();
  await page.getByRole('heading', { name: 'You have left the line' }).waitFor();
  claim('leaving is asked back', c.dialogs === 1, String(c.dialogs));
  await k.accessible(page, 'left');
  await page.goto(k.ROUTER + '/q/login?r=1');
  claim('who brings no cookie back is told', (await page.locator('h1').innerText()) === 'We could not find your place');
  await page.goto(k.ROUTER + '/q/nosuch');
  claim('no such line', (await page.locator('h1').innerText()) === 'There is no line here');
  await k.accessible(page, 'no-queue');
  await k.shot(page, 'no-queue');
  await c.close();
}

// A message from before a pause is beside it, and not its headline; each reads it in the own language.
async function oldMessage() {
  await k.admin('PATCH', '', { message: 'We are open. Please keep this page.' });
  const c = await k.visitor({ viewport: { width: 390, height: 844 }, locale: 'ja' });
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await page.locator('#position', { hasText: '1' }).waitFor();
  await k.admin('POST', '/pause');
  await claimUntil('a pause is said', () => page.locator('#note').isVisible());
  await claimUntil('with the message that stands', async () => await page.locator('#message').innerText() === 'We are open. Please keep this page.');
  const size = id => page.locator(id).evaluate(e => parseFloat(getComputedStyle(e).fontSize)), y = async id => (await page.locator(id).boundingBox()).y;
  claim('which is no headline', await size('#message') < await size('#heading') && await y('#heading') < await y('#note') && await y('#note') < await y('#message'));
  claim('but the pause is', await page.locator('h1').innerText() === '入場を一時停止しています', await page.locator('h1').innerText());
  await k.accessible(page, 'paused, with a message');
  await k.shot(page, 'page-ja-message');
  await k.admin('PATCH', '', { message: 'Back in ten minutes', page: { messages: [{ lang: 'ja', text: '10分後に再開します' }] } });
  await claimUntil('another message is read in the own language', async () => await page.locator('#message').innerText() === '10分後に再開します');
  const other = await k.visitor({ locale: 'fr' });
  const french = await other.newPage();
  await french.goto(k.pageUrl(TARGET));
  claim('where there is none, as it was written', await french.locator('#message').innerText() === 'Back in ten minutes');
  claim('clients get that, too', (await k.queue()).message === 'Back in ten minutes');
  await k.admin('PATCH', '', { message: 'In an hour' });
  await claimUntil('a new message without translations is read by all', async () => await page.locator('#message').innerText() === 'In an hour');
  await k.admin('PATCH', '', { message: '' });
  await k.admin('POST', '/open');
  await other.close();
  await c.close();
}

// Nobody can join yet; then people come early; then the hour is moved, and it comes.
async function beforeTheHour() {
  const at = s => new Date(Date.now() + 1000 * s).toISOString().replace(/\.\d+/, '');
  const c = await k.visitor({ viewport: { width: 375, height: 667 } });
  const page = await c.newPage();
  const heading = () => page.locator('h1').innerText();
  try {
    await k.admin('PATCH', '', { opens_at: at(3 * 86400 + 600) });
    await claimUntil('before the hour that is said', async () => {
      await page.goto(k.pageUrl(TARGET));
      return await heading() === 'Not open yet';
    });
    claim('with the time until then', /^3 days 0:(10:00|0\d:\d\d)$/.test(await page.locator('#opens').innerText()),
      await page.locator('#opens').innerText());
    await k.accessible(page, 'not open yet');
    await k.shot(page, 'not-open-yet');
    await k.admin('PATCH', '', { opens_at: at(900), prequeue: '1h' });
    await claimUntil('who is early is told so', async () => {
      await page.goto(k.pageUrl(TARGET));
      return await heading() === 'You are here early';
    });
    claim('and how the places come', await k.shownPlace(page) === 'drawn at random at the opening');
    claim('and when', /^1[0-5]:\d\d$/.test(await page.locator('#eta').innerText()), await page.locator('#eta').innerText());
    claim('and that is no pause', await page.locator('#note').isHidden());
    const draw = (await k.queue()).draw;
    await page.locator('article summary').click();
    claim('the fingerprint of the draw is there', await page.getByText(draw.commitment).isVisible());
    claim('and not yet the seed', await page.locator('#seed').isHidden());
    await k.accessible(page, 'early');
    await k.shot(page, 'early');
    await k.admin('PATCH', '', { opens_at: at(4) });
    await claimUntil('when it opens the place is there', async () => await k.shownPlace(page) === '1');
    await claimUntil('and the seed of the draw', async () => await page.locator('#seed').innerText() === (await k.queue()).draw.seed);
    claim('without a reload', await heading() === 'You are in line' && await page.locator('#note').isHidden());
    const wrong = c.wrong.filter(w => !w.includes('403')); // closed pages are
    claim('no errors, no policy broken', wrong.length === 0, wrong.join('; '));
  } finally {
    await k.admin('PATCH', '', { opens_at: '', prequeue: 0 });
  }
  await c.close();
}

// Who looks at a link for others, and browsers that do not say what they do.
async function atTheDoor() {
  await k.joinMany(1);
  const c = await k.visitor({ viewport: { width: 390, height: 844 } });
  for (let i = 0; i < 3; i++) await c.request.get(k.pageUrl(TARGET));
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET).replace(k.ROUTER, k.PLAIN));
  await claimUntil('a browser that does not say so joins by the page\'s script', async () => await place(page) === '2');
  await page.reload();
  claim('once', await place(page) === '2' && page.url().startsWith(k.PLAIN));
  const wrong = c.wrong.filter(w => !w.includes('Cross-Origin-Opener-Policy')); // is for https
  claim('without an error', wrong.length === 0, wrong.join('; '));
  await claimUntil('previews took no place', async () => (await k.queue()).waiting === 2);
  await c.close();
  const quiet = await k.visitor({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  const still = await quiet.newPage();
  await still.goto(k.pageUrl(TARGET).replace(k.ROUTER, k.PLAIN));
  claim('without scripts there is a button', (await still.locator('h1').innerText()) === 'There is a line here');
  await k.shot(still, 'door');
  await still.getByRole('button', { name: 'Join the line' }).click();
  claim('which joins', (await still.locator('#position').textContent()).trim() === '3');
  await quiet.close();
  const seen = await k.visitor({ javaScriptEnabled: true, viewport: { width: 320, height: 568 }, colorScheme: 'dark', locale: 'zh-CN' });
  const door = await seen.newPage();
  await seen.route('**/q/login/join', r => r.fulfill({ status: 204 })); // it stays where it is
  await door.goto(k.pageUrl(TARGET).replace(k.ROUTER, k.PLAIN), { waitUntil: 'commit' });
  await door.locator('h1').waitFor();
  await k.accessible(door, 'door');
  await k.fits(door, 'door');
  await k.shot(door, 'door-dark-chinese');
  await seen.close();
}

// A router that stands alone, as in `make run`: the way through it ends in no JSON.
async function frontDoor() {
  const c = await k.visitor({ viewport: { width: 390, height: 844 } });
  const page = await c.newPage();
  const heading = () => page.locator('h1').innerText();
  await page.goto(k.ROUTER + '/');
  claim('at / it says what it is', await heading() === 'This is a waiting room');
  await k.accessible(page, 'start');
  await k.shot(page, 'start');
  await page.getByRole('link', { name: 'login' }).click();
  claim('its link leads into the line', await place(page) === '1');
  await page.goto(k.ROUTER + '/q/nosuch');
  await page.getByRole('link', { name: 'Back to the site' }).click();
  claim('"Back to the site" leads to it', await heading() === 'This is a waiting room');
  await page.goto(k.ROUTER + '/q/login/');
  claim('nothing is said to people in JSON', await heading() === 'There is no line here');
  await page.goto(k.ROUTER + '/q/login');
  await k.release(1);
  await claimUntil('who is let in without an address is told', async () => await heading() === 'You are in');
  claim('and for how long', /^about \d+ minutes$/.test(await page.locator('#good').innerText()), await page.locator('#good').innerText());
  await k.accessible(page, 'in');
  await k.shot(page, 'in');
  claim('no errors, no policy broken', c.wrong.every(w => w.includes('404')), c.wrong.join('; '));
  await c.close();
}

// A game on the web: its page comes from elsewhere.
async function anotherOrigin() {
  const segq = require('fs').readFileSync(__dirname + '/../../clients/js/segq.js');
  const site = require('http').createServer((q, a) => a.end(q.url === '/segq.js' ? segq : '<script src="/segq.js"></script>'));
  await new Promise(done => site.listen(0, '127.0.0.1', done));
  const c = await k.visitor();
  const page = await c.newPage();
  await page.goto('http://127.0.0.1:' + site.address().port + '/');
  const waits = page.evaluate(router => new Promise(done => {
    const line = new Segq({ queue: 'login', routers: [router], storage: null });
    line.on('ticket', t => { document.title = String(t.position); });
    line.on('admitted', t => done(t.pass));
    line.on('refused', done);
    line.on('gone', done);
    setTimeout(done, 120000, 'no answer'); // said, not waited for
    line.start();
  }), k.ROUTER);
  await claimUntil('a page of another origin joins', async () => await page.title() === '1');
  await k.release(1);
  const pass = await waits;
  claim('and gets its pass', pass.split('.').length === 3, pass);
  await c.close();
  site.close();
}

// It stops, as a process does whose machine swaps: connections stay open, and nothing comes.
async function routerHangs() {
  for (const [what, how] of [['told at once', null], ['polling', r => r.fulfill({ status: 204 })]]) {
    await k.joinMany(1);
    const c = await k.visitor({ viewport: { width: 390, height: 844 } });
    if (how) await c.route('**/events', how);
    const page = await c.newPage();
    await page.goto(k.pageUrl(TARGET));
    await k.until(() => c.asked.some(r => /\/v1\/tickets\//.test(r.url())));
    const other = await c.newPage();
    await other.goto(k.pageUrl(TARGET));
    await k.until(async () => /^Updated [01] s/.test(await other.locator('#fresh').innerText()));
    const note = async p => await p.locator('#note').isVisible() && p.locator('#note').innerText();
    const router = Number(process.env.ROUTER_PID);
    const from = Date.now();
    process.kill(router, 'SIGSTOP');
    try {
      await claimUntil(what + ': that it hangs is said', async () => (await note(page)) === 'It is very busy. Your place is kept; we ask again shortly.');
      const took = Date.now() - from;
      claim(`${what}: after ${took} ms, some ten seconds on a free machine`, took < 40000);
      await claimUntil(what + ': in the other tab, too', async () => (await note(other)).startsWith('It is very busy'));
      await k.accessible(page, what + ', the router hangs');
      await k.shot(page, 'page-busy');
    } finally {
      process.kill(router, 'SIGCONT');
    }
    const back = Date.now();
    await claimUntil(what + ': its end, too', async () => !await note(page) && /^Updated [01] s/.test(await page.locator('#fresh').innerText()));
    claim(`${what}: after ${Date.now() - back} ms, less than one on a free machine`, Date.now() - back < 20000);
    await claimUntil(what + ': of the other tab', async () => !await note(other));
    await c.close();
  }
}

// While it was away it asked ever more seldom; once there is a network it does not wait for that.
async function onlineAtOnce() {
  const c = await k.visitor();
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await k.until(() => pollsOf(c, page) > 0);
  await page.clock.install();
  await c.setOffline(true);
  await claimUntil('offline: it is said', () => page.locator('#note').isVisible());
  for (let i = 0; i < 8; i++) await page.clock.fastForward(30000); // tries that fail, ever more seldom
  const was = pollsOf(c, page);
  await page.clock.pauseAt(Date.now() + 3600000); // no timer comes to help
  await c.setOffline(false);
  await claimUntil('online: it asks at once, before any timer', () => pollsOf(c, page) > was);
  await claimUntil('and the note goes', () => page.locator('#note').isHidden());
  await c.close();
}

// The story kills the router when it is told to, and the supervisor starts it again.
async function routerDies() {
  await k.joinMany(1);
  const c = await k.visitor();
  const page = await c.newPage();
  await page.goto(k.pageUrl(TARGET));
  await k.until(() => pollsOf(c, page) > 0);
  process.kill(Number(process.env.ROUTER_PID), 'SIGKILL');
  await k.until(async () => (await fetch(k.ROUTER + '/readyz')).ok);
  await k.release(1);
  await claimUntil('a router\'s death costs nobody the place', async () => await place(page) === '1');
  await k.release(1);
  await page.waitForURL('**' + TARGET);
  claim('and everybody gets in', true);
  await c.close();
}

k.main([waitingToAdmitted, withoutScripts, severalTabs, notToldAtOnce, lostCookie, offlineAndSleep, phoneAndDark, otherStates, oldMessage,
  beforeTheHour, atTheDoor, frontDoor, whatTheOperatorSays, hostileReturns, anotherOrigin, routerHangs, onlineAtOnce, routerDies]);
