// http.mjs: fetch() for Node, over node:http. Node's own takes a body that breaks off for a whole one if its
// head says "Connection: close" and has no length; and it costs three times as much.
import http from 'node:http';
import https from 'node:https';

const options = { keepAlive: true, maxFreeSockets: 16, scheduling: 'lifo' };
const agents = { 'http:': [http, new http.Agent(options)], 'https:': [https, new https.Agent(options)] };

/** {status, headers, body}: a Headers, and bytes to iterate over. repeat: it may be sent again if a connection
 * that was kept turns out to be closed. */
export function nodeFetch(url, { method, headers, body, signal, repeat = true }) {
  return new Promise((ok, fail) => {
    const to = new URL(url), [{ request }, agent] = agents[to.protocol];
    const q = request(to, { method, headers: Object.fromEntries(headers), agent, signal }, a => {
      const heads = new Headers();
      for (let i = 0; i < a.rawHeaders.length; i += 2) heads.append(a.rawHeaders[i], a.rawHeaders[i + 1]);
      ok({ status: a.statusCode, headers: heads, body: a });
    });
    q.on('error', e => { // after the answer it is the body's, which says so itself
      const closed = q.reusedSocket && !q.res && /^(ECONNRESET|EPIPE)$/.test(e.code);
      if (closed && repeat && !signal?.aborted) ok(nodeFetch(url, { method, headers, body, signal }));
      else fail(e);
    });
    q.end(body);
  });
}
