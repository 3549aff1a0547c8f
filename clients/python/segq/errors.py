"""Exceptions: one tree. `SegqError` is its root; an answer of segq that refuses is an `ApiError`
with `status`, `code`, `detail` (proto/openapi.yaml, Problem); `NetworkError` means that there was
no answer that could be used, `Cancelled` and `DeadlineExceeded` that the caller's scope ended.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Type


class SegqError(Exception):
    """Root of all that this package raises."""

    status: Optional[int] = None
    code: str = ""
    detail: str = ""


class NetworkError(SegqError):
    """No router gave an answer that could be read: refused, timed out, broken off, no JSON."""

    code = "no_answer"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Cancelled(SegqError):
    """The scope of the call was cancelled."""

    code = "cancelled"


class DeadlineExceeded(SegqError):
    """The scope of the call has no time left."""

    code = "deadline"


class ApiError(SegqError):
    """A refusal, as segq said it. `problem` has all its members."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: Optional[float] = None):
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code") or "")
        self.detail = str(problem.get("detail") or problem.get("message") or problem.get("title") or "")
        self.request_id = str(problem.get("request_id") or "")
        self.retry_after = retry_after
        super().__init__(f"{status} {self.code}: {self.detail}")


class BadRequest(ApiError):
    """400, 405, 413, 414, 415, 422, 431: the request itself is wrong; asking again does not help."""


class Unauthorized(ApiError):
    """401: no token, or one that is not known."""


class Forbidden(ApiError):
    """403: the token is not for this; the queue is closed; a claim is not good (`detail`)."""


class NotFound(ApiError):
    """404: no such queue, ticket, task, schedule, endpoint (`code`)."""


class Conflict(ApiError):
    """409: another lease, another state, a unique key that is taken."""


class ChallengeRequired(ApiError):
    """428: the join costs some work (`problem["challenge"]`); `Line` does it."""


class TooFast(ApiError):
    """429: too many requests, or (`wait_too_long`) a line that is too long."""


class Unavailable(ApiError):
    """503 and 5xx: try again after `retry_after`. Nothing was done."""


class OutcomeUnknown(Unavailable):
    """503 `outcome_unknown`: it may have been done."""


class Gone(ApiError):
    """410."""


class TaskGone(Gone):
    """410 `task_gone`: the task is kept no longer."""


class TicketGone(Gone):
    """410 `ticket_gone`: the place is gone; a subclass says why (`reason`)."""

    reason = "unknown"


class TicketExpired(TicketGone):
    """Nobody asked about the ticket for too long."""

    reason = "expired"


class TicketLeft(TicketGone):
    """Its owner has left the line."""

    reason = "left"


class TicketNoShow(TicketGone):
    """Its turn came, and nobody collected the pass."""

    reason = "no_show"


class TicketFinished(TicketGone):
    """Its session is over."""

    reason = "finished"


class TicketLost(TicketGone):
    """Its segment was lost (`segment_lost`): join again."""

    reason = "segment_lost"


class TicketUnknown(NotFound, TicketGone):
    """404 `ticket_unknown`: a token that no router knows: malformed, or of another cluster."""

    reason = "unknown"


class PassInvalid(SegqError):
    """A pass that opens nothing; `code` says why in one word."""

    status = 401

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class PassExpired(PassInvalid):
    """A pass that was good once."""


class PassNotYetValid(PassInvalid):
    """A pass from the future: one of the two clocks is wrong."""


class SignatureInvalid(SegqError):
    """A webhook that nobody whom we know has signed, or that is too old."""

    status = 401
    code = "signature_invalid"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class TaskFailed(SegqError):
    """A task that was waited for ended without success: `task` has its state and history."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.task = dict(task)
        self.code = str(task.get("state") or "")
        history = task.get("history") or [{}]
        self.detail = str(history[-1].get("reason") or history[-1].get("end") or "")
        super().__init__(f"task {self.code}: {self.detail}")


_GONE: Dict[str, Type[TicketGone]] = {
    c.reason: c for c in (TicketExpired, TicketLeft, TicketNoShow, TicketFinished, TicketLost)
}
_STATUS: Dict[int, Type[ApiError]] = {
    401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 428: ChallengeRequired, 429: TooFast,
}


def error_of(status: int, problem: Mapping[str, Any], retry_after: Optional[float] = None) -> ApiError:
    """The exception of an answer with this status and this body."""
    code = problem.get("code")
    cls: Type[ApiError]
    if status == 410:
        cls = TaskGone if code == "task_gone" else _GONE.get(str(problem.get("reason")), TicketGone)
    elif code == "ticket_unknown":
        cls = TicketUnknown
    elif status >= 500:
        cls = OutcomeUnknown if code == "outcome_unknown" else Unavailable
    else:
        cls = _STATUS.get(status, BadRequest)
    return cls(status, problem, retry_after)
