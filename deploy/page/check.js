/* check.js: the operator's check of people: its widget says a token, and the form `join` brings it. */
(function () {
  'use strict';
  const form = document.querySelector('form[action$="/join"]'), box = form.querySelector('[data-sitekey]');
  const LATE_MS = 15000; /* then a widget that shows nothing has not come */
  let sent = false;

  function go(token) {
    if (!token || sent) return;
    sent = true;
    form.elements.verify.value = token;
    form.submit();
  }
  const fail = () => { if (!box.firstElementChild) document.getElementById('unchecked').hidden = false; };

  window.segqChecked = go; /* by name: Turnstile, hCaptcha, reCAPTCHA */
  box.addEventListener('frc:widget.complete', e => go(e.detail.response)); /* Friendly Captcha */
  document.addEventListener('error', e => { if (e.target.id === 'widget') fail(); }, true);
  setTimeout(fail, LATE_MS);
})();
