// index.d.ts: types of the client. Members of the API keep the names of proto/openapi.yaml; a check compares
// the types that are named as its schemas.

/** Seconds, or "30s", "5m", "1h". */
export type Span = number | string;
export type Json = unknown;
/** Each call takes one; who aborts it gets the signal's reason. */
export interface CallOptions { signal?: AbortSignal }

// ---- errors ----

export class SegqError extends Error {
  readonly status?: number;
  readonly code?: string;
  readonly detail?: string;
}
/** No router gave an answer that could be read. */
export class NetworkError extends SegqError {}
/** A refusal, as segq said it. */
export class ApiError extends SegqError {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly problem: Readonly<Record<string, any>>;
  readonly requestId?: string;
  readonly retryAfterMs?: number;
}
export class BadRequest extends ApiError {}
export class Unauthorized extends ApiError {}
export class Forbidden extends ApiError {}
export class NotFound extends ApiError {}
export class Conflict extends ApiError {}
/** 428: the join costs some work; `Line` does it. */
export class ChallengeRequired extends ApiError {}
export class TooFast extends ApiError {}
/** Nothing was done: try again. */
export class Unavailable extends ApiError {}
/** It may have been done. */
export class OutcomeUnknown extends Unavailable {}
export class TaskGone extends ApiError {}
export class TicketGone extends ApiError {
  readonly reason: 'expired' | 'left' | 'no_show' | 'finished' | 'segment_lost' | 'unknown';
}
export class TicketExpired extends TicketGone {}
export class TicketLeft extends TicketGone {}
export class TicketNoShow extends TicketGone {}
export class TicketFinished extends TicketGone {}
export class TicketLost extends TicketGone {}
/** 404: a token that no router knows. */
export class TicketUnknown extends TicketGone {}
export class PassInvalid extends SegqError {
  readonly status: 401;
  readonly code: string;
  readonly detail: string;
}
export class PassExpired extends PassInvalid {}
export class PassNotYetValid extends PassInvalid {}
export class SignatureInvalid extends SegqError {}
/** A task that was waited for ended without success. */
export class TaskFailed extends SegqError {
  readonly task: Task;
}
/** The exception of an answer with this status and this body. */
export function errorOf(status: number, problem: Record<string, any>, retryAfterMs?: number): ApiError;
export const GONE: Readonly<Record<string, typeof TicketGone>>;

// ---- HTTP ----

export const VERSION: string;
export interface ClientOptions {
  /** Of a server that submits or takes tasks; people's calls never send it. */
  token?: string;
  /** Of one whole answer (10 s). */
  timeoutMs?: number;
  /** How long a call is tried again, all tries together (60 s). */
  retryForMs?: number;
  headers?: Record<string, string>;
  /** In place of node:http, or of the browser's. */
  fetch?: typeof fetch;
}
export class Transport {
  constructor(routers: string | string[], options?: ClientOptions);
}
export class Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  text(): string;
  json(): any;
}
export interface ServerSentEvent { event: string; data: string; id: string }
/** An open answer: read it by one of pieces(), lines(), events(), or read() for all; close() ends it. */
export class Stream {
  readonly status: number;
  readonly headers: Headers;
  /** The longest silence. */
  patienceMs: number;
  pieces(): AsyncGenerator<Uint8Array, void>;
  lines(): AsyncGenerator<string, void>;
  events(): AsyncGenerator<ServerSentEvent, void>;
  read(): Promise<Answer>;
  close(): void;
}

// ---- people ----

export interface Join {
  /** The same subject has one place. */
  subject?: string;
  client?: 'browser' | 'mobile' | 'game';
  lane?: string;
  claim?: string;
}
export interface Ticket {
  /** Save it: with it the place is found again. */
  token: string;
  queue: string;
  lane: string;
  state: 'waiting' | 'admitted';
  /** null: not known at the moment. */
  position: number | null;
  position_capped?: boolean;
  total: number;
  eta_s: number | null;
  eta_reason?: 'slower' | 'faster' | 'paused' | 'stopped' | 'stay';
  poll_after_ms: number;
  segment: number;
  /** When admitted: for your server. */
  pass?: string;
  pass_expires_at?: number;
  released_at?: number;
  /** "17-123": its name, for those who ask for help. */
  ticket?: string;
  prequeue?: boolean;
  opens_at?: number;
  /** The operator's notice. */
  message?: string;
}
export interface LineOptions extends Join, CallOptions {
  /** Of an earlier run: goes on in its place. */
  token?: string;
  /** Saved with it. */
  device?: string;
  /** Of a queue with `bind: key`: newDeviceKey(). Keep it as long as the place. */
  key?: CryptoKeyPair;
  /** false: polls only. */
  events?: boolean;
  onTrouble?(why: '' | 'offline' | 'busy'): void;
}
/** A device's key that no script can read out, for `key` of a line; extractable: to save it in a file. */
export function newDeviceKey(options?: { extractable?: boolean }): Promise<CryptoKeyPair>;
/** The key of this browser, for all queues of the page's address: the waiting page there has the same. It throws where
 * there is no IndexedDB, and by plain http. */
