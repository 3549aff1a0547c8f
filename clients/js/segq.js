/* segq.js: waits in a segq line: joins, polls as told, survives routers' deaths, sleep and
 * reloads; the tabs of one browser are one place. No dependencies. A script (Segq), a
 * module (import './segq.js', then Segq), or require().
 *
 *   const line = new Segq({ queue: 'login', routers: ['https://a', 'https://b'] });
 *   line.on('ticket', t => ...)   // t.position (t.position_capped: "5000+"), t.total,
 *                                 // t.eta_s (t.eta_reason); each answer
 *   line.on('admitted', t => ...) // t.pass
 *   line.on('gone', why => ...)   // expired, no_show, left, finished, segment_lost, unknown
 *   line.on('refused', code => ...) // queue_closed, queue_not_found ...: it cannot join
 *   line.on('trouble', why => ...)  // offline, busy; '' = over
 *   line.start();                 // line.stop(), line.leave()
 *
 * From another origin than the routers': name the page's in allow_origins of router.yaml.
 *
 * Options: client ('browser'), subject, lane, claim, token (in place of joining), device (with it, outside
 * browsers: save line.device), storage (localStorage; null = none), fetch. */
(function (root, make) {
  if (typeof module === 'object' && module.exports) module.exports = make(root);
  else root.Segq = make(root);
})(typeof globalThis === 'object' ? globalThis : self, function (root) {
  'use strict';
  const TRY_MS = 10000, SAY_MS = 5000, WORST_MS = 30000;
  const spread = ms => ms * (1 + Math.random() / 2);

  /* Of one join, and nobody guesses it: if the answer is lost, the next try finds its place. */
  function newKey() {
    try {
      return Array.from(root.crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('');
    } catch (e) { return ''; }
  }

  class Segq {
    constructor(options) {
      const o = this.options = Object.assign({ routers: [''], client: 'browser' }, options);
      this.routers = o.routers.slice();
      this.fetch = o.fetch || ((u, i) => root.fetch(u, i));
      this.key = 'segq:' + o.queue;
      this.listeners = {};
      this.fails = 0;
      this.why = '';
      this.joinKey = newKey();
      this.heardAt = 0;
      this.now = () => Date.now();
      try { this.storage = 'storage' in o ? o.storage : root.localStorage; } catch (e) { this.storage = null; }
      const old = this.load();
      this.token = o.token || old.token || '';
      this.device = o.device || old.device; /* a cookie, where no browser keeps it */
      this.wake = e => this.look(e.type === 'online');
    }

    on(name, fn) {
      (this.listeners[name] = this.listeners[name] || []).push(fn);
      return this;
    }

    emit(name, value) {
      for (const fn of this.listeners[name] || []) fn(value);
    }

    load() {
      try { return JSON.parse(this.storage.getItem(this.key)) || {}; } catch (e) { return {}; }
    }

    save(v) {
      try {
        if (v) this.storage.setItem(this.key, JSON.stringify(v));
        else this.storage.removeItem(this.key);
      } catch (e) { /* full or forbidden: then a reload joins anew */ }
    }

    /* after: ms until the first request, if somebody else has asked just now. */
    start(after) {
      this.running = true;
      for (const [where, what] of Segq.wakes) if (where) where.addEventListener(what, this.wake);
      if (this.storage && root.BroadcastChannel) {
        this.channel = new root.BroadcastChannel(this.key);
        this.channel.onmessage = e => this.running && this.hear(e.data);
        this.tell({ hello: 1 });
      }
      this.leads = !this.channel || !(root.navigator && root.navigator.locks);
      if (!this.leads) {
        this.abort = new AbortController();
        root.navigator.locks.request(this.key, { signal: this.abort.signal }, () => {
          this.leads = true;
          this.look();
          return new Promise(done => { this.yield = done; });
        }).catch(() => {});
      }
      this.heardAt = this.now();
      this.told = after || 0;
      this.at(after || 0);
      return this;
    }

    stop() {
      this.running = false;
      clearTimeout(this.timer);
      for (const [where, what] of Segq.wakes) if (where) where.removeEventListener(what, this.wake);
      if (this.channel) this.channel.close();
      if (this.yield) this.yield();
      if (this.abort) this.abort.abort();
    }

    async leave() {
      const token = this.token;
      this.left = true;
      this.tell({ gone: 'left', token });
      this.over('left');
      if (token) await this.request('DELETE', '/v1/tickets/' + token).catch(() => {});
    }

    /* ---- when ---- */

    at(ms) {
      this.due = this.now() + ms;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), ms);
    }

    /* After a sleep timers are late, and events wake us: what counts is the clock. A tab that
     * does not lead listens, and asks for itself only if the leader has fallen silent. back: the
     * network is; what was asked before it went gets no answer. */
    look(back) {
      if (!this.running) return;
      if (back && this.why) this.due = 0;
      if (this.busy) {
        if (back && this.cut) this.cut(this.back = true);
        return;
      }
      const due = this.leads ? this.due : this.heardAt + 2 * this.told + 15000;
      if (this.now() + 20 < due) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.look(), due - this.now());
        return;
      }
      this.busy = true;
      const slow = setTimeout(() => this.running && this.trouble('busy'), this.patience());
      this.ask().catch(e => this.failed(0, e)).then(() => {
        clearTimeout(slow);
        this.busy = false;
      });
    }

    /* So long an answer may take before it is said. */
    patience() { return SAY_MS; }

    /* ---- asking ---- */

    async request(method, path, body, key) {
      const stop = new AbortController();
      const timer = setTimeout(this.cut = () => stop.abort(), TRY_MS);
      try {
        const init = { method, signal: stop.signal, cache: 'no-store', credentials: 'same-origin', headers: {} };
        if (this.device) init.headers.Cookie = this.device;
        if (body) {
          init.headers['Content-Type'] = 'application/json';
          if (key) init.headers['Idempotency-Key'] = key;
          init.body = JSON.stringify(body);
        }
        const r = await this.fetch(this.routers[0] + path, init);
        const text = await r.text(), device = /segq_device_[^\s=;,]+=[\w-]+/.exec(r.headers.get('Set-Cookie'));
        if (device) this.device = device[0];
        return { status: r.status, after: Number(r.headers.get('Retry-After')), body: text ? JSON.parse(text) : {} };
      } finally {
        clearTimeout(timer);
      }
    }

    ask() {
      const { queue, client, subject, lane, claim } = this.options;
      const old = this.load();
      if (!this.token && old.token) this.token = old.token; /* another tab was faster */
      const token = this.token;
      const call = token ? this.request('GET', '/v1/tickets/' + token)
        : this.request('POST', '/v1/queues/' + queue + '/tickets', { client, subject, lane, claim }, this.joinKey);
      return call.then(r => {
        if (this.running && this.token === token) this.answer(r);
        else if (this.left && !token && r.body.token) return this.request('DELETE', '/v1/tickets/' + r.body.token);
      });
    }

    answer(r) {
      const t = r.body;
      if (r.status === 200 || r.status === 201) {
        this.fails = 0;
        this.tell({ ticket: t });
        this.take(t);
      } else if (t.code === 'ticket_gone' || t.code === 'ticket_unknown') {
        this.tell({ gone: t.reason || 'unknown', token: this.token });
        this.over(t.reason || 'unknown');
      } else if (r.status === 429 || r.status >= 500) {
        this.failed(r.after * 1000);
      } else {
        this.stop();
        this.emit('refused', t.code || 'bad_request');
      }
    }

    /* ms: what the router told; 0: we were not answered, so another router may know more. */
    failed(ms, e) {
      const { back } = this, { onLine } = root.navigator || {};
      this.back = false;
      if (!this.running) return;
      if (!ms && this.routers.length > 1) this.routers.push(this.routers.shift());
      const grown = Math.min(WORST_MS, 1000 * 2 ** this.fails++);
      this.trouble(ms || onLine !== false && e && e.name === 'AbortError' ? 'busy' : 'offline');
      this.at(back ? 0 : spread(ms || grown));
    }

    trouble(why) {
      if (why === this.why) return;
      this.emit('trouble', this.why = why);
      if (this.leads) this.tell({ why });
    }

    /* ---- what is known ---- */

    take(t) {
      const old = this.load();
      const start = Math.max(t.position || 0, old.token === t.token && old.start || 0);
      this.token = t.token;
      this.ticket = t;
      this.heardAt = this.now();
      this.told = t.poll_after_ms;
      this.trouble('');
      this.save({ token: t.token, start, device: this.device });
      this.emit('ticket', Object.assign({ start }, t));
      if (t.state === 'admitted') {
        this.stop();
        this.emit('admitted', t);
      } else {
        this.at(t.poll_after_ms);
      }
    }

    over(why) {
      if (this.load().token === this.token) this.save(null);
      this.stop();
      this.token = '';
      this.joinKey = newKey();
      this.emit('gone', why);
    }

    tell(what) {
      try { if (this.channel) this.channel.postMessage(what); } catch (e) { /* closed */ }
    }

    hear(m) {
      if (m.hello) {
        if (this.leads && this.ticket) this.tell({ ticket: this.ticket });
        if (this.leads) this.tell({ why: this.why });
      } else if (m.why !== undefined) this.leads || this.trouble(m.why);
      else if (m.gone && m.token === this.token) this.over(m.gone);
      else if (m.ticket && (!this.token || m.ticket.token === this.token)) this.take(m.ticket);
    }
  }

  const doc = root.document;
  Segq.wakes = root.addEventListener ? [[root, 'online'], [root, 'pageshow'], [root, 'focus'],
    [doc, 'visibilitychange'], [doc, 'resume']] : [];
  return Segq;
});
