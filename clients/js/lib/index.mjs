// index.mjs: the whole client, for servers: Node 18 and newer, Deno, Bun.
import { nodeFetch } from './http.mjs';
import { defaults } from './transport.mjs';

defaults.fetch = nodeFetch;
export * from './client.mjs';
export { Gate, signClaim } from './gate.mjs';
export { Webhook } from './webhooks.mjs';
export { Job, Nack, Worker, run } from './worker.mjs';
