// dash_kit.js: what the scenarios of the dashboard's page of people share.
'use strict';
const k = require('./kit.js');
const { claim } = k;
const DESK = { viewport: { width: 1280, height: 900 } };

// The link of `make run`: signed in at once, the token gone from the address.
async function dashboard(options) {
  const c = await k.visitor(Object.assign({}, DESK, options));
  const page = await c.newPage();
  await page.goto(k.ADMIN + '/#token=' + encodeURIComponent(process.env.ADMIN_TOKEN) + '&who=anna');
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  return { c, page };
}

const tile = (page, name) => page.locator('#tiles li', { hasText: name }).locator('b').innerText();
const drawer = page => page.locator('#open-drawer').click();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const asked = page => page.locator('#ask-head').innerText();
const isAsked = page => page.locator('#ask').evaluate(d => d.open);

// Waits for the question, claims what it says, and answers yes.
async function yes(page, what, question) {
  await page.locator('#ask-yes').waitFor();
  claim(what + ' is asked back', (await asked(page)).includes(question), await asked(page));
  await page.locator('#ask-yes').click();
  await page.locator('#ask').waitFor({ state: 'hidden' });
}

module.exports = { DESK, dashboard, drawer, tile, button, asked, isAsked, yes };
