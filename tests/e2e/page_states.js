// page_states.js: every state of the waiting page, as an operator previews it. Run by e2e_page.sh.
'use strict';
const k = require('./kit.js');
const { claim } = k;
const LOOKS = {
  desktop: { viewport: { width: 1280, height: 800 } },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 360, height: 640 } },
  rtl: { viewport: { width: 360, height: 640 }, colorScheme: 'dark', locale: 'ar' },
};

async function link() {
  const r = await fetch(k.ADMIN + '/v1/admin/queues/login/preview', { headers: { Authorization: 'Bearer ' + k.ADMIN_TOKEN } });
  return k.ROUTER + (await r.json()).path;
}

// The size of the letters, of each element that is seen and has words of its own.
const sizes = page => page.locator('article *').evaluateAll(all => all.filter(e => e.checkVisibility() &&
  e.getBoundingClientRect().width > 2 && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => [parseFloat(getComputedStyle(e).fontSize), e.id]).sort((a, b) => b[0] - a[0]));

async function everyState() {
  const first = await link();
  for (const [look, options] of Object.entries(LOOKS)) {
    const c = await k.visitor(options);
    const page = await c.newPage();
    await page.goto(first);
    const names = await page.locator('#preview a').allInnerTexts();
    if (look === 'desktop') claim('there are many states', names.length > 20, names.join());
    for (const name of names) {
      await page.goto(first.replace('=head', '=' + name));
      claim(name + ' is shown', (await page.locator('#preview [aria-current]').innerText()) === name);
      if (options.locale) claim(name + ': from its side', await page.locator('html').getAttribute('dir') === 'rtl');
      await k.fits(page, name);
      await k.accessible(page, name + ', ' + look);
      await k.shot(page, 'state-' + name + '-' + look);
    }
    claim(look + ': nothing is asked for', c.asked.every(r => r.isNavigationRequest()), c.asked.map(r => r.url()).join());
    claim(look + ': no cookie, no error', (await c.cookies()).length === 0 && c.wrong.length === 0, c.wrong.join('; '));
    await c.close();
  }
  await k.claimUntil('and nobody has taken a place', async () => (await k.queue()).waiting === 0); // figures are a second old
}

// What counts in a state is the largest of what one sees.
async function theHero() {
  const c = await k.visitor(LOOKS.phone);
  const page = await c.newPage();
  const first = await link();
  for (const [name, hero] of [['middle', 'position'], ['countdown', 'opens'], ['opening-soon', 'opens'], ['draw', 'eta']]) {
    await page.goto(first.replace('=head', '=' + name));
    const [one, two] = await sizes(page);
    claim(name + ': ' + hero + ' is the largest', one[1] === hero && one[0] > two[0], JSON.stringify([one, two]));
  }
  await page.goto(first.replace('=head', '=paused'));
  const message = (await sizes(page)).find(s => s[1] === 'message'), heading = (await sizes(page)).find(s => s[1] === 'heading');
  const y = async id => (await page.locator(id).boundingBox()).y;
  claim('paused: the heading says so, and no message is larger', heading[0] > message[0], JSON.stringify([message, heading]));
  claim('what a pause is comes next, then the operator\'s words', await y('#heading') < await y('#note') && await y('#note') < await y('#message') && await y('#message') < await y('#position'));
  claim('nothing is said of a wait that nobody knows', await page.locator('#eta').isHidden());
  await page.goto(first.replace('=head', '=countdown'));
  const was = await page.locator('#opens').innerText();
  await k.claimUntil('the countdown counts', async () => await page.locator('#opens').innerText() !== was);
  await page.goto(first.replace('=head', '=turn'));
  const here = page.url();
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.locator('#preview').waitFor();
  claim('no form is sent from a preview', page.url() === here);
  claim('a link that was changed shows nothing', (await c.request.get(first.slice(0, -1) + '_')).status() === 403);
  await c.close();
}

k.main([everyState, theHero]);
