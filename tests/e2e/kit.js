// kit.js: what the browser scenarios share: claims, the browser, the operator's side.
// From the story (e2e_page.sh): E2E_MODULES, E2E_SHOTS; of a cluster: ROUTER, ADMIN, ADMIN_TOKEN.
'use strict';
const fs = require('fs');
const path = require('path');

const { ROUTER, ADMIN, ADMIN_TOKEN, E2E_MODULES, E2E_SHOTS } = process.env;
const { chromium } = require(path.join(E2E_MODULES, 'playwright-core'));
const axeSource = fs.readFileSync(path.join(E2E_MODULES, 'axe-core', 'axe.min.js'), 'utf8');
const LIMIT_MS = Number(process.env.LIMIT_MS) || 60000; // for anything to happen: a slow machine has time

function claim(what, good, why) {
  console.log((good ? 'ok ' : 'FAIL ') + what + (good || !why ? '' : ': ' + why));
}

// Asks until it is so; false after LIMIT_MS.
async function until(ask) {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end;) {
    if (await Promise.resolve(ask()).catch(() => false)) return true;
    await new Promise(done => setTimeout(done, 50));
  }
  return false;
}

async function claimUntil(what, ask) {
  claim(what, await until(ask), 'waited in vain');
}

// ---- the operator ----

async function admin(method, where, body) {
  const r = await fetch(ADMIN + '/v1/admin/queues/login' + where, {
    method, headers: { Authorization: 'Bearer ' + ADMIN_TOKEN }, body: body && JSON.stringify(body),
  });
  if (!r.ok) throw new Error(method + ' ' + where + ': ' + r.status + ' ' + await r.text());
}

// Of those whom queuemng has heard of: who joined just now may not be among them yet.
async function release(n, known = n) {
  const waiting = async () => {
    const r = await fetch(ADMIN + '/v1/admin/cluster', { headers: { Authorization: 'Bearer ' + ADMIN_TOKEN } });
    return (await r.json()).queues.find(q => q.queue === 'login').lanes[0].waiting;
  };
  if (!await until(async () => await waiting() >= known)) throw new Error('queuemng does not hear of ' + known);
  await admin('POST', '/release?n=' + n);
}

const queue = async () => (await fetch(ROUTER + '/v1/queues/login')).json();

// Everybody who was left behind by a scenario goes in, so that the next one finds the line
// empty. One more joins and says how many that are: the queue's own figures are a second old.
// Where a rate lets people in, that one may be in, too.
async function emptyLine() {
  const tickets = ROUTER + '/v1/queues/login/tickets';
  let last; // the router may not have heard yet that the queue is open again
  if (!await until(async () => (last = await (await fetch(tickets, { method: 'POST' })).json()).token)) throw new Error('nobody gets a place');
  const poll = async () => (await fetch(ROUTER + '/v1/tickets/' + last.token)).json();
  if (last.position > 1) await release(last.position - 1, last.position);
  const isNext = t => t.position === 1 || t.state === 'admitted';
  if (!isNext(last) && !await until(async () => isNext(await poll()))) throw new Error('the line does not become empty');
  await fetch(ROUTER + '/v1/tickets/' + last.token, { method: 'DELETE' });
}

async function joinMany(n) {
  for (let i = 0; i < n; i++) await fetch(ROUTER + '/v1/queues/login/tickets', { method: 'POST' });
}

// ---- the browser ----

let browser;

async function open() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium-headless-shell', // no window: half of its cost
    args: ['--host-resolver-rules=MAP plain.test 127.0.0.1'].concat(process.getuid() === 0 ? ['--no-sandbox'] : []),
  });
  return browser;
}

// A visitor of its own, with what its pages asked for and what they complained of.
async function visitor(options) {
  const context = await browser.newContext(Object.assign({ locale: 'en-GB' }, options));
  context.setDefaultTimeout(LIMIT_MS);
  context.setDefaultNavigationTimeout(LIMIT_MS);
  context.asked = [];
  context.wrong = [];
  context.on('request', r => context.asked.push(r));
  context.on('console', m => m.type() === 'error' && context.wrong.push(m.text()));
  context.on('weberror', e => context.wrong.push(String(e.error())));
  context.on('dialog', d => { context.dialogs = (context.dialogs || 0) + 1; d.accept(); });
  return context;
}

const pageUrl = to => ROUTER + '/q/login?return=' + encodeURIComponent(to);
// The router by a name that no browser trusts without TLS: there it sends no Sec-Fetch-Mode,
// as browsers of before 2023 do nowhere.
const PLAIN = ROUTER?.replace('127.0.0.1', 'plain.test');
const shownPlace = page => page.locator('#position').innerText();

async function shot(page, name) {
  await page.screenshot({ path: path.join(E2E_SHOTS, name + '.png'), fullPage: true });
}

async function accessible(page, name) {
  await page.evaluate(axeSource + ';0');
  const result = await page.evaluate(() => window.axe.run());
  claim(name + ': axe-core finds nothing', result.violations.length === 0,
    JSON.stringify(result.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120))])));
}

async function fits(page, name) {
  claim(name + ': nothing is wider than the screen',
    await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
}

// Those named on the command line, or all: each begins with an empty line, if there is a router.
async function run(all) {
  const wanted = process.argv.slice(2);
  let broken = 0;
  await open();
  for (const scenario of all) {
    if (wanted.length && !wanted.includes(scenario.name)) continue;
    try {
      if (ROUTER) await emptyLine();
      await scenario();
    } catch (e) {
      claim(scenario.name, false, e.stack.split('\n').slice(0, 6).join(' | '));
      if (++broken === 2) break; // the others would only wait in vain, a minute each
    }
  }
  await browser.close();
}

function main(all) {
  run(all).catch(e => { console.log('FAIL the browser: ' + e.message); process.exit(1); });
}

module.exports = { open, ROUTER, PLAIN, ADMIN, ADMIN_TOKEN, claim, claimUntil, until, admin, release, queue, emptyLine, joinMany, main, visitor,
  pageUrl, shownPlace, shot, accessible, fits };
