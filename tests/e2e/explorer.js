// explorer.js: the explorer of the documentation's site, from a disk, against a router that lets pages of
// other sites ask it. Run by e2e_page.sh; SITE is the page.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const SITE = 'file://' + process.env.SITE;

async function open(options) {
  const c = await k.visitor(options);
  const page = await c.newPage();
  await page.goto(SITE);
  await page.fill('#router', k.ROUTER);
  return { c, page };
}

async function joinsAndPolls() {
  const { c, page } = await open({ viewport: { width: 1280, height: 900 } });
  await page.fill('#find', 'post /tickets join');
  claim('the list keeps what has all words', await page.locator('#found').innerText() === '1 call', await page.locator('#found').innerText());
  await page.click('text=Join the queue');
  claim('a call has an address of its own', page.url().endsWith('#join'));
  await page.click('#send');
  await claimUntil('what is missing is said', async () => await page.locator('#status').innerText() === 'Fill in queue first.');
  await page.fill('#p_path_queue', 'login');
  await page.fill('#body', '{"client": "browser", "subject": "o\'brien"}');
  const command = await page.locator('#command').innerText();
  claim('its command is one for a shell', command.includes(`'${k.ROUTER}/v1/queues/login/tickets'`) && command.includes("o'\\''brien"), command);
  await page.click('#send');
  await claimUntil('the answer is shown', async () => /^201 /.test(await page.locator('#status').innerText()));
  const ticket = JSON.parse(await page.locator('#answer_body').innerText());
  await page.fill('#find', 'poll ticket');
  await page.click('text=Poll the ticket');
  await page.fill('#p_path_token', ticket.token);
  await page.click('#send');
  await claimUntil('the next call, too', async () => /^200 /.test(await page.locator('#status').innerText()));
  await k.fits(page, 'explorer');
  await k.accessible(page, 'explorer');
  claim('the page asks nobody else', c.asked.every(r => r.url() === SITE || r.url().startsWith('file:') || r.url().startsWith(k.ROUTER)));
  claim('no errors', c.wrong.length === 0, c.wrong.join('; '));
  await c.close();
}

async function keepsTheToken() {
  const { c, page } = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
  await page.fill('#token', 'very-secret');
  await page.fill('#find', 'submit a task');
  await page.click('text=Submit a task');
  await page.fill('#p_path_taskQueue', 'images');
  const command = await page.locator('#command').innerText();
  claim('the token is not in the command', !command.includes('very-secret') && command.includes('Bearer SERVER_TOKEN'), command);
  claim('the body is the example', JSON.parse(await page.inputValue('#body')).payload.prompt === 'a cat');
  await page.fill('#router', 'http://127.0.0.1:1');
  await page.click('#send');
  await claimUntil('no answer is said in words', async () => /^No answer that this page may read/.test(await page.locator('#status').innerText()));
  await k.fits(page, 'explorer, narrow');
  await k.accessible(page, 'explorer, dark');
  await c.close();
}

k.main([joinsAndPolls, keepsTheToken]);
