// line.js QUEUE ROUTER...: waits with clients/js/segq.js, as example.c does with the C
// client: what it hears on standard error, the pass on standard output.
// SEGQ_TOKEN goes on in a saved place; SEGQ_LEAVE_AT=N leaves the line at place N.
'use strict';
const Segq = require('../../clients/js/segq.js');

const [queue, ...routers] = process.argv.slice(2);
const { SEGQ_TOKEN, SEGQ_LEAVE_AT } = process.env;
const line = new Segq({ queue, routers, client: 'game', token: SEGQ_TOKEN, storage: null });

line.on('ticket', t => {
  if (t.state === 'waiting') console.error(`${t.position} of ${t.total}, ${t.eta_s} s, token ${t.token}`);
  if (SEGQ_LEAVE_AT && t.position && t.position <= Number(SEGQ_LEAVE_AT)) setImmediate(() => line.leave());
});
line.on('trouble', why => why && console.error(`busy or away (${why}); the place is kept`));
line.on('admitted', t => console.log(t.pass));
line.on('gone', why => {
  console.error(why === 'left' ? 'left' : 'not admitted: ' + why);
  process.exitCode = why === 'left' ? 0 : 1;
});
line.on('refused', code => {
  console.error('not admitted: ' + code);
  process.exitCode = 1;
});
line.start();