export function browserDeviceKey(): Promise<CryptoKeyPair>;
/** One place in one queue: iterate over it, or wait(). */
export class Line implements AsyncIterable<Ticket> {
  constructor(transport: Transport, queue: string, options?: LineOptions);
  readonly queue: string;
  readonly token?: string;
  /** Of a queue with `bind: device`: save it with the token. In browsers undefined: they keep it. */
  readonly device?: string;
  readonly ticket?: Ticket;
  readonly trouble: '' | 'offline' | 'busy';
  join(): Promise<Ticket>;
  poll(): Promise<Ticket>;
  wait(onTicket?: (ticket: Ticket) => void): Promise<Ticket>;
  leave(options?: CallOptions): Promise<void>;
  [Symbol.asyncIterator](): AsyncGenerator<Ticket, void>;
}

export interface OnePlace {
  queue: string | null;
  state: 'waiting' | 'admitted' | 'over' | 'unknown';
  reason?: 'given_up' | 'expired' | 'left' | 'no_show' | 'finished' | 'segment_lost';
  position?: number | null;
  eta_s?: number | null;
  ticket: string;
}
export interface Places {
  /** Save it, the last one: with it the places are found again. */
  group: string;
  state: 'waiting' | 'admitted';
  places: OnePlace[];
  poll_after_ms?: number;
  /** When admitted: for your server. */
  pass?: string;
  pass_expires_at?: number;
}
export interface SeveralOptions extends CallOptions {
  /** Of an earlier run: it goes on in the same places. */
  group?: string;
  /** A group of the routers' configuration, in place of queues. */
  name?: string;
  others?: 'give_up' | 'keep';
  claim?: string;
  client?: 'browser' | 'mobile' | 'game';
}
/** One person's places in several queues: iterate over it, or wait(). */
export class Several implements AsyncIterable<Places> {
  constructor(transport: Transport, queues: string[], options?: SeveralOptions);
  readonly group?: string;
  readonly places?: Places;
  join(): Promise<Places>;
  poll(): Promise<Places>;
  wait(onPlaces?: (places: Places) => void): Promise<Places>;
  leave(options?: CallOptions): Promise<void>;
  [Symbol.asyncIterator](): AsyncGenerator<Places, void>;
}

// ---- tasks ----

