/* work.js: a place costs some work: it is tried in workers, so that the page stays awake, and the form
 * `join` brings the answer. Whoever cannot work waits, and presses the button. */
(function () {
  'use strict';
  const $ = id => document.getElementById(id), d = JSON.parse($('data').textContent);

  const PATIENCE_MS = 22000; /* then whoever cannot work may go on, too */

  /* Alone in its worker: tries counters from, from + step, ...; eight at once, for WebCrypto answers late. */
  function solver() {
    const bytes = hex => Uint8Array.from(hex.match(/../g), x => parseInt(x, 16));
    onmessage = async ({ data: [p, from, step] }) => {
      const nonce = bytes(p.nonce), salt = bytes(p.salt), prefix = bytes(p.keyPrefix);
      const derive = async n => {
        const pass = new Uint8Array(nonce.length + 4);
        pass.set(nonce);
        new DataView(pass.buffer).setUint32(nonce.length, n);
        const key = await crypto.subtle.importKey('raw', pass, 'PBKDF2', false, ['deriveBits']);
        return new Uint8Array(await crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt, iterations: p.cost }, key, 8 * p.keyLength));
      };
      for (let n = from; ; n += 8 * step) {
        const keys = await Promise.all(Array.from({ length: 8 }, (_, i) => derive(n + i * step)));
        const i = keys.findIndex(k => prefix.every((x, at) => k[at] === x));
        postMessage(i < 0 ? 8 : { counter: n + i * step, derivedKey: Array.from(keys[i], x => x.toString(16).padStart(2, '0')).join('') });
        if (i >= 0) return;
      }
    };
  }

  function work(form) {
    const button = form.querySelector('button'), many = Math.max(1, Math.min(4, navigator.hardwareConcurrency || 2));
    const show = hidden => { $('patience').hidden = button.hidden = hidden; };
    let tried = 0, told = 0;
    show(true);
    setTimeout(show, PATIENCE_MS, false);
    if (!self.Worker || !self.crypto || !crypto.subtle) return;
    $('bar').hidden = false;
    const url = URL.createObjectURL(new Blob([`(${solver})()`], { type: 'text/javascript' }));
    const all = Array.from({ length: many }, () => new Worker(url));
    all.forEach((w, i) => {
      w.onmessage = ({ data }) => {
        if (data.derivedKey) {
          all.forEach(x => x.terminate());
          form.elements.altcha.value = btoa(JSON.stringify({ challenge: d.challenge, solution: data }));
          return form.submit();
        }
        tried += data;
        $('bar').value = Math.min(99, 100 * tried / d.keys);
        if ($('bar').value < told + 50) return;
        told += 50;
        $('live').textContent = $('heading').textContent + ' 50 %';
      };
      w.postMessage([d.challenge.parameters, i, many]);
    });
    $('live').textContent = $('heading').textContent;
  }

  if (d.challenge) work(document.querySelector('form[action$="/join"]'));
})();
