"""Client: all of segq that a program asks, over connections that are kept."""

from __future__ import annotations

import ssl
from typing import Any, Callable, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from .people import Line, Several, Ticket
from .tasks import Tasks
from .transport import Transport


class Client(Tasks):
    """routers: addresses, any of which will do. token: of a server that submits or takes tasks;
    people's calls never send it. timeout: of one whole answer; retry_for: how long a call is
    tried again, all tries together. Threads may share a client."""

    def __init__(self, routers: Union[str, Sequence[str]], token: Optional[str] = None, *,
                 timeout: float = 10.0, retry_for: float = 60.0,
                 context: Optional[ssl.SSLContext] = None,
                 headers: Optional[Mapping[str, str]] = None) -> None:
        self.transport = Transport(routers, token, timeout=timeout, retry_for=retry_for,
                                   context=context, headers=headers)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are kept."""
        self.transport.close()

    def line(self, queue: str, **options: Any) -> Line:
        """A place in a line of people: options of Line. Nothing is asked yet."""
        return Line(self.transport, queue, **options)

    def several(self, queues: Sequence[str] = (), **options: Any) -> Several:
        """Places in several queues, of which the first turn is taken: options of Several. Nothing is asked yet."""
        return Several(self.transport, queues, **options)

    def wait_for_pass(self, queue: str, on_ticket: Optional[Callable[[Ticket], Any]] = None,
                      **options: Any) -> Ticket:
        """Joins (or goes on, token=), and returns when it is let in: `.pass_`."""
        return self.line(queue, **options).wait(on_ticket)

    def figures(self, queue: str) -> Mapping[str, Any]:
        """A queue's figures (Queue of proto/openapi.yaml)."""
        return self.transport.ask("GET", f"/v1/queues/{quote(queue, safe='')}",
                                   headers={"Authorization": ""})
