// errors.mjs: one tree. `SegqError` is its root; an answer of segq that refuses is an `ApiError` with
// `status`, `code`, `detail` (proto/openapi.yaml, Problem); `NetworkError`: no answer that could be used.
// Who aborts a call by its `signal` gets that signal's reason.

export class SegqError extends Error {
  constructor(message, members) {
    super(message);
    this.name = new.target.name;
    Object.assign(this, members);
  }
}

/** No router gave an answer that could be read: refused, timed out, broken off, no JSON. */
export class NetworkError extends SegqError {
  constructor(detail, cause) {
    super(detail, { code: 'no_answer', detail });
    if (cause !== undefined) this.cause = cause;
  }
}

/** A refusal, as segq said it; `problem` has all its members, `retryAfterMs` what Retry-After says. */
export class ApiError extends SegqError {
  constructor(status, problem, retryAfterMs) {
    const detail = String(problem.detail || problem.message || problem.title || '');
    super(`${status} ${problem.code || ''}: ${detail}`, {
      status, problem, code: String(problem.code || ''), detail, requestId: problem.request_id, retryAfterMs,
    });
  }
}

/** 400, 405, 413, 414, 415, 422, 431: the request itself is wrong; asking again does not help. */
export class BadRequest extends ApiError {}
/** 401: no token, or one that is not known. */
export class Unauthorized extends ApiError {}
/** 403: the token is not for this; the queue is closed; a claim is not good. */
export class Forbidden extends ApiError {}
/** 404: no such queue, task, schedule, endpoint (`code`). */
export class NotFound extends ApiError {}
/** 409: another lease, another state, a unique key that is taken. */
export class Conflict extends ApiError {}
/** 428: the join costs some work (`problem.challenge`); `Line` does it. */
export class ChallengeRequired extends ApiError {}
/** 429: too many requests, or (`wait_too_long`) a line that is too long. */
export class TooFast extends ApiError {}
/** 503 and 5xx: try again after `retryAfterMs`. Nothing was done. */
export class Unavailable extends ApiError {}
/** 503 `outcome_unknown`: it may have been done. */
export class OutcomeUnknown extends Unavailable {}
/** 410 `task_gone`: the task is kept no longer. */
export class TaskGone extends ApiError {}

/** 410 `ticket_gone`: the place is gone; a subclass says why (`reason`). */
export class TicketGone extends ApiError {
  static reason = 'unknown';
  constructor(status, problem, retryAfterMs) {
    super(status, problem, retryAfterMs);
    this.reason = new.target.reason;
  }
}
/** Nobody asked about the ticket for too long. */
export class TicketExpired extends TicketGone { static reason = 'expired'; }
/** Its owner has left the line. */
export class TicketLeft extends TicketGone { static reason = 'left'; }
/** Its turn came, and nobody collected the pass. */
export class TicketNoShow extends TicketGone { static reason = 'no_show'; }
/** Its session is over. */
export class TicketFinished extends TicketGone { static reason = 'finished'; }
/** Its segment was lost: join again. */
export class TicketLost extends TicketGone { static reason = 'segment_lost'; }
/** 404 `ticket_unknown`: a token that no router knows: malformed, or of another cluster. */
export class TicketUnknown extends TicketGone {}

/** A pass that opens nothing; `code` says why in one word. */
export class PassInvalid extends SegqError {
  constructor(code, detail) { super(`${code}: ${detail}`, { status: 401, code, detail }); }
}
/** A pass that was good once. */
export class PassExpired extends PassInvalid {}
/** A pass from the future: one of the two clocks is wrong. */
export class PassNotYetValid extends PassInvalid {}

/** A webhook that nobody whom we know has signed, or that is too old. */
export class SignatureInvalid extends SegqError {
  constructor(detail) { super(detail, { status: 401, code: 'signature_invalid', detail }); }
}

/** A task that was waited for ended without success: `task` has its state and history. */
export class TaskFailed extends SegqError {
  constructor(task) {
    const last = (task.history || []).at(-1) || {};
    const detail = String(last.reason || last.end || '');
    super(`task ${task.state}: ${detail}`, { task, code: String(task.state || ''), detail });
  }
}

export const GONE = Object.fromEntries(
  [TicketExpired, TicketLeft, TicketNoShow, TicketFinished, TicketLost].map(c => [c.reason, c]));
const STATUS = { 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 428: ChallengeRequired, 429: TooFast };
const own = (table, name) => Object.hasOwn(table, name) ? table[name] : undefined;

/** The exception of an answer with this status and this body. */
export function errorOf(status, problem, retryAfterMs) {
  const { code, reason } = problem;
  let c = own(STATUS, status) || BadRequest;
  if (status === 410) c = code === 'task_gone' ? TaskGone : own(GONE, reason) || TicketGone;
  else if (code === 'ticket_unknown') c = TicketUnknown;
  else if (status >= 500) c = code === 'outcome_unknown' ? OutcomeUnknown : Unavailable;
  return new c(status, problem, retryAfterMs);
}
