// leave.js QUEUE ROUTER: as leave.c does with the C client: joins, and leaves before the join is
// answered. Ends with 0 when the place that the join made was given back.
'use strict';
const Segq = require('../../clients/js/segq.js');

const [queue, router] = process.argv.slice(2);
process.exitCode = 1;
const line = new Segq({
  queue, routers: [router], storage: null,
  fetch: (url, init) => {
    const answer = fetch(url, init);
    if (init.method === 'POST') line.leave();
    else answer.then(r => { process.exitCode = init.method === 'DELETE' && r.status === 204 ? 0 : 1; });
    return answer;
  },
});
line.start();
