// page_gates.js: what people read while no router answers: real nginx and HAProxy, with the samples
// of deploy/, before routers that are not there. e2e_gates.sh starts them: GATES, "name=address"s.
'use strict';
const fs = require('fs');
const path = require('path');
const k = require('./kit.js');
const { claim, claimUntil } = k;

const deploy = path.resolve(__dirname, '../../deploy/page');
const langs = fs.readdirSync(deploy).filter(f => f.endsWith('.json')).map(f => f.slice(0, -5));
const words = lang => JSON.parse(fs.readFileSync(path.join(deploy, lang + '.json')));
const gates = process.env.GATES.split(' ').map(g => g.split('='));
const ROOM = '/q/login?return=/shop';
const documents = c => c.asked.filter(r => r.resourceType() === 'document').length;

async function everyLanguage() {
  for (const [locale, lang] of [...langs.map(l => [l, l]), ['zh-CN', 'zh'], ['zh-HK', 'zh-Hant'],
    ['pt-BR', 'pt'], ['de-AT', 'de'], ['fi-FI', 'en']]) {
    const c = await k.visitor({ locale, ignoreHTTPSErrors: true });
    const page = await c.newPage();
    await page.goto(gates[0][1] + ROOM);
    const is = await page.evaluate(() => [document.documentElement.lang, document.documentElement.dir,
      document.title, document.querySelector('main').innerText.split('\n').filter(l => l).join('|')]);
    const w = words(lang);
    claim('gate, ' + locale + ': its own words, and no others', is.join('/') ===
      [lang, w.dir, w.unavailable, [w.unavailable, w.unavailable_say, w.again].join('|')].join('/'), is.join('/'));
    if (locale === 'ar') await k.accessible(page, 'busy-ar');
    if (locale === 'ar') await k.shot(page, 'busy-ar');
    await c.close();
  }
}

async function eachGate() {
  for (const [name, at] of gates)
    for (const [look, options] of [
      ['en', { viewport: { width: 1280, height: 800 } }],
      ['zh', { viewport: { width: 320, height: 568 }, colorScheme: 'dark', locale: 'zh-CN' }],
    ]) {
      const c = await k.visitor({ ignoreHTTPSErrors: true, ...options });
      const page = await c.newPage();
      const answer = await page.goto(at + ROOM);
      claim(name + ': 503, and when to ask again', answer.status() === 503 && answer.headers()['retry-after'] === '5');
      claim(name + ', ' + look + ': its words', (await page.locator('h1:visible').allInnerTexts()).join() === words(look).unavailable);
      claim('its looks', (await page.locator('article:visible').evaluate(a => getComputedStyle(a).borderRadius)) === '16px');
      await k.accessible(page, 'busy-' + look);
      await k.fits(page, 'busy-' + look);
      await k.shot(page, 'busy-' + look);
      await claimUntil(name + ': it asks again by itself', () => documents(c) > 1);
      claim('nothing else is asked for', c.asked.every(r => r.url() === at + ROOM) &&
        c.wrong.every(w => w.includes('503')), c.wrong.join('; '));
      await c.close();
    }
}

async function withoutScripts() {
  for (const [name, at] of gates) {
    const c = await k.visitor({ ignoreHTTPSErrors: true, javaScriptEnabled: false, viewport: { width: 320, height: 568 } });
    const page = await c.newPage();
    await page.goto(at + ROOM);
    const shown = await page.locator('article:visible').evaluateAll(all => all.map(a => [a.lang, a.querySelector('.say').textContent].join()));
    claim(name + ', without scripts: all languages, each with its name',
      shown.length === langs.length && langs.every(l => shown.includes([l, words(l).unavailable_say].join())), shown.join('; '));
    await k.shot(page, 'busy-noscript');
    await claimUntil(name + ', without scripts: it asks again by itself', () => documents(c) > 1);
    await c.close();
  }
}

k.main([everyLanguage, eachGate, withoutScripts]);
