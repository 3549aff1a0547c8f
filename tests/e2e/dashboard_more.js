// dashboard_more.js: the dashboard's picture over time, what is set up with it, and what it weighs. Run
// by e2e_dashboard.sh.
'use strict';
const k = require('./kit.js');
const { claim, claimUntil } = k;
const { DESK, dashboard, drawer, button, yes, asked } = require('./dash_kit.js');

// The picture over time: ranges, the cursor by keys, marks that tell, lists that can be sifted.
async function pictureOverTime() {
  await k.joinMany(20);
  await k.admin('PATCH', '', { message: 'Soon' });
  const { c, page } = await dashboard();
  await claimUntil('what is now stands beside the lines', async () => /Waiting\s*20/.test(await page.locator('#g-now').innerText()));
  await claimUntil('and in words', async () => (await page.locator('#g-says').innerText()).startsWith('Last 10 min: between'));
  await page.locator('#g-area').focus();
  await page.keyboard.press('Home');
  claim('a key goes back in time', /^\d\d:\d\d:\d\d$/.test(await page.locator('#g-when').innerText()) &&
    /Waiting/.test(await page.locator('#g-area').getAttribute('aria-valuetext')), await page.locator('#g-when').innerText());
  await page.keyboard.press('Escape');
  claim('and another one to now', await page.locator('#g-when').innerText() === 'now');
  const mark = page.locator('#g-marks button.change').last();
  await mark.focus();
  claim('a mark tells what happened', (await page.locator('#g-tip').innerText()).includes('message'), await page.locator('#g-tip').innerText());
  await k.accessible(page, 'a mark is told');
  await k.shot(page, 'dashboard-mark');
  for (const name of ['1 h', '24 h', '10 min']) {
    await button(page, name).click();
    await claimUntil(`the range of ${name} has lines`, async () => (await page.locator('#g-says').innerText()).startsWith(`Last ${name}: between`) &&
      (await page.locator('#g-svg .l0').getAttribute('d')).length > 5);
    if (name === '24 h') await k.shot(page, 'dashboard-24h');
  }
  await page.locator('#e-find').fill('router.0 connected');
  await claimUntil('events are filtered by words', async () => await page.locator('#events li').count() === 1);
  await page.locator('#e-find').fill('');
  await page.locator('#e-kind').selectOption('Changes');
  await claimUntil('and by kind', async () => !(await page.locator('#events').innerText()).includes('connected') && await page.locator('#events li').count() > 0);
  await page.locator('#a-find').fill('nobody has done this');
  await claimUntil('changes, too', async () => await page.locator('#a-none').innerText() === 'No change fits.');
  await page.locator('#a-find').fill('');
  await page.locator('#a-kind').selectOption('Nodes');
  await claimUntil('by kind, too', async () => await page.locator('#audit li').count() === 0);
  await page.locator('#a-kind').selectOption('Queues');
  await claimUntil('and found again', async () => (await page.locator('#audit').innerText()).includes('message'));
  await siftedByName(page);
  await k.admin('PATCH', '', { message: '' });
  await c.close();
}

// Who, of what, what: and from a node or a queue to what happened there.
async function siftedByName(page) {
  const audit = page.locator('#audit li');
  await page.locator('#a-kind').selectOption('Everything');
  await k.admin('POST', '/release?n=1');
  await claimUntil('an order is among the changes', async () => await page.locator('#a-verb option[value=release]').count() === 1);
  await page.locator('#a-verb').selectOption('release');
  await claimUntil('changes are filtered by action', async () => await audit.count() > 0 && (await audit.allInnerTexts()).every(t => /released \d+ by hand/.test(t)));
  await page.locator('#a-who').selectOption('unnamed');
  claim('and by operator', await audit.count() > 0);
  await page.locator('#a-verb').selectOption('change');
  await claimUntil('and by another verb', async () => (await audit.allInnerTexts()).every(t => !t.includes('by hand')) && await audit.count() > 0);
  await page.getByRole('button', { name: 'segment.1', exact: true }).click();
  await claimUntil('a node leads to its events', async () => (await page.locator('#events').innerText()).includes('Segment node segment.1 registered') &&
    !(await page.locator('#events').innerText()).includes('segment.0 registered'));
  claim('and to its changes', await page.locator('#a-none').innerText() === 'No change fits.');
  claim('the keyboard is there', await page.evaluate(() => document.activeElement.id) === 'events');
  await k.accessible(page, 'sifted by a node');
  await page.locator('#q-events').click();
  await claimUntil('a queue, too', async () => (await page.locator('#events').innerText()).includes('login') && !(await page.locator('#events').innerText()).includes('registered') &&
    await page.locator('#a-name').inputValue() === 'login' && await audit.count() > 0);
  await k.shot(page, 'dashboard-sifted');
}

