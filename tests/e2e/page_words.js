// page_words.js: the waiting page in each of its languages. Run by e2e_page.sh.
'use strict';
const fs = require('fs');
const path = require('path');
const k = require('./kit.js');
const { claim, claimUntil } = k;
const folder = path.resolve(__dirname, '../../deploy/page');
const TAGS = fs.readdirSync(folder).filter(f => f.endsWith('.json')).map(f => f.slice(0, -5));
const texts = tag => JSON.parse(fs.readFileSync(path.join(folder, tag + '.json')));
const TARGET = '/v1/queues/login';

async function everyLanguage() {
  await k.joinMany(2);
  claim('fifteen languages', TAGS.length === 15, TAGS.join());
  for (const tag of TAGS) {
    const c = await k.visitor({ viewport: { width: 320, height: 568 }, locale: tag });
    const page = await c.newPage();
    await page.goto(k.pageUrl(TARGET));
    const t = texts(tag), html = page.locator('html');
    claim(tag + ': is spoken', await html.getAttribute('lang') === tag && await page.locator('h1').innerText() === t.waiting);
    claim(tag + ': from its side', await html.getAttribute('dir') === (tag === 'ar' ? 'rtl' : 'ltr'));
    await page.locator('#fresh', { hasText: /\d/ }).waitFor();
    await k.fits(page, tag);
    await k.accessible(page, tag);
    await k.shot(page, 'lang-' + tag);
    claim(tag + ': no errors', c.wrong.length === 0, c.wrong.join('; '));
    await c.close();
  }
}

// What the server says without scripts is what the script says: the rules are CLDR's in both.
async function sameRules() {
  const forms = { none: () => 'other', one: 'en', zero_one: 'fr', russian: 'ru', polish: 'pl', arabic: 'ar' };
  for (const tag of TAGS) {
    const t = texts(tag);
    const numbers = new Intl.NumberFormat(tag, { numberingSystem: 'latn' });
    const grouped = n => String(n).length < t.group ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, t.thousands);
    claim(tag + ': numbers', [7, 999, 1234, 12345, 1234567].every(n => numbers.format(n) === grouped(n)), numbers.format(1234567));
    const own = new Intl.PluralRules(tag), family = forms[t.plural];
    const said = family && (typeof family === 'string' ? n => new Intl.PluralRules(family).select(n) : family);
    const wrong = [...Array(250).keys()].filter(n => n && own.select(n) !== said(n));
    claim(tag + ': plurals', wrong.length === 0, wrong.join());
  }
}

async function chosenByHand() {
  await k.joinMany(1);
  const c = await k.visitor({ viewport: { width: 1280, height: 800 } });
  const page = await c.newPage();
  const lang = () => page.locator('html').getAttribute('lang');
  await page.goto(k.pageUrl(TARGET));
  await page.getByText('Language').click();
  await page.getByRole('button', { name: 'العربية' }).click();
  await claimUntil('a language is chosen by hand', async () => await lang() === 'ar');
  claim('in the same place', await k.shownPlace(page) === '2');
  await k.accessible(page, 'arabic');
  await k.shot(page, 'arabic-desktop');
  await page.goto(k.pageUrl(TARGET));
  claim('and kept', await lang() === 'ar' && await k.shownPlace(page) === '2');
  await page.goto(k.pageUrl(TARGET).replace('?', '?lang=pt-BR&'));
  claim('a link may name it', await lang() === 'pt');
  claim('no errors', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
}

k.main([everyLanguage, sameRules, chosenByHand]);
