/* page.js: the waiting page with scripts: segq.js and segq_events.js wait, this shows. What ends
 * the waiting is shown by the server: the form "enter" goes on, or says why not. */
(function () {
  'use strict';
  const QUIET_MS = 30000; /* at least, between two things that are read aloud */
  const LOOK_MS = 60000;  /* between two looks at the queue itself */
  const $ = id => document.getElementById(id);
  const d = JSON.parse($('data').textContent), t = d.t;
  const spread = ms => ms * (1 + Math.random() / 2);
  const put = (e, text) => { if (e.textContent !== text) e.textContent = text; };
  const fetchJson = path => fetch(path, { cache: 'no-store' }).then(r => r.ok ? r.json() : Promise.reject(r));

  addEventListener('pageshow', e => { if (e.persisted) location.reload(); });

  /* ---- until it opens ---- */

  let opensAt = Date.now() + 1000 * d.opens; /* by this browser's clock */
  const two = n => String(n).padStart(2, '0');
  const here = navigator.language || '', locale = here.startsWith(d.lang) ? here : d.lang; /* en-GB */
  const latn = 'latn', days = new Intl.NumberFormat(d.lang, { style: 'unit', unit: 'day', unitDisplay: 'long', numberingSystem: latn });
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'short', numberingSystem: latn });

  function left() {
    const s = Math.max(0, Math.ceil((opensAt - Date.now()) / 1000));
    const m = Math.floor(s / 60), h = Math.floor(m / 60), day = Math.floor(h / 24);
    const clock = (h ? h % 24 + ':' + two(m % 60) : m) + ':' + two(s % 60);
    return day ? days.format(day) + ' ' + clock : clock;
  }

  function countdown(e) {
    put(e, left());
    put($('when'), moment.format(opensAt + 500));
  }

  if ($('opens')) {
    countdown($('opens'));
    setInterval(() => countdown($('opens')), 1000);
  }

  /* ---- not in line: perhaps later, as soon as somebody answers ---- */

  function tryAgain() {
    fetch('/v1/queues/' + d.queue).then(r => r.status < 500 ? document.querySelector('form[method=get]').submit() : Promise.reject(r))
      /* without an answer this page stays, and not the gate's */
      .catch(() => setTimeout(tryAgain, spread(d.after)));
  }

  /* ---- no place yet: a script joins, a crawler does not ---- */

  if (d.preview && d.state !== 'waiting') return;
  if (d.state === 'door') return document.querySelector('form[action$="/join"]').submit();

  if (d.state === 'work' || d.state === 'check' || $('places')) return; /* work.js, check.js, places.js; a page.html of before has no places: loaded again */

  if (d.state !== 'waiting') {
    if (!d.after) try { localStorage.removeItem('segq:' + d.queue); } catch (e) { /* none */ }
    else setTimeout(tryAgain, spread(d.after));
    return;
  }

  const token = $('leave').elements.token.value;

  /* ---- words ---- */

  const numbers = new Intl.NumberFormat(locale, { numberingSystem: latn }), number = n => numbers.format(n);
  const plural = new Intl.PluralRules(d.lang);
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short', numberingSystem: latn });
  const fill = (text, n) => (text.other ? text[plural.select(n)] || text.other : text).replace('{n}', number(n));

  /* By the server's steps: [below (0: the rest), rounded to, unit, text], in minutes. */
  function eta(s) {
    if (s == null || s < 0) return t.eta_unknown;
    const m = Math.floor((s + 30) / 60), [, step, unit, text] = d.eta_steps.find(([below]) => !below || m < below);
    return fill(t[text], Math.floor((m + Math.floor(step / 2)) / step) * step / unit);
  }

  /* The time of day at which the wait ends: as exact as the wait is. */
  function at(s) {
    if (s == null || s < 90) return '';
    const step = s < 3600 ? 300000 : 900000;
    return t.at.replace('{t}', clock.format(Math.round((Date.now() + 1000 * s) / step) * step));
  }

  /* ---- showing ---- */

  const accent = getComputedStyle(document.documentElement).getPropertyValue('--accent');

  /* The tab's icon: the way gone so far, as a ring, and the place while it has two digits. */
  const paper = document.createElement('canvas').getContext('2d'); /* null: it is forbidden */
  if (paper) paper.canvas.width = paper.canvas.height = 32;
  let drawn = '';

  function icon(place, percent) {
    const what = [place < 100 && place, Math.round(percent)].join();
    if (!paper || what === drawn) return;
    drawn = what;
    paper.clearRect(0, 0, 32, 32);
    paper.lineWidth = 5;
    for (const [part, colour] of [[1, '#8888'], [percent / 100, accent]]) {
      paper.beginPath();
      paper.strokeStyle = paper.fillStyle = colour;
      paper.arc(16, 16, 13, -Math.PI / 2, (2 * part - .5) * Math.PI);
      if (part) paper.stroke();
    }
    paper.font = 'bold 15px sans-serif';
    paper.textAlign = 'center';
    if (place && place < 100) paper.fillText(place, 16, 21.5);
    $('icon').href = paper.canvas.toDataURL();
  }

  let early = !!d.opens, last = null, news = false, paused = d.paused, trouble = '', freshAt = Date.now();
  let said = '', saidAt = Date.now(), saidPlace = d.position, saidWait; /* aloud: a note; a place, a wait */

  function fresh() {
    const s = Math.max(0, (Date.now() - freshAt) / 1000);
    put($('fresh'), t.fresh.replace('{n}', Math.floor(s)));
    /* between two answers the bar goes on as the estimate says, until the next place but one */
    if (!last || !last.position || !last.start) return;
    const ahead = !paused && last.eta_s > 0 ? Math.min(s / last.eta_s, .1) * last.position : 0;
    const bar = Math.max(2, 100 * (last.start - last.position + ahead) / last.start);
    if (bar > $('bar').value) $('bar').value = Math.min(bar, 99);
  }

  function note() {
    const text = trouble ? t[trouble] : paused ? t.paused : '';
    if (!early) {
      document.querySelector('article').classList.toggle('held', paused);
      put($('heading'), paused ? t.held : t.waiting);
      $('row').hidden = paused;
    }
    put($('note'), text);
    $('note').hidden = !text;
    if (text && text !== said) { put($('live'), text); said = text; }
  }

  /* Aloud only what is news: another wait in words, or half of the way to go. */
  function aloud(k, place, words) {
    const wait = !paused && k.eta_s != null && words;
    saidWait = saidWait === undefined ? wait : saidWait;
    if (!k.position || Date.now() - saidAt < QUIET_MS || wait === saidWait && saidPlace && k.position > saidPlace / 2) return;
    put($('live'), (wait ? t.now : t.now_place).replace('{n}', place).replace('{eta}', words));
    [saidAt, saidPlace, saidWait] = [Date.now(), k.position, wait];
  }

  function show(k) {
    const plus = k.position_capped ? '+' : '';
    const place = k.position ? number(k.position) + plus : early ? t.drawn : t.unknown, words = eta(paused ? null : k.eta_s);
    if (k.opens_at && d.opens_at) { /* the operator may have changed the hour */
      opensAt += 1000 * (k.opens_at - d.opens_at);
      d.opens_at = k.opens_at;
    }
    if (early && k.position) {
      early = false;
      news = true;
      document.querySelector('article').classList.remove('early');
      put($('when'), '');
      put($('heading'), paused ? t.held : t.waiting);
      put($('say'), t.keep);
      put($('wait'), t.wait);
      $('row').hidden = paused;
    }
    last = k;
    put($('position'), place);
    put($('of'), k.position && !plus ? fill(t.of, k.total) : '');
    if (early) countdown($('eta'));
    else {
      put($('eta'), words);
      put($('when'), at(paused ? null : k.eta_s));
    }
    const gone = k.position && k.start ? 100 * (k.start - k.position) / k.start : 0;
    $('bar').value = Math.max($('bar').value, 2, gone);
    icon(k.position, gone);
    document.title = (k.position ? place + ' · ' : '') + $('title').textContent;
    aloud(k, place, words);
  }

  /* ---- the queue itself: is it paused, has the operator something new to say? ---- */

  let lookedAt = Date.now(), heard;

  /* The word of the moment comes with every answer, and so does an estimate, or that there
   * is none because of a pause: when these change there is news. So is a pause, or a word, that
   * began between this page and its first answer. */
  function hear(k) {
    const held = k.eta_s == null && k.eta_reason === 'paused';
    const now = (k.eta_s == null) + held + (k.message || '');
    const unseen = held && !paused || k.message && k.message !== $('message').textContent;
    news = news || (heard === undefined ? unseen : now !== heard);
    heard = now;
  }

  function look() {
    if (!news && (document.visibilityState === 'hidden' || Date.now() - lookedAt < LOOK_MS)) return;
    news = false;
    lookedAt = Date.now();
    fetchJson('/v1/queues/' + d.queue).then(q => {
      paused = q.state === 'paused' || q.state === 'reject';
      note();
      if (last) show(last);
      if ($('seed') && q.draw && q.draw.seed) {
        put($('seed'), q.draw.seed);
        $('seed').parentNode.parentNode.hidden = false;
      }
      if (q.page === d.page) return;
      return fetchJson('/q/' + d.queue + '/words').then(w => {
        d.page = w.page;
        put($('title'), w.title);
        put($('message'), w.message);
        $('message').hidden = !w.message;
      });
    }).catch(() => {});
  }

  /* ---- waiting ---- */

  /* A sound, and a notification where the browser has them: by a button alone. */
  let sound = null;

  function play() {
    for (const [i, hz] of [660, 880].entries()) {
      const tone = sound.createOscillator(), loud = sound.createGain(), from = sound.currentTime + i / 4;
      tone.frequency.value = hz;
      loud.gain.setValueAtTime(.3, from);
      loud.gain.exponentialRampToValueAtTime(.001, from + .5);
      tone.connect(loud).connect(sound.destination);
      tone.start(from);
      tone.stop(from + .5);
    }
  }

  function bell() {
    if (sound) sound.close();
    sound = sound ? null : new AudioContext();
    put($('bell'), sound ? t.bell_on : t.bell);
    $('bell').setAttribute('aria-pressed', !!sound);
    if (sound && self.Notification && Notification.permission === 'default') Notification.requestPermission();
  }

  if (self.AudioContext) {
    $('bell').hidden = false;
    $('bell').addEventListener('click', bell);
  }

  function ring() {
    try {
      play();
      /* a phone's browser has the name, and throws */
      if (self.Notification && Notification.permission === 'granted') new Notification(t.turn, { body: $('title').textContent });
    } catch (e) { /* the page itself says it */ }
  }

  function goOn(token) {
    $('enter').elements.token.value = token;
    $('enter').submit();
  }

  function wait() {
    if (early) {
      countdown($('eta'));
      setInterval(() => { if (early) countdown($('eta')); }, 1000);
    }
    fresh();
    setInterval(fresh, 1000);
    if (d.preview) return show({ ...d, eta_s: d.eta_s < 0 ? null : d.eta_s, opens_at: 0 });
    const line = new Segq({ queue: d.queue, token });
    const end = () => goOn(line.token || token);
    line.save({ token, start: d.start });
    line.on('ticket', k => { freshAt = Date.now(); fresh(); if (k.state === 'waiting') { show(k); hear(k); look(); } });
    line.on('trouble', why => { trouble = why; note(); });
    line.on('admitted', () => {
      put($('heading'), t.turn);
      put($('say'), t.turn_say);
      put($('live'), t.turn);
      $('bar').value = 100;
      if (!sound) return end();
      setTimeout(end, 800); /* of the sound */
      ring();
    });
    line.on('gone', end);
    line.on('refused', end); /* the ticket works with another device now */
    line.start(d.after);
    document.addEventListener('visibilitychange', look);
    $('leave').addEventListener('submit', e => {
      if (!confirm(t.leave_ask)) return e.preventDefault();
      line.save(null);
      line.stop();
    });
  }

  /* This browser may have had a place before: another tab, or a cookie that was lost. The
   * older one stays. */
  if (d.preview) return wait();
  const before = new Segq({ queue: d.queue });
  if (!before.token || before.token === token) return wait();
  before.request('GET', '/v1/tickets/' + before.token).then(r => {
    const k = r.body;
    if (r.status !== 200 || k.state === 'waiting' && !(k.position < d.position)) return wait();
    return before.request('DELETE', '/v1/tickets/' + token).then(() => goOn(k.token));
  }).catch(wait);
})();
