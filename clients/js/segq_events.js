/* segq_events.js: told at once. Load it behind segq.js; nothing else changes, and the option
 * `events: false` polls.
 *
 * In place of a poll one tab of the browser listens (EventSource), where locks say which one: on
 * a page by https. It polls as before where that fails: 204 (too many listen), an error, a first
 * event that does not come (something on the way buffers), silence: a beat comes when nothing does. */
(function (root, make) {
  if (typeof module === 'object' && module.exports) module.exports = make(root, require('./segq.js'));
  else root.Segq = make(root, root.Segq);
})(typeof globalThis === 'object' ? globalThis : self, function (root, Segq) {
  'use strict';
  const FIRST_MS = 5000;  /* for the first event */
  const QUIET_MS = 90000; /* a router says the place anew sooner, or after the told interval */
  const LATE_MS = 3000;   /* so late a beat may be */
  const DEAF_MS = 60000;  /* then it tries to listen again */

  if (root.addEventListener) Segq.wakes.push([root, 'offline']);

  return class extends Segq {
    constructor(options) {
      super(options);
      this.deaf = this.calm = 0; /* it polls until; so long nothing need be heard */
      this.wake = e => {
        if (this.stream && !/focus|visibility/.test(e.type)) this.due = 0; /* it may be dead */
        this.look(e.type === 'online');
      };
    }

    stop() {
      this.hush(0);
      super.stop();
    }

    ask() {
      if (this.stream) this.hush(this.stream.heard ? 0 : DEAF_MS); /* it is silent */
      else if (this.token && this.mayListen()) return this.listen();
      return super.ask();
    }

    /* It has been silent before it is asked. */
    patience() { return this.stream ? this.stream.heard ? 2000 : 500 : super.patience(); }

    mayListen() {
      return this.options.events !== false && root.EventSource && this.yield && this.now() >= this.deaf;
    }

    hush(ms) {
      if (this.stream) this.stream.close();
      this.stream = null;
      this.calm = 0;
      this.deaf = this.now() + ms * (1 + Math.random());
    }

    async listen() {
      const s = this.stream = new root.EventSource(this.routers[0] + '/v1/tickets/' + this.token + '/events');
      const when = (name, fn) => s.addEventListener(name, e => this.stream === s && fn(e.data && JSON.parse(e.data)));
      when('message', t => {
        s.heard = true;
        const quiet = Math.max(QUIET_MS, 2 * t.poll_after_ms);
        s.until = this.now() + quiet;
        this.calm = s.beat || quiet;
        this.answer({ status: 200, body: t });
      });
      when('beat', ms => {
        this.calm = s.beat = ms + LATE_MS;
        this.heardAt = this.now();
        this.tell({ beat: 1 });
        this.at(Math.min(this.calm, s.until - this.now())); /* beats without places: its node is away */
      });
      when('gone', p => this.answer({ status: 410, body: p }));
      when('away', p => {
        this.hush(0);
        this.at(p.poll_after_ms);
      });
      /* All those who were told at once shall not come back at once. */
      when('error', () => {
        this.hush(s.heard ? 0 : DEAF_MS);
        this.at(s.heard ? Math.random() * Math.max(this.told, FIRST_MS) : 0);
      });
      this.at(FIRST_MS);
    }

    take(t) {
      super.take(t);
      if (this.calm) this.at(this.calm);
    }

    /* The other tabs may hear nothing for as long. */
    tell(what) {
      super.tell(what.ticket ? Object.assign({ calm: this.calm }, what) : what);
    }

    hear(m) {
      super.hear(m);
      if (m.beat) this.heardAt = this.now();
      if (m.calm && !this.stream) this.told = Math.max(this.told, m.calm / 2);
    }
  };
});
