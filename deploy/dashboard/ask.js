// ask.js: nothing is changed before it has been asked back, in words that say what, of what, and
// from what to what.
import { $, el, put } from './dom.js';
import { Refused } from './api.js';

let changed = () => {}, asked = 0;

export function begin(onChanged) {
  changed = onChanged;
}

let said;

export function say(text) {
  put($('done'), text);
  clearTimeout(said);
  said = setTimeout(() => put($('done'), ''), 6000);
}

export const p = text => el('p', {}, text);

// What takes places or tasks away, or stops a line: its name has to be typed.
function typed(name) {
  const field = el('input', { id: 'ask-name', autocomplete: 'off', spellcheck: 'false', on: { input: () => { $('ask-yes').disabled = field.value !== name; } } });
  return el('label', {}, `Type ${name} to go on `, field);
}

// body: elements below the question; name: to be typed first; danger: red in any case; done: what is said then, or makes it
// of what todo() returned. todo(goOn): the change, or throws what is wrong with it. Of many calls it
// asks goOn(text) after each: that says how far it is; false: the operator wants no more.
export function ask(question, yes, body, todo, done, name, danger) {
  const d = $('ask'), form = $('ask-form'), mine = ++asked;
  const isOpen = () => d.open && mine === asked; // another question may be open by now
  const goOn = text => {
    if (!isOpen()) return false;
    put($('ask-far'), text);
    put($('ask-no'), 'Stop here');
    return true;
  };
  if (name) body = [...body, typed(name)];
  put($('ask-head'), question);
  put($('ask-yes'), yes);
  put($('ask-no'), 'Cancel');
  put($('ask-why'), '');
  put($('ask-far'), '');
  $('ask-body').replaceChildren(...body);
  d.classList.remove('form');
  $('ask-yes').disabled = Boolean(name);
  $('ask-yes').classList.toggle('danger', Boolean(name || danger));
  form.onsubmit = async e => {
    e.preventDefault();
    $('ask-yes').disabled = true;
    put($('ask-why'), '');
    try {
      const got = await todo(goOn);
      if (isOpen()) d.close();
      say(typeof done === 'function' ? done(got) : done);
      changed();
    } catch (x) {
      const why = x instanceof Refused ? x.message : 'No answer: ' + x.message +
        '. It may have happened: look before you try again.';
      if (!isOpen()) return say(`${question} ${why}`);
      put($('ask-why'), why);
      $('ask-yes').disabled = false;
    }
  };
  $('ask-no').onclick = () => d.close();
  d.showModal();
  (name ? $('ask-name') : $('ask-no')).focus(); // Enter on a fresh question changes nothing
}