export type TaskState = 'scheduled' | 'waiting' | 'running' | 'retrying' | 'succeeded' | 'dead' | 'cancelled' | 'expired';
export const FINAL: readonly TaskState[];
export interface Retry { min?: Span; max?: Span; doublings?: number; jitter?: number }
export interface TaskSubmit {
  payload?: Json;
  /** Of a queue that has an endpoint, in place of the payload, with the next five. */
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  body_json?: Json;
  body_base64?: string;
  /** In place of the payload: what is no JSON, and its type. */
  payload_base64?: string;
  content_type?: string;
  /** Limits and fair shares go by it: "tenant7", "tenant7/user42". */
  key?: string;
  /** One task of that name at a time. */
  name?: string;
  idempotency_key?: string;
  priority?: number;
  order?: number;
  delay?: Span;
  at?: number;
  ttl?: Span;
  max_attempts?: number;
  retry?: Retry;
  labels?: string[];
  cost?: number;
  /** A text: that key, while a task of it is not over. */
  unique?: string | { key: string; while?: 'waiting' | 'running' | 'final'; on_conflict?: 'return' | 'replace' | 'reject' };
  result?: 'keep' | 'drop';
  group?: string;
  /** Further queues in which it stands, too, until it is taken from one of them. */
  offer_to?: string[];
  /** The next task of a chain; {"$result": "/pointer"} in its payload is that value of this one's result. */
  then?: TaskSubmit & { queue: string };
  claim?: string;
}
export type TaskMembers = Omit<TaskSubmit, 'payload'>;
export interface Progress {
  /** 0 to 100. */
  percent?: number;
  /** 200 bytes. */
  text?: string;
  /** Any JSON of 1 KiB. */
  data?: Json;
}
export interface Attempt {
  end: string;
  attempt?: number;
  started_at?: number;
  ended_at: number;
  ms?: number;
  status?: number;
  reason?: string;
  retry_at?: number;
}
export interface Task<Result = any> {
  task: string;
  queue: string;
  state: TaskState;
  key?: string;
  priority: number;
  order: number;
  position?: number;
  position_capped?: boolean;
  waiting?: number;
  waiting_capped?: boolean;
  ahead_of_key?: number;
  ahead_of_priority?: number;
  limited_by?: string;
  limited_until?: number;
  eta_s?: number | null;
  eta_reason?: string;
  attempts: number;
  ttl?: number;
  max_attempts?: number;
  cost?: number;
  cost_used?: number;
  retry?: Retry;
  labels?: string[];
  after?: string;
  then?: { state: 'waiting' | 'sent' | 'submitted' | 'failed' | 'ended'; task?: string; why?: string };
  /** What the running attempt says of itself; at: Unix seconds. */
  progress?: Progress & { at: number };
  stopping?: boolean;
  maybe_executed?: boolean;
  entered_at?: number;
  started_at?: number;
  ended_at?: number;
  history?: Attempt[];
  earlier_attempts?: number;
  due_at?: number;
  retry_at?: number;
  lease_expires_at?: number;
  expires_at?: number;
  kind?: 'callback';
  endpoint?: string;
  status?: number;
  content_type?: string;
  /** Absent if it is long or no JSON: client.result(). */
  result?: Result;
  result_length?: number;
  result_sha256?: string;
  result_truncated?: boolean;
  poll_after_ms?: number;
}
/** What watch() hears: the first and the last have more members. */
export type TaskNews = Pick<Task, 'task' | 'state'> & Partial<Task>;
/** A start or an end in a queue. gap: some before it are not known any more; it has no task. */
export type TaskEvent = { id: string; gap: true } |
  { id: string; gap: false; task: string; state: TaskState; attempts: number; at: number };
export interface TaskPatch {
  order?: number;
  delay?: Span;
  at?: number;
  priority?: number;
  labels?: string[];
}
export interface TaskComplete {
  /** "succeeded" if it is not said; "failed": tried again. */
  outcome?: 'succeeded' | 'failed' | 'dead';
  status?: number;
  result?: Json;
  body?: string;
  body_base64?: string;
  reason?: string;
  delay?: Span;
}
export interface TaskCount {
  queue: string;
  waiting: number;
  waiting_capped?: boolean;
  eta_s: number | null;
  eta_reason: string | null;
}
export interface TaskGroup {
  queue: string;
  group: string;
  sealed: boolean;
  over: boolean;
  cancelling?: boolean;
  tasks: number;
  states: Partial<Record<TaskState, number>>;
}
export interface SchedulePut {
  cron?: string;
  zone?: string;
  every?: Span;
  jitter?: Span;
  overlap?: 'allow' | 'skip' | 'cancel_old';
  catch_up?: 'none' | 'last' | 'all';
  catch_up_max?: number;
  from?: number;
  until?: number;
  paused?: boolean;
  /** As taskBody() makes it. */
  task: TaskSubmit;
}
export type Schedule = SchedulePut & Record<string, any>;
/** Of a batch. status 0: no answer; it may be there. */
export interface Row { status: number; task?: string; error?: SegqError }
export type TaskLike = string | { task: string };
export interface CallMembers extends CallOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** How long it may wait for its turn. */
  waitS?: number;
  cost?: number;
  /** Hears of the place in line while events() is read. */
  onProgress?(said: { state: string; position?: number; eta_s?: number | null; [more: string]: any }): void;
  /** Until it begins, and its longest silence (600 s). */
  timeoutMs?: number;
  /** "/v1/route" where the endpoint is a route. */
  base?: string;
}
/** Of a payload or a result that is no JSON. */
export class Bytes {
  constructor(body: Uint8Array, contentType?: string);
  readonly body: Uint8Array;
  readonly contentType: string;
}
/** A submission: a row of submitMany(), the task of a schedule. A payload is JSON, a Uint8Array, or Bytes. */
export function taskBody(payload?: Json, members?: TaskMembers): TaskSubmit;
export function isOver(task: { state: string }): boolean;

/** routers: addresses, any of which will do. */
export class Client {
  constructor(routers: string | string[], options?: ClientOptions);
  readonly transport: Transport;