const turns = page => page.locator('#ask .turns').innerText();
const wrong = page => page.locator('#ask .wrong').innerText();

async function laneForm(page) {
  await button(page, 'Lanes …').click();
  await page.locator('#ask-head', { hasText: 'Lanes of shop' }).waitFor();
  claim('a form says that nothing is changed', await turns(page) === 'Nothing is changed yet.');
  await button(page, 'Add a lane').click();
  claim('the keyboard goes to the new row', await page.locator('#ask .item').last().getByLabel('Lane').evaluate(e => e === document.activeElement));
  await page.locator('#ask .item').last().getByLabel('Lane').fill('V I P');
  await page.locator('#ask .item').last().getByLabel('Weight').fill('3');
  claim('the shares of the lanes are said', (await page.locator('#ask-body').innerText()).includes('default 25 %, V I P 75 %'), await page.locator('#ask-body').innerText());
  await page.locator('#ask-yes').click();
  await claimUntil('a refusal is shown beside its field', async () => (await wrong(page)).startsWith('lanes[1].name: "V I P" is not allowed') &&
    await page.locator('#ask .item').last().getByLabel('Lane').evaluate(e => e === document.activeElement && e.getAttribute('aria-invalid') === 'true'));
  await k.accessible(page, 'a field is refused');
  await page.locator('#ask .item').last().getByLabel('Lane').fill('vip');
  await k.shot(page, 'dashboard-lanes');
  await page.setViewportSize({ width: 375, height: 800 });
  await k.until(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)); // the graph behind it is drawn anew
  await k.fits(page, 'lanes on a phone');
  await k.shot(page, 'dashboard-lanes-phone');
  await page.setViewportSize(DESK.viewport);
  claim('only the last lane can go', await page.locator('#ask .item button').evaluateAll(v => v.map(b => b.disabled).join()) === 'true,false');
  await yes(page, 'a lane', 'Lanes of shop');
  await claimUntil('there are two lanes', async () => (await page.locator('#audit').innerText()).includes('shop: lanes [] → default weight 1, vip weight 3'));
  await page.locator('#lanes', { hasText: 'Lane vip' }).waitFor();
  await button(page, 'Lanes …').click();
  await page.locator('#ask .item button').last().click();
  claim('and stays in the form when a row goes', await page.evaluate(() => document.activeElement.textContent) === 'Add a lane');
  claim('what a removal means is said', (await page.locator('#ask-body').innerText()).includes('vip goes; nobody is in it.'), await page.locator('#ask-body').innerText());
  await yes(page, 'the end of a lane', 'Lanes of shop');
}

// Another operator sets the title while the form is open: that stays.
async function pageForm(page) {
  const shop = (method, body) => fetch(k.ADMIN + '/v1/admin/queues/shop', { method, headers: { Authorization: 'Bearer ' + k.ADMIN_TOKEN }, body: body && JSON.stringify(body) }).then(r => r.json());
  await page.getByLabel('Notice').first().fill('overwritten?');
  await shop('PATCH', { page: { title: 'Of somebody else' } });
  await page.locator('#ask-yes').click();
  await claimUntil('two operators do not overwrite each other', async () => (await page.locator('#ask-why').innerText()).startsWith('Somebody has changed it'));
  claim('what the other one has set stays', (await shop('GET')).page.message === '');
  await page.locator('#ask-no').click();
  await button(page, 'Page and texts …').click();
  await page.getByLabel('Colour').fill('red');
  await page.locator('#ask-yes').click();
  await claimUntil('a colour is refused at its field', async () => (await wrong(page)).includes('accent must be a colour'));
  await page.getByLabel('Colour').fill('#1a5fb4');
  await button(page, 'Add a language').click();
  const german = page.locator('#ask .item').last();
  await german.getByLabel('Language').fill('de');
  await german.getByLabel('Title').fill('Herbstverkauf');
  claim('from what to what is said', (await turns(page)).includes('page.accent: “” → “#1a5fb4”') && (await turns(page)).includes('Herbstverkauf'), await turns(page));
  await k.accessible(page, 'the form of the page');
  await k.shot(page, 'dashboard-page');
  await yes(page, 'the page', 'Page and texts of shop');
  const { page: is } = await shop('GET');
  claim('the page has it, and the rest as it was', is.accent === '#1a5fb4' && is.title === 'Of somebody else' && is.texts.length === 1 && is.texts[0].title === 'Herbstverkauf', JSON.stringify(is));
}

