// explorer.js: one call of the API at a time: its fields, its command for a shell, its answer.
'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const api = JSON.parse($('api').textContent);
  let now = null; // the chosen call

  function node(name, text, attributes) {
    const e = document.createElement(name);
    e.textContent = text || '';
    for (const [k, v] of Object.entries(attributes || {}))
      e.setAttribute(k, v);
    return e;
  }

  // Each word must be somewhere in it.
  function matches(call, words) {
    const text = `${call.method} ${call.path} ${call.summary} ${call.id}`.toLowerCase();
    return words.every(w => text.includes(w));
  }

  function list() {
    const words = $('find').value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    $('list').textContent = '';
    for (const [tag, title] of Object.entries(api.groups)) {
      const calls = api.calls.filter(c => c.tag === tag && matches(c, words));
      if (calls.length === 0)
        continue;
      const ul = node('ul');
      for (const c of calls) {
        const a = node('a', '', { href: '#' + c.id });
        a.append(node('b', c.method), ' ' + c.summary);
        if (c === now)
          a.setAttribute('aria-current', 'page');
        const li = node('li');
        li.append(a);
        ul.append(li);
      }
      $('list').append(node('p', title), ul);
      n += calls.length;
    }
    $('found').textContent = n === 0 ? 'No call has all of these words.' : n === 1 ? '1 call' : `${n} calls`;
  }

  function fields() {
    $('parameters').textContent = '';
    for (const p of now.parameters) {
      const id = `p_${p.in}_${p.name}`;
      $('parameters').append(node('label', p.required ? p.name : `${p.name} (may be absent)`, { for: id }),
        node('input', '', { id, spellcheck: 'false', autocomplete: 'off', 'aria-describedby': id + '_about' }),
        node('small', p.description, { id: id + '_about' }));
    }
  }

  function choose(id) {
    now = api.calls.find(c => c.id === id) || null;
    $('call').hidden = now === null;
    $('answer').hidden = true;
    list();
    if (now === null)
      return;
    $('summary').textContent = now.summary;
    $('method').textContent = now.method;
    $('path').textContent = now.path;
    $('description').textContent = now.description;
    fields();
    $('body_part').hidden = !now.takes_body;
    $('body').value = now.body === null ? '' : now.body;
    command();
    $('summary').focus();
  }

  const value = (p) => $(`p_${p.in}_${p.name}`).value;

  // A path parameter that is empty stays as it is written, so that one sees what is missing; a path of a
  // target keeps its slashes.
  function request() {
    const query = new URLSearchParams();
    const headers = {};
    let path = now.path;
    for (const p of now.parameters) {
      const v = value(p);
      if (v === '')
        continue;
      if (p.in === 'path')
        path = path.replace(`{${p.name}}`, p.name === 'callPath' ? v.replace(/^\//, '') : encodeURIComponent(v));
      else if (p.in === 'query')
        query.append(p.name, v);
      else if (p.in === 'header')
        headers[p.name] = v;
    }
    if (now.token !== '')
      headers.Authorization = 'Bearer ' + ($('token').value || now.token);
    const body = now.takes_body && $('body').value !== '' ? $('body').value : null;
    if (body !== null)
      headers['Content-Type'] = 'application/json';
    const base = (now.tag === 'admin' ? $('admin') : $('router')).value.replace(/\/+$/, '');
    return { method: now.method, url: base + path + (query.size || `${query}` ? '?' + query : ''), headers, body };
  }

  const quoted = text => `'${text.replaceAll("'", "'\\''")}'`;

  function command() {
    if (now === null)
      return;
    const r = request();
    const parts = ['curl -i', ...(r.method === 'GET' ? [] : [`-X ${r.method}`]), quoted(r.url)];
    for (const [k, v] of Object.entries(r.headers)) // the token itself is not shown
      parts.push('-H ' + quoted(k === 'Authorization' ? `${k}: Bearer ${now.token}` : `${k}: ${v}`));
    if (r.body !== null)
      parts.push('-d ' + quoted(r.body));
    $('command').textContent = parts.join(' \\\n  ');
  }

  function missing() {
    return now.parameters.filter(p => p.in === 'path' && value(p) === '').map(p => p.name);
  }

  function shown(text, type) {
    if (!/json/.test(type || ''))
      return text;
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  async function send() {
    const r = request(), lack = missing(), asked = now, began = performance.now();
    $('answer').hidden = false;
    $('answer_body').textContent = '';
    if (lack.length > 0) {
      $('status').textContent = `Fill in ${lack.join(', ')} first.`;
      return;
    }
    $('status').textContent = `Asking ${r.url} ...`;
    try {
      const got = await fetch(r.url, { method: r.method, headers: r.headers, body: r.body, signal: AbortSignal.timeout(70000) });
      const text = await got.text();
      if (asked !== now)
        return;
      $('status').textContent = `${got.status} ${got.statusText}, after ${Math.round(performance.now() - began)} ms`;
      $('answer_body').textContent = shown(text, got.headers.get('Content-Type'));
    } catch (e) {
      if (asked !== now)
        return;
      $('status').textContent = `No answer that this page may read (${e.message}). Nobody is there, or that router's ` +
        `allow_origins does not name ${location.origin}: the command above works from a shell.`;
    }
  }

  $('router').value = api.servers[0];
  $('admin').value = api.servers[1];
  $('find').addEventListener('input', list);
  $('call').addEventListener('input', command);
  $('where').addEventListener('input', command);
  $('call').addEventListener('submit', e => { e.preventDefault(); send(); });
  $('copy').addEventListener('click', () => navigator.clipboard.writeText($('command').textContent)
    .then(() => { $('copy').textContent = 'Copied'; }, () => { $('copy').textContent = 'Select it, and copy by hand'; }));
  addEventListener('hashchange', () => choose(location.hash.slice(1)));
  choose(location.hash.slice(1));
})();