  /** A place in a line of people. Nothing is asked yet. */
  line(queue: string, options?: LineOptions): Line;
  /** Places in several queues, of which the first turn is taken. */
  several(queues: string[], options?: SeveralOptions): Several;
  /** Joins (or goes on, token), and is over when it is let in: .pass. */
  waitForPass(queue: string, options?: LineOptions & { onTicket?(ticket: Ticket): void }): Promise<Ticket>;
  figures(queue: string, options?: CallOptions): Promise<Record<string, any>>;

  /** waitS: the answer comes with the result, or after so many seconds. */
  submit<R = any>(queue: string, payload?: Json, members?: TaskMembers, options?: CallOptions & { waitS?: number }): Promise<Task<R>>;
  submitMany(queue: string, rows: Iterable<TaskSubmit>, options?: CallOptions): Promise<Row[]>;
  look<R = any>(task: TaskLike, options?: CallOptions): Promise<Task<R>>;
  lookByName<R = any>(queue: string, name: string, options?: CallOptions): Promise<Task<R>>;
  count(queue: string, options?: CallOptions): Promise<TaskCount>;
  /** Until it is over. TaskFailed: without success. */
  wait<R = any>(task: TaskLike, options?: CallOptions): Promise<Task<R>>;
  /** What becomes of it, as it comes; the last one is over. */
  watch(task: TaskLike, options?: CallOptions): AsyncGenerator<TaskNews, void>;
  /** Starts and ends of a queue's tasks, without end; after: the id of one that was heard before. */
  watchQueue(queue: string, options?: { after?: string; signal?: AbortSignal }): AsyncGenerator<TaskEvent, never>;
  /** Byte for byte; undefined: it is not over. ack: deletes it. */
  result(task: TaskLike, options?: CallOptions & { ack?: boolean }): Promise<Answer | undefined>;
  cancel(task: TaskLike, options?: CallOptions & { force?: boolean }): Promise<Record<string, any>>;
  cancelByName(queue: string, name: string, options?: CallOptions & { force?: boolean }): Promise<Record<string, any>>;
  change(task: TaskLike, members: TaskPatch, options?: CallOptions): Promise<Task>;

  group(queue: string, name: string, options?: CallOptions): Promise<TaskGroup>;
  sealGroup(queue: string, name: string, options?: CallOptions): Promise<TaskGroup>;
  cancelGroup(queue: string, name: string, options?: CallOptions): Promise<TaskGroup>;

  putSchedule(queue: string, name: string, members: SchedulePut, options?: CallOptions): Promise<Schedule>;
  schedule(queue: string, name: string, options?: CallOptions): Promise<Schedule>;
  schedules(queue: string, options?: CallOptions): Promise<Schedule[]>;
  runSchedule(queue: string, name: string, options?: CallOptions & { idempotencyKey?: string }): Promise<Record<string, any>>;
  deleteSchedule(queue: string, name: string, options?: CallOptions): Promise<void>;

  /** A request to an endpoint, when its turn has come. Not repeated: give an Idempotency-Key, and repeat it. */
  call(endpoint: string, path: string, members?: CallMembers): Promise<Stream>;
  /** The answer of a task's call, as it comes. */
  follow(task: TaskLike, options?: CallOptions & { timeoutMs?: number }): Promise<Stream>;

  /** As a target that answered `segq-command: pending`; url: its segq-complete-url. */
  complete(url: string, members?: TaskComplete, options?: CallOptions): Promise<Record<string, any>>;
  keep(url: string, lease: Span, options?: CallOptions): Promise<Record<string, any>>;
}
/** At queuemng, with an admin token. */
export class Operator {
  constructor(admin: string, options?: ClientOptions);
  redrive(task: TaskLike, options?: CallOptions): Promise<Record<string, any>>;
  redriveAll(queue: string, options?: CallOptions & { ratePerS?: number }): Promise<Record<string, any>>;
  discard(task: TaskLike, options?: CallOptions): Promise<Record<string, any>>;
}

// ---- workers ----

