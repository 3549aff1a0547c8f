"""segq: a waiting room for sudden crowds, and a line for requests. Its client for Python.

People: `Client.line`, `Client.wait_for_pass`. Servers: `Gate`, `sign_claim`. Requests: `Client.submit`,
`Client.wait`, `Client.call`. Workers: `Worker`. Receivers of calls: `Webhook`. asyncio: `AsyncClient`.
"""

from .aio import AsyncClient, AsyncLine, AsyncSeveral, AsyncStream
from .client import Client
from .errors import *  # noqa: F401,F403
from .gate import Gate, Pass, Verdict, sign_claim
from .people import Line, Several, Ticket
from .proof import DeviceKey
from .scope import Scope
from .tasks import Operator, Row, Task, TaskEvent, task_body, traceparent
from .transport import VERSION as __version__
from .transport import Answer, Stream
from .webhooks import Webhook
from .worker import Bytes, Job, Nack, Worker

__all__ = [
    "Bytes",
    "Answer", "AsyncClient", "AsyncLine", "AsyncSeveral", "AsyncStream", "Client", "Gate", "Job", "Line", "Nack", "Operator",
    "Pass", "Row", "Scope", "Several", "Stream", "Task", "TaskEvent", "Ticket", "Verdict", "Webhook", "Worker", "__version__",
    "sign_claim", "task_body", "traceparent",
    "ApiError", "BadRequest", "Cancelled", "ChallengeRequired", "Conflict", "DeadlineExceeded", "Forbidden", "Gone", "NetworkError",
    "NotFound", "OutcomeUnknown", "PassExpired", "PassInvalid", "PassNotYetValid", "SegqError",
    "SignatureInvalid", "TaskFailed", "TaskGone", "TicketExpired", "TicketFinished", "TicketGone", "TicketLeft",
    "TicketLost", "TicketNoShow", "TicketUnknown", "TooFast", "Unauthorized", "Unavailable",
]