async function hoursForm(page) {
  await button(page, 'Hours …').click();
  await page.getByLabel('Opens at').fill('2099-01-01T20:00');
  await page.getByLabel('Closes at').fill('2098-01-01T20:00');
  await page.locator('#ask-yes').click();
  await claimUntil('hours that cannot be are refused', async () => (await wrong(page)).includes('closes_at is not after opens_at'));
  await page.getByLabel('Closes at').fill('');
  await page.getByLabel('People may come early by').fill('30m');
  claim('what comes next is said', /It opens at 1 Jan 2099.* UTC, in .*drawn then/.test(await page.locator('#ask-body').innerText()), await page.locator('#ask-body').innerText());
  await k.shot(page, 'dashboard-hours');
  await yes(page, 'hours', 'When is shop open?');
  await claimUntil('they are said', async () => /It opens at 1 Jan 2099,? .*20:00/.test(await page.locator('#q-says').innerText()));
}

// What is set once: a queue added, changed, flushed, deleted.
async function setUp() {
  const { c, page } = await dashboard();
  await button(page, 'Add a queue …').click();
  await page.locator('#ask-head', { hasText: 'Add a queue' }).waitFor();
  await page.getByLabel('Name').last().fill('shop');
  await page.locator('#ask textarea').fill('{ "release_per_s": ');
  await page.locator('#ask-yes').click();
  await claimUntil('what is no JSON is said', async () => (await page.locator('#ask-why').innerText()).includes('no JSON'));
  await page.locator('#ask textarea').fill('{ "release_per_s": 7 }');
  await k.accessible(page, 'a new queue');
  await yes(page, 'a new queue', 'Add a queue');
  await claimUntil('it is shown', async () => await page.locator('#q-name').innerText() === 'shop');
  await claimUntil('with the name of who made it', async () => (await page.locator('#audit').innerText()).includes('anna (127.0.0.1): shop: made'));
  await drawer(page);
  await k.accessible(page, 'the drawer');
  await k.shot(page, 'dashboard-drawer');
  await button(page, 'Whole definition …').click();
  await page.locator('#ask-head', { hasText: 'The definition of shop' }).waitFor();
  const text = page.locator('#ask textarea');
  await text.fill((await text.inputValue()).replace('"release_per_s": 7', '"release_per_s": 8'));
  claim('what changes is named', (await page.locator('#ask-body').innerText()).includes('To be changed: release_per_s.'));
  await k.shot(page, 'dashboard-definition');
  await yes(page, 'a definition', 'The definition of shop');
  await claimUntil('it is changed', async () => (await page.locator('#audit').innerText()).includes('shop: release_per_s 7 → 8'));
  await rehearsal(page);
  await laneForm(page);
  await button(page, 'Page and texts …').click();
  const preview = page.getByRole('link', { name: 'Preview of all states of the page' });
  await preview.waitFor();
  const [tab] = await Promise.all([c.waitForEvent('page'), preview.click()]);
  await tab.waitForLoadState();
  claim('the page is shown in all its states', new URL(tab.url()).pathname === '/q/shop' && await tab.getByRole('link', { name: 'paused' }).count() === 1, tab.url());
  await tab.close();
  await pageForm(page);
  await hoursForm(page);
  for (const [name, question] of [['Flush …', 'Flush shop?'], ['Delete …', 'Delete shop?']]) {
    await button(page, name).click();
    claim(name + ' wants the name', await page.locator('#ask-yes').isDisabled());
    await page.locator('#ask-name').fill('shop');
    await yes(page, name, question);
  }
  await claimUntil('it is gone', async () => await page.locator('#q-name').innerText() === 'login');
  await c.close();
}

