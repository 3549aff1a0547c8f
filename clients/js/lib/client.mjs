// client.mjs: Client: all of segq that a program asks; what is here runs in browsers, too.

import { Line, Several } from './people.mjs';
import { Tasks } from './tasks.mjs';
import { Transport, path } from './transport.mjs';

export * from './errors.mjs';
export { Line, Several } from './people.mjs';
export { browserDeviceKey, newDeviceKey } from './proof.mjs';
export { Bytes, FINAL, Operator, isOver, taskBody } from './tasks.mjs';
export { Answer, Stream, Transport, VERSION } from './transport.mjs';

/** routers: addresses, any of which will do. token: of a server that submits or takes tasks; people's calls
 * never send it. timeoutMs: of one whole answer; retryForMs: how long a call is tried again, all tries
 * together. Each call takes `signal`, an AbortSignal, among its last options. */
export class Client extends Tasks {
  constructor(routers, options) {
    super();
    this.transport = new Transport(routers, options);
  }

  /** A place in a line of people. Nothing is asked yet. */
  line(queue, options) { return new Line(this.transport, queue, options); }

  /** Places in several queues, of which the first turn is taken. Nothing is asked yet. */
  several(queues, options) { return new Several(this.transport, queues, options); }

  /** Joins (or goes on, token), and is over when it is let in: `.pass`. */
  waitForPass(queue, { onTicket, ...options } = {}) { return this.line(queue, options).wait(onTicket); }

  /** A queue's figures (Queue of proto/openapi.yaml). */
  figures(queue, { signal } = {}) {
    return this.transport.ask('GET', `/v1/queues/${path(queue)}`, undefined, { headers: { Authorization: '' }, signal });
  }
}
