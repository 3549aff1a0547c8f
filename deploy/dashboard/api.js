// api.js: asking queuemng. The token comes from the form, or from the link's #token=, which no server and
// no log sees; it is exchanged at once for a session, whose cookie no script can read.
const WHO = 'segq.who', RENEW_MS = 60000;
export const LIMIT_MS = 10000; // for an answer

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const who = () => sessionStorage.getItem(WHO) || '';

// True: signed in, as far as this page knows.
let signed = true;
export const isIn = () => signed;

export async function sign(token, name) {
  sessionStorage.setItem(WHO, name.trim());
  await send('POST', 'session', undefined, { Authorization: 'Bearer ' + plain256(token.trim()) });
  signed = true;
}

export function forget() {
  signed = false;
}

// What is wrong; '': nothing.
export async function signOut() {
  forget();
  await renewing; // its answer brings a cookie
  return send('DELETE', 'session').then(j => j.signed_out ? '' : 'The proxy keeps your session: sign out there.', e => e.status === 401 ? '' // it has ended already
    : `The session goes on (${e.message}): reload, and sign out again.`);
}

export async function takeFragment() {
  const at = new URLSearchParams(location.hash.slice(1));
  if (!at.get('token')) return;
  history.replaceState(null, '', location.pathname);
  await sign(at.get('token'), at.get('who') || who());
}

// The session goes on while somebody is there; the questions of the page alone let it end.
let renewedAt = 0, renewing;
function renew() {
  if (!signed || Date.now() - renewedAt < RENEW_MS) return;
  renewedAt = Date.now();
  renewing = send('POST', 'session').catch(() => {});
}
for (const event of ['pointerdown', 'keydown']) addEventListener(event, renew, { passive: true });

// What a header can carry.
const plain = s => s.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);

async function send(method, path, body, more) {
  const headers = { ...more, 'X-Segq-Dashboard': '1', 'X-Segq-Operator': plain(who()) };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const r = await fetch('/v1/admin/' + path, {
    method, headers, redirect: 'manual', cache: 'no-store', signal: AbortSignal.timeout(LIMIT_MS),
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (r.type === 'opaqueredirect') throw new Refused(307, 'another manager leads, or a proxy asks: reload');
  if (r.status === 204) return null;
  const j = await r.json().catch(e => method === 'GET' && r.ok ? Promise.reject(e) : {});
  if (r.status === 412 && headers['If-Match']) throw new Refused(412, STALE);
  if (!r.ok) throw new Refused(r.status, j.detail || 'answer ' + r.status);
  return j;
}

// What a token can be made of; another one is wrong, and is answered so.
const plain256 = s => s.replace(/[^\x21-\x7e]/g, '?').slice(0, 256);

export const get = path => send('GET', path);
export { send as change };
const STALE = 'Somebody has changed it since you opened this, nothing is changed now. Cancel, look, and try again.';

// The picture of the cluster is up to a second old. What it does not show yet may be a change of our
// own: path -> its version before, and after. That is nobody else's change.
const own = {};

async function noted(version, path, asked) {
  const [was] = own[path] || [], j = await asked;
  if (j && j.version) own[path] = [version === was ? was : version, j.version];
  return j;
}

// A change of the definition at `version`: another one stays.
export function changeFrom(version, path, body) {
  const [was, is] = own[path] || [];
  return noted(version, path, send('PATCH', path, body, { 'If-Match': `"${version === was ? is : version}"` }));
}

// One that cannot wait for a look at what others have changed.
export async function changeNow(version, path, body) {
  const [was, is] = own[path] || [], from = version === was ? is : version;
  const j = await send('PATCH', path, body);
  return j && j.version === from + 1 ? noted(version, path, j) : j;
}

export const enc = encodeURIComponent;
export const queuePath = name => 'queues/' + enc(name);