export interface TaskTaken {
  task: string;
  queue: string;
  lease_id: string;
  attempt: number;
  /** Unix seconds, when it was taken. */
  lease_expires_at: number;
  key?: string;
  payload: any;
  /** In place of it: what is no JSON, and its type. */
  payload_base64?: string;
  content_type?: string;
}
export interface Job<Payload = any> extends TaskTaken {
  payload: Payload;
}
/** A task in a handler's hands. */
export class Job<Payload = any> {
  /** Aborted when it is lost, or given back at the end. */
  readonly signal: AbortSignal;
  /** Cancelled by force, or its lease has ended: another worker may have it. */
  readonly lost: boolean;
  readonly traceparent?: string;
  /** Says how far it is, for looks; the newest word is told, some four times a second. */
  progress(said: Progress): void;
}
/** Thrown by a handler: given back, and tried again after delay. */
export class Nack extends Error {
  constructor(reason?: string, options?: { delay?: Span });
}
export type WorkerEvent = 'taken' | 'started' | 'succeeded' | 'failed' | 'given_back' | 'extended' | 'lost' | 'trouble';
export interface WorkerOptions {
  /** Most handlers at a time (8). */
  concurrency?: number;
  leaseMs?: number;
  waitMs?: number;
  /** So many are taken ahead. */
  prefetch?: number;
  /** At the end, for what runs (25 s). */
  drainMs?: number;
  /** For metrics and traces; job is undefined for "trouble". */
  onEvent?(name: WorkerEvent, job: Job | undefined, info: { error?: any; status?: number; code?: string }): void;
  /** Ends it, as stop() does. */
  signal?: AbortSignal;
}
export type Handler<Payload = any> = (job: Job<Payload>) => unknown;
export class Worker<Payload = any> {
  constructor(client: Client, queues: string | string[], handler: Handler<Payload>, options?: WorkerOptions);
  readonly counts: Readonly<Partial<Record<WorkerEvent, number>>>;
  /** Until stop(), the signal, SIGTERM or SIGINT (signals: false: not those). */
  run(options?: { signals?: boolean }): Promise<void>;
  stop(drainMs?: number): void;
}
/** new Worker(...).run(). */
export function run<Payload = any>(client: Client, queues: string | string[], handler: Handler<Payload>,
  options?: WorkerOptions & { signals?: boolean }): Promise<void>;

// ---- at the door ----

export interface Pass {
  readonly queue: string;
  readonly ticket: string;
  readonly subject: string;
  readonly lane: string;
  readonly issued_at: number;
  readonly expires_at: number;
  readonly claims: Readonly<Record<string, any>>;
}
/** What a router says of a request. */
export interface Verdict {
  queue: string;
  /** No pass, but a rule lets it past the room. */
  bypass?: string;
  ticket?: string;
  subject?: string;
  lane?: string;
  expires_at?: number;
  /** The pass was renewed: for the visitor. */
  setCookie?: string;
  newPass?: string;
}
export interface GateOptions {
  /** How far clocks may differ (30 s). */
  leewayMs?: number;
  ask?: 'always' | 'renew' | 'never';
  timeoutMs?: number;
  /** Another address of this site that has the waiting page; visitors come back there. */
  room?: string;
  /** As in gate_secret_file of the routers. */
  secret?: string;
  fetch?: typeof fetch;
}
export type Decision = { status?: undefined; pass: Pass | Verdict; headers: [string, string][] } |
  { status: number; pass?: undefined; headers: [string, string][]; body: string };
export class Gate {
  constructor(routers: string | string[] | Client, queue: string, options?: GateOptions);
  /** Of what it cannot tell anybody else. */
  onTrouble?: (e: unknown) => void;
  /** By the published keys: no router is asked. */
  check(token: string, options?: { method?: string; path?: string }): Promise<Pass>;
  verify(token?: string, options?: CallOptions & { headers?: Record<string, string>; once?: boolean }): Promise<Verdict>;
  /** "release"; "revoke", "extend", "extend=600" need `secret`. */
  session(token: string, command: string, options?: CallOptions): Promise<void>;
  decide(method: string, uri: string, headers: Record<string, any>): Promise<Decision>;
  /** Middleware of Express, Connect, node:http: request.segq is the Pass or Verdict. */
  express(): (request: any, response: any, next: (e?: unknown) => void) => void;
  /** For servers of Request and Response. */
  fetch<Rest extends unknown[]>(handler: (request: Request, pass: Pass | Verdict, ...rest: Rest) => Response | Promise<Response>):
    (request: Request, ...rest: Rest) => Promise<Response>;
}
/** For a lane: aud, lane, sub, replaces; for a task: queues, jti, key, priority. */
export function signClaim(secret: string, members: Record<string, any>, options?: { kid?: string; ttlS?: number; alg?: 'HS256' | 'EdDSA' }): string;

// ---- calls that segq sends ----

/** keys: secrets (whsec_) and public keys (whpk_), old and new. */
export class Webhook {
  constructor(keys: string | string[], options?: { toleranceMs?: number });
  /** Returns webhook-id, the same in each attempt; SignatureInvalid. */
  verify(headers: Headers | Record<string, string | string[] | undefined>, body: string | Uint8Array): string;
}
