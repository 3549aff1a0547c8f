// openai.js: the client of npm, whose base URL and key are all that was changed, through a router to a
// made-up provider (provider.py). A line "ok ..." or "FAIL ..." per claim.
// ROUTER, KEY, KEY_OF_CHAT (paths=/v1/chat/*), PROVIDER, LOG: from e2e_openai.sh.
const { readFileSync } = require('fs');
const OpenAI = require(process.env.E2E_MODULES + '/openai');

const E = process.env;
const client = (key, endpoint = 'paid') =>
  new OpenAI({ apiKey: key, baseURL: `${E.ROUTER}/v1/call/${endpoint}/v1`, maxRetries: 0 });
const mine = client(E.KEY);
const messages = [{ role: 'user', content: 'hello' }];
const claim = (good, what, got) => console.log(good ? `ok ${what}` : `FAIL ${what}: ${got}`);
const sleep = ms => new Promise(done => setTimeout(done, ms));
const until = async (is, ms = 60000) => {
  for (const end = Date.now() + ms; Date.now() < end && !is(); ) await sleep(50);
  return is();
};
const logged = line => readFileSync(E.LOG, 'utf8').split('\n').includes(line);

// what: a promise that must be refused with that class of errors
async function refused(what, name, kind, promise, status, code) {
  try {
    await promise;
    claim(false, what, 'it was answered');
  } catch (e) {
    const got = `${e.constructor.name} ${e.status} ${e.code} ${e.message}`;
    claim(e instanceof OpenAI[name] && e.status === status && e.code === code && e.type === kind, what, got);
    return e;
  }
}

const ask = (c, model, more = {}, options = {}) => c.chat.completions.create({ model, messages, ...more }, options);

async function streamed() {
  let text = '';
  for await (const part of await ask(mine, 'gpt-9', { stream: true })) {
    text += part.choices[0].delta.content;
    if (text === 'piece 0;piece 1;') await fetch(`${E.PROVIDER}/release`); // only who has these lets the third go
  }
  claim(text === 'piece 0;piece 1;piece 2;', 'streamed: each piece as it comes', text);
}

async function cancelled() {
  let n = 0;
  const stream = await ask(mine, 'endless', { stream: true });
  for await (const part of stream) if (part && ++n === 2) break; // the client aborts the request by it
  claim(n === 2, 'cancelled amid a stream', n);
  claim(await until(() => logged('/v1/chat/completions closed')), '  the provider sees it', 'in vain');
}

// The only slot is taken for as long as `during` takes; what it begins waits in line.
async function inLine(during) {
  const holder = await ask(client(E.KEY, 'narrow'), 'endless', { stream: true });
  const pieces = holder[Symbol.asyncIterator]();
  await pieces.next();
  const begun = during();
  const head = await begun.head; // with the first comment, a second later
  holder.controller.abort();
  return begun.end(head);
}

// defaultHeaders is all that is changed; `Accept` is the client's own
async function placesTold() {
  const told = new OpenAI({ apiKey: E.KEY, baseURL: `${E.ROUTER}/v1/call/narrow/v1`, maxRetries: 0,
    defaultHeaders: { 'segq-progress': '1' } });
  const whole = 'piece 0;piece 1;piece 2;';
  const read = async stream => {
    let text = '';
    for await (const part of stream) text += part.choices[0].delta.content;
    return text;
  };
  claim(await read(await ask(told, 'gpt-9', { stream: true })) === whole, 'segq-progress: streamed without a line', 'other pieces');
  const got = await inLine(() => ({ head: ask(told, 'gpt-9', { stream: true }), end: read }));
  claim(got === whole, '  streamed behind a line, whose comments the client leaves out', got);
  const raw = await inLine(() => ({
    head: fetch(`${E.ROUTER}/v1/call/narrow/v1/chat/completions`, { method: 'POST',
      headers: { authorization: `Bearer ${E.KEY}`, 'content-type': 'application/json', 'segq-progress': '1' },
      body: JSON.stringify({ model: 'gpt-9', messages, stream: true }) }),
    end: r => r.text() }));
  claim(/^: segq place=1( eta_s=\d+)?\n\n/.test(raw) && raw.endsWith('data: [DONE]\n\n'), '  which are there', raw.slice(0, 200));
  const why = await inLine(() => ({ head: ask(told, 'odd', { stream: true }), end: s => read(s).then(t => t, e => e) }));
  claim(why instanceof OpenAI.APIError && why.code === 'model_not_found' && why.type === 'invalid_request_error',
    "  the provider's refusal behind a line is an error of that client", `${why} ${why.code}`);
  const plain = await ask(told, 'gpt-9');
  claim(plain.choices[0].message.content === 'said gpt-9', '  and what is no stream is as ever', JSON.stringify(plain));
}

(async () => {
  const plain = await ask(mine, 'gpt-9');
  claim(plain.choices[0].message.content === 'said gpt-9', 'plain', JSON.stringify(plain));
  claim((await mine.models.list()).data[0].id === 'm1', 'a list', 'another one');
  await streamed();
  await cancelled();
  await placesTold();
  await refused('wrong key', 'AuthenticationError', 'authentication_error', ask(client('sk-this-is-nobody-s-key'), 'm'), 401, 'unauthorized');
  await refused('a path of others', 'PermissionDeniedError', 'permission_error', client(E.KEY_OF_CHAT).models.list(), 403, 'not_eligible');
  claim((await ask(client(E.KEY_OF_CHAT), 'm')).model === 'm', '  its own', 'another one');
  await refused('no such endpoint', 'NotFoundError', 'invalid_request_error', ask(client(E.KEY, 'nobody'), 'm'), 404, 'endpoint_unknown');
  await refused("the provider's own refusal", 'BadRequestError', 'invalid_request_error', ask(mine, 'odd'), 400, 'model_not_found');
  const busy = await ask(mine, 'busy');
  claim(busy.choices[0].message.content === 'said busy' && logged('/v1/chat/completions 429'),
    "the provider's 429: the line waits, the caller is answered", JSON.stringify(busy));

  // a call each second, and no more than 2 s of line: of many at once some are refused
  const c = client(E.KEY, 'slow');
  let no = [];
  for (let i = 0; i < 10 && no.length === 0; i++) {
    const ends = await Promise.allSettled(Array.from({ length: 8 }, () => ask(c, 'm')));
    no = ends.filter(x => x.status === 'rejected').map(x => x.reason);
  }
  claim(no.length > 0, 'a line that is too long: some are refused', no.length);
  claim(no.every(e => e instanceof OpenAI.RateLimitError && e.code === 'wait_too_long' && e.headers['retry-after'] > 0),
    '  429, and when to come again', no.map(e => `${e.constructor.name} ${e.status} ${e.code}`).join());
})();
