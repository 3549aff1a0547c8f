/* places.js: one person in several lines: asks for this page now and then, and puts its places here; so
 * nothing is loaded anew under a reader, and a server that does not answer takes nothing away. */
(function () {
  'use strict';
  const QUIET_MS = 30000; /* at least, between two things that are read aloud */
  const RETRY_MS = 5000;
  const $ = id => document.getElementById(id), d = JSON.parse($('data').textContent);
  const fields = $('leave').elements, here = location.pathname + '?r=1&return=' + encodeURIComponent(fields.return.value);
  const spread = ms => ms * (1 + Math.random() / 4);
  const waits = () => Array.from($('places').querySelectorAll('small'), e => e.textContent).join();
  const turns = () => $('places').querySelectorAll('form').length; /* of a group that keeps the others */
  let said = waits(), saidAt = Date.now(), came = turns();

  /* Aloud only what is news: another wait in words, a place that is over; a turn at once. */
  function aloud() {
    if (waits() === said || turns() <= came && Date.now() - saidAt < QUIET_MS) return;
    [said, saidAt, came] = [waits(), Date.now(), turns()];
    $('live').textContent = Array.from($('places').children, e => e.firstChild.textContent + ': ' + e.lastChild.textContent).join('; ');
  }

  function show(html) {
    const doc = new DOMParser().parseFromString(html.slice(html.indexOf('<main')), 'text/html'); /* no styles: the policy refuses them */
    const places = doc.getElementById('places');
    if (!places) return location.replace(here); /* over: the server says why */
    [...places.children].forEach((e, i) => { /* who is about to press a button is not disturbed */
      const old = $('places').children[i];
      if (old.innerHTML !== e.innerHTML) old.replaceChildren(...e.childNodes);
    });
    aloud();
    again(JSON.parse(doc.getElementById('data').textContent).after);
  }

  const again = ms => setTimeout(look, spread(ms));

  function look() {
    fetch(here, { cache: 'no-store', redirect: 'manual' }).then(r => {
      if (r.type !== 'opaqueredirect') return r.status < 429 ? r.text().then(show) : again(RETRY_MS);
      $('heading').textContent = $('live').textContent = d.t.turn;
      location.replace(here); /* asked once more it is the same turn */
    }).catch(() => again(RETRY_MS));
  }

  $('leave').addEventListener('submit', e => { if (!confirm(d.t.leave_ask)) e.preventDefault(); });
  again(d.after);
})();
