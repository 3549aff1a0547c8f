// page_check.js: a place for people, in a real browser: the operator's widget (made up here, in a frame of another
// origin) says a token, which the page brings; robots see the widget again; without scripts, or without the
// widget, the page says what to do; while the service is away the queue's fallback holds. Run by e2e_page.sh.
'use strict';
const http = require('node:http');
const k = require('./kit.js');
const { claim, claimUntil } = k;
const TARGET = '/v1/queues/login';

const service = { works: true, asked: [] };

// What a visitor's browser loads, and what the router asks.
function serve() {
  const pages = {
    '/widget.js': ['text/javascript', `(() => {
      const box = document.querySelector('.captcha'), at = new URL(document.currentScript.src).origin, f = document.createElement('iframe');
      f.src = at + '/frame?' + box.dataset.sitekey;
      f.title = 'Are you a person?';
      addEventListener('message', e => { if (e.origin === at) window[box.dataset.callback](e.data); });
      box.append(f);
    })()`],
    '/frame': ['text/html', `<!doctype html><html lang="en"><title>check</title><main><h1>Check</h1>
      <button onclick="parent.postMessage('person-' + Date.now(), '*')">I am a person</button>
      <button onclick="parent.postMessage('robot', '*')">I am a robot</button></main>`],
  };
  const server = http.createServer((req, res) => {
    let said = '';
    req.on('data', d => { said += d; });
    req.on('end', () => {
      const page = pages[req.url.split('?')[0]];
      if (req.url === '/siteverify') service.asked.push(said);
      if (!page && !service.works) res.writeHead(500).end();
      else if (page) res.writeHead(200, { 'Content-Type': page[0] }).end(page[1]);
      else res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ success: said.includes('response=person') }));
    });
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)));
}

const patch = async (challenge, page) => {
  await k.admin('PATCH', '', { challenge, page });
};
const press = (page, name) => page.frameLocator('iframe').getByRole('button', { name }).click();

async function checks() {
  const server = await serve(), at = 'http://127.0.0.1:' + server.address().port;
  try {
    await patch({ mode: 'on', verify_url: at + '/siteverify', verify_allow: ['127.0.0.1'], verify_fallback: 'refuse' },
      { check: at + '/widget.js', check_key: 'site-1' });
    const asks = async () => (await (await fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST' })).json()).verify === true;
    if (!await k.until(asks)) throw new Error('joins are not checked');
    const c = await k.visitor({ viewport: { width: 320, height: 568 } }), page = await c.newPage();
    await page.goto(k.pageUrl(TARGET));
    claim('a visitor sees the widget', await page.locator('article.check iframe').count() === 1);
    claim('  with the site key', page.frames().some(f => f.url().endsWith('/frame?site-1')), page.frames().map(f => f.url()).join());
    claim('  and nothing to press beside it', await page.locator('button.main').isHidden());
    await k.fits(page, 'a check');
    await k.accessible(page, 'a check');
    await k.shot(page, 'check');
    await press(page, 'I am a robot');
    await claimUntil('whom the service refuses sees it again', async () => service.asked.length === 1 && await page.locator('article.check iframe').count() === 1);
    await page.waitForLoadState();
    await press(page, 'I am a person');
    await page.waitForSelector('article.waiting');
    claim('whom it takes for a person has a place', /^\d/.test(await k.shownPlace(page)));
    await page.reload();
    claim('a reload asks nobody', service.asked.length === 2 && await page.locator('article.waiting').count() === 1);
    claim('no errors, no policy broken', c.wrong.length === 0, c.wrong.join('; '));
    await c.close();

    const bare = await k.visitor({ javaScriptEnabled: false, locale: 'de-DE' }), plain = await bare.newPage();
    await plain.goto(k.pageUrl(TARGET));
    claim('without scripts it says so', (await plain.locator('article').textContent()).includes('Die Prüfung braucht Skripte'));
    claim('  and offers no button that does nothing', await plain.locator('button.main').isHidden());
    await bare.close();

    const blocked = await k.visitor(), other = await blocked.newPage();
    await other.route('**/widget.js', r => r.abort());
    await other.goto(k.pageUrl(TARGET));
    await claimUntil('who blocks the widget is told, too', () => other.locator('#unchecked').isVisible());
    await blocked.close();

    service.works = false;
    const late = await k.visitor(), third = await late.newPage();
    await third.goto(k.pageUrl(TARGET));
    await press(third, 'I am a person');
    await claimUntil('without its service the page tries again later', () => third.locator('article.unavailable').isVisible());
    await k.admin('PATCH', '', { challenge: { verify_fallback: 'work', cost: '1024' } });
    await claimUntil('or works, by the rule', async () => {
      await third.goto(k.pageUrl(TARGET));
      if (await third.locator('article.check iframe').count()) await press(third, 'I am a person');
      await third.waitForSelector('article.waiting', { timeout: 5000 });
      return true;
    });
    await late.close();
  } finally {
    await k.admin('PATCH', '', { challenge: { mode: 'off', verify_url: '', cost: 'auto', verify_fallback: 'work' }, page: { check: '', check_key: '' } });
    await k.until(async () => (await fetch(k.ROUTER + '/v1/queues/login/tickets', { method: 'POST' })).status === 201);
    server.close();
  }
}

k.main([checks]);