// What stands beside what, and is cut by nothing.
async function nothingIsCut() {
  await k.joinMany(3);
  await k.admin('PATCH', '', { message: 'twice?' });
  const { c, page } = await dashboard();
  await claimUntil('the end of the line is said as one says it', async () => await page.locator('.ends span').last().innerText() === 'last: 3');
  claim('with a fixed rate no tier is in force', await page.locator('.gauge.idle').count() === 1 && await page.locator('.gauge span.now').count() === 0);
  claim('and its words say so', /not looked at while the rate is fixed$/.test(await page.locator('#limits p').first().innerText()), await page.locator('#limits p').first().innerText());
  await claimUntil('the marks of the graph are explained', async () => (await page.locator('#g-signs').innerText()).includes('◆ change by an operator'));
  const events = () => page.locator('#events').innerText();
  await claimUntil('a change is one line', async () => (await events()).includes('message: "twice?"') && !(await events()).includes('definition changed'));
  await drawer(page);
  for (const width of [1280, 1100, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await claimUntil(`at ${width} the nodes are inside of their card, beside the drawer`, () => page.locator('#nodes-box').evaluate(e => e.scrollWidth <= e.clientWidth && e.firstElementChild.offsetWidth <= e.clientWidth));
  }
  await page.setViewportSize(DESK.viewport);
  await page.locator('.gauge').scrollIntoViewIfNeeded();
  await k.shot(page, 'dashboard-beside');
  await page.locator('#rate-n').focus();
  claim('the ring of a field cuts no label', await page.locator('#rate-n').evaluate(e => e.getBoundingClientRect().top - e.previousElementSibling.getBoundingClientRect().bottom >= 5));
  await button(page, 'Flush …').click();
  await page.locator('#ask-name').waitFor();
  claim('nor in a question', await page.locator('#ask-name').evaluate(e => { const r = document.createRange(); r.selectNodeContents(e.parentNode.firstChild); return e.getBoundingClientRect().top - r.getBoundingClientRect().bottom >= 4; }));
  await k.shot(page, 'dashboard-ask-flush');
  await page.locator('#ask-no').click();
  await button(page, 'Add a queue …').click();
  await page.locator('#ask-head', { hasText: 'Add a queue' }).waitFor();
  const differs = async () => JSON.parse(await page.locator('#ask textarea').inputValue());
  claim('what differs from the defaults is that alone', JSON.stringify(await differs()) === '{"release_per_s":10}');
  await k.admin('PATCH', '', { message: 'Not for others', page: { messages: [{ lang: 'de', text: 'Nicht für andere' }] } });
  await page.locator('#ask-no').click();
  await button(page, 'Add a queue …').click();
  await page.locator('#ask-head', { hasText: 'Add a queue' }).waitFor();
  await page.getByLabel('Like').selectOption('login');
  const like = await differs();
  claim('but for its message, in all languages', like.message === undefined && like.page === undefined, JSON.stringify(like));
  claim('like another queue, too', like.poll_min === '500ms' && like.mode === undefined && like.pass_ttl === undefined && like.name === undefined, JSON.stringify(like));
  await page.locator('#ask-no').click();
  await k.admin('PATCH', '', { message: '', release_per_s: 7000 });
  await claimUntil('a limit above the picture has an arrow', async () => /^↑ limit up to 7,000\/s/.test(await page.locator('#g-svg .over').textContent()));
  await k.accessible(page, 'a limit above the picture');
  await k.shot(page, 'dashboard-limit-above');
  await k.admin('PATCH', '', { release_per_s: 0.0001 });
  await c.close();
}

// On a phone the lists are closed, and the figures are at hand.
async function phoneIsShort() {
  await k.joinMany(3);
  const { c, page } = await dashboard({ viewport: { width: 390, height: 844 } });
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  claim(`the overview is ${height} px high: at most 1900`, height <= 1900);
  claim('its lists are closed', await page.locator('#events').isHidden() && await page.locator('#nodes').isHidden() && await page.locator('#lanes').isHidden());
  await page.locator('#e-fold summary').click();
  claim('and open when they are wanted', await page.locator('#events').isVisible());
  await page.locator('#q-events').click();
  claim('or led to', await page.locator('#audit').isVisible());
  await k.accessible(page, 'a phone with open lists');
  await k.fits(page, 'a phone with open lists');
  await k.shot(page, 'dashboard-phone-lists');
  await c.close();
}

// A file that segqctl plays, with the queue's definition.
async function rehearsal(page) {
  await button(page, 'Rehearse …').click();
  await page.locator('#ask-head', { hasText: 'Rehearse a night of shop' }).waitFor();
  await page.locator('#ask-yes').click();
  await claimUntil('a crowd of nobody is refused', async () => (await page.locator('#ask-why').innerText()).includes('Nobody came in that time'));
  await page.route('**/history?range=24h', r => r.fulfill({ json: { columns: ['joined_per_s'], step_ms: 60000, points: Array(1440).fill([0.1]) } }));
  await page.getByLabel('Who comes').selectOption({ index: 1 });
  const [day] = await Promise.all([page.waitForEvent('download'), page.locator('#ask-yes').click()]);
  const ran = require('child_process').spawnSync(process.env.BIN + '/segqctl', ['rehearse', await day.path(), '--json'], { encoding: 'utf8' });
  claim('a whole day is played, too', ran.stdout.length > 0, ran.stderr);
  await button(page, 'Rehearse …').click();
  await page.getByLabel('Who comes').selectOption({ index: 2 });
  await page.getByLabel('Times as many').fill('0.5');
  await k.accessible(page, 'a rehearsal');
  const [file] = await Promise.all([page.waitForEvent('download'), page.locator('#ask-yes').click()]);
  claim('its name is the queue’s', file.suggestedFilename() === 'shop.night.yaml', file.suggestedFilename());
  const played = require('child_process').spawnSync(process.env.BIN + '/segqctl', ['rehearse', await file.path(), '--json'], { encoding: 'utf8' });
  const night = played.stdout ? JSON.parse(played.stdout).rehearsals[0] : {};
  claim('segqctl plays it', night.people > 50000 && night.limits.length > 0, played.stderr + night.people);
}

// What a browser loads of the page, as it comes over the wire.
async function smallOnTheWire() {
  const get = async path => (await new Promise((done, fail) => require('http').get(k.ADMIN + path, { headers: { 'Accept-Encoding': 'gzip' } }, r => {
    let n = 0;
    r.on('data', d => { n += d.length; });
    r.on('end', () => done({ n, coded: r.headers['content-encoding'] }));
  }).on('error', fail)));
  const c = await k.visitor(DESK), page = await c.newPage();
  await page.goto(k.ADMIN + '/', { waitUntil: 'networkidle' });
  const paths = [...new Set(c.asked.map(r => new URL(r.url()).pathname))].filter(p => p === '/' || p.startsWith('/dashboard/'));
  const got = await Promise.all(paths.map(get)), sum = got.reduce((n, x) => n + x.n, 0);
  claim(`the dashboard is ${sum} bytes in ${got.length} files: at most 60 KB`, got.length > 10 && sum <= 60 * 1024, String(sum));
  claim('and comes compressed', got.every(x => x.coded === 'gzip'));
  await c.close();
}

// Who may do less is offered less, and is told so.
async function withLess() {
  const as = async token => {
    const c = await k.visitor(DESK), page = await c.newPage();
    await page.goto(k.ADMIN + '/#token=' + encodeURIComponent(token));
    await page.locator('#q-name', { hasText: 'login' }).waitFor();
    await page.locator('#me', { hasText: 'the-' }).waitFor();
    return { c, page };
  };
  const shown = async (page, ids) => (await Promise.all(ids.map(async id => await page.locator(id).filter({ visible: true }).count() ? id : ''))).filter(Boolean).join(' ');
  let c = await k.visitor(DESK), page = await c.newPage();
  await page.route('**/v1/admin/whoami', r => r.abort());
  await page.goto(k.ADMIN + '/#token=' + encodeURIComponent(process.env.ADMIN_TOKEN));
  await page.locator('#link', { hasText: 'not answered' }).waitFor();
  claim('who is not known yet is offered no order', await shown(page, ['#add-queue', '#open-drawer', '#edit-tiers']) === '');
  await page.unroute('**/v1/admin/whoami');
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  claim('and then what they may', await shown(page, ['#add-queue', '#open-drawer']) === '#add-queue #open-drawer');
  await c.close();
  ({ c, page } = await as(process.env.TOKEN_VIEWER));
  claim('a viewer is told what is missing', await page.locator('#me').innerText() === 'the-viewer, viewer: orders are not shown', await page.locator('#me').innerText());
  claim('and is offered no order', await shown(page, ['#add-queue', '#open-drawer', '#edit-tiers', '#nodes td.orders button']) === '');
  await k.accessible(page, 'a viewer looks');
  await k.shot(page, 'dashboard-viewer');
  await c.close();
  ({ c, page } = await as(process.env.TOKEN_OPERATOR));
  claim('an operator of one queue is told so', /the-operator, operator: definitions, .*\(for queues login; pools none;/.test(await page.locator('#me').innerText()), await page.locator('#me').innerText());
  claim('and is offered no definition, and no order to nodes', await shown(page, ['#add-queue', '#nodes td.orders button']) === '');
  await drawer(page);
  await page.locator('#drawer').waitFor();
  const offered = await shown(page, ['#f-rate', '#f-message', '#d-hours', '#d-flush', '#d-delete']);
  claim('the drawer has what is theirs alone', offered === '#f-rate #f-message', offered);
  await page.locator('#message').fill('Soon it begins');
  await page.locator('#f-message button').click();
  await yes(page, 'a message', 'login');
  await claimUntil('an operator publishes a message', async () => (await k.queue()).message === 'Soon it begins' || (await page.locator('#audit').innerText()).includes('the-operator'));
  await k.shot(page, 'dashboard-operator');
  await k.admin('PATCH', '', { message: '' });
  await c.close();
}

// Whom a proxy has signed in needs no token; here the browser is the proxy.
async function byProxy() {
  const c = await k.visitor(DESK), page = await c.newPage();
  await c.setExtraHTTPHeaders({ 'X-Forwarded-User': 'dora', 'X-Forwarded-Groups': 'people, ops' });
  await page.goto(k.ADMIN + '/');
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  claim('whom a proxy has signed in is asked for no token', await page.locator('#sign').isHidden());
  claim('and is told who they are', (await page.locator('#me').innerText()).startsWith('dora, operator: '), await page.locator('#me').innerText());
  await drawer(page);
  await page.locator('#message').fill('By dora');
  await page.locator('#f-message button').click();
  await yes(page, 'a message', 'login');
  await claimUntil('the log of changes has their name', async () => (await page.locator('#audit').innerText()).includes('dora'));
  claim('there is no cookie', (await c.cookies()).length === 0);
  await button(page, 'Sign out').click();
  await page.getByText('keeps your session: sign out there').waitFor();
  await page.route('**/v1/admin/whoami', async r => r.fulfill({ json: { ...await (await r.fetch()).json(), sign_out: '/bye' } }));
  await page.reload();
  await page.locator('#q-name', { hasText: 'login' }).waitFor();
  await button(page, 'Sign out').click();
  await page.waitForURL('**/bye');
  claim('a sign-out leads to the proxy', true);
  await page.unroute('**/v1/admin/whoami');
  await c.setExtraHTTPHeaders({ 'X-Forwarded-User': 'nina' });
  await page.goto(k.ADMIN + '/');
  await page.getByText('signed in nina: admin_tokens_file has no row').waitFor();
  claim('who has no row sees nothing', await page.locator('#all').isHidden());
  await k.admin('PATCH', '', { message: '' });
  await c.close();
}

k.main([pictureOverTime, withLess, byProxy, setUp, nothingIsCut, phoneIsShort, smallOnTheWire]);
