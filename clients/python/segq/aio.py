"""asyncio: the same client, whose calls are made by threads beside the loop (one for each that is
under way). A call that is cancelled ends at once, its connection with it. A Worker takes coroutine
functions as handlers by itself: `await Worker(...).run_async()`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
from typing import Any, AsyncIterator, Callable, Iterable, Iterator, List, Mapping, Optional, Sequence, TypeVar

from .client import Client
from .people import Line, Several, Ticket
from .scope import Scope
from .tasks import Row, Task, TaskEvent, TaskLike
from .transport import Answer, Stream

T = TypeVar("T")
_END: Any = object()


class _Threads:
    """Runs plain calls; a cancelled one is cut off."""

    def __init__(self, most: int) -> None:
        self.pool = concurrent.futures.ThreadPoolExecutor(most, thread_name_prefix="segq-aio")

    async def run(self, f: Callable[..., T], *args: Any, scope: Optional[Scope] = None, **more: Any) -> T:
        mine = scope or Scope()

        def go() -> T:
            with mine:
                return f(*args, **more)
        future = asyncio.get_running_loop().run_in_executor(self.pool, contextvars.copy_context().run, go)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            mine.cancel()
            future.add_done_callback(lambda f: f.cancelled() or f.exception())
            raise

    async def each(self, what: Iterator[T]) -> AsyncIterator[T]:
        scope = Scope()
        try:
            while True:
                item = await self.run(next, what, _END, scope=scope)
                if item is _END:
                    return
                yield item
        finally:
            scope.cancel()


class AsyncLine:
    """A Line: `async for ticket in line`, or `await line.wait()`."""

    def __init__(self, line: Line, threads: _Threads) -> None:
        self.sync, self._threads = line, threads

    def __aiter__(self) -> AsyncIterator[Ticket]:
        return self._threads.each(iter(self.sync))

    async def wait(self, on_ticket: Optional[Callable[[Ticket], Any]] = None) -> Ticket:
        async for t in self:
            if on_ticket is not None:
                on_ticket(t)
        assert self.sync.ticket is not None
        return self.sync.ticket

    async def leave(self) -> None:
        await self._threads.run(self.sync.leave)

    @property
    def token(self) -> Optional[str]:
        return self.sync.token

    @property
    def device(self) -> Optional[str]:
        return self.sync.device

    @property
    def ticket(self) -> Optional[Ticket]:
        return self.sync.ticket


class AsyncSeveral:
    """A Several: `async for places in several`."""

    def __init__(self, several: Several, threads: _Threads) -> None:
        self.sync, self._threads = several, threads

    def __aiter__(self) -> AsyncIterator[Mapping[str, Any]]:
        return self._threads.each(iter(self.sync))

    async def leave(self) -> None:
        await self._threads.run(self.sync.leave)


class AsyncStream:
    """A Stream: `async with`, then `async for` over pieces(), lines(), events()."""

    def __init__(self, stream: Stream, threads: _Threads) -> None:
        self.sync, self._threads = stream, threads
        self.status, self.headers = stream.status, stream.headers

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.sync.close()

    async def read(self) -> Answer:
        return await self._threads.run(self.sync.read)

    def pieces(self) -> AsyncIterator[bytes]:
        return self._threads.each(self.sync.pieces())

    def lines(self) -> AsyncIterator[str]:
        return self._threads.each(self.sync.lines())

    def events(self) -> AsyncIterator[Any]:
        return self._threads.each(self.sync.events())


class AsyncClient:
    """Client for asyncio: the same arguments, and `threads`, the most calls at a time."""

    def __init__(self, *args: Any, threads: int = 64, **options: Any) -> None:
        self.sync = Client(*args, **options)
        self.transport = self.sync.transport
        self._threads = _Threads(threads)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        self.sync.close()
        self._threads.pool.shutdown(wait=False)

    def line(self, queue: str, **options: Any) -> AsyncLine:
        return AsyncLine(self.sync.line(queue, **options), self._threads)

    def several(self, queues: Sequence[str] = (), **options: Any) -> AsyncSeveral:
        return AsyncSeveral(self.sync.several(queues, **options), self._threads)

    async def wait_for_pass(self, queue: str, on_ticket: Optional[Callable[[Ticket], Any]] = None,
                            **options: Any) -> Ticket:
        return await self.line(queue, **options).wait(on_ticket)

    async def figures(self, queue: str) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.figures, queue)

    async def submit(self, queue: str, payload: Any = None, **members: Any) -> Task:
        return await self._threads.run(self.sync.submit, queue, payload, **members)

    async def submit_many(self, queue: str, rows: Iterable[Mapping[str, Any]]) -> List[Row]:
        return await self._threads.run(self.sync.submit_many, queue, rows)

    async def look(self, task: TaskLike) -> Task:
        return await self._threads.run(self.sync.look, task)

    async def look_by_name(self, queue: str, name: str) -> Task:
        return await self._threads.run(self.sync.look_by_name, queue, name)

    async def count(self, queue: str) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.count, queue)

    async def wait(self, task: TaskLike, timeout: Optional[float] = None) -> Task:
        return await self._threads.run(self.sync.wait, task, timeout)

    def watch(self, task: TaskLike) -> AsyncIterator[Task]:
        return self._threads.each(self.sync.watch(task))

    def watch_queue(self, queue: str, *, after: Optional[str] = None) -> AsyncIterator[TaskEvent]:
        return self._threads.each(self.sync.watch_queue(queue, after=after))

    async def result(self, task: TaskLike, *, ack: bool = False) -> Optional[Answer]:
        return await self._threads.run(self.sync.result, task, ack=ack)

    async def cancel(self, task: TaskLike, *, force: bool = False) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.cancel, task, force=force)

    async def cancel_by_name(self, queue: str, name: str, *, force: bool = False) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.cancel_by_name, queue, name, force=force)

    async def change(self, task: TaskLike, **members: Any) -> Task:
        return await self._threads.run(self.sync.change, task, **members)

    async def group(self, queue: str, name: str) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.group, queue, name)

    async def seal_group(self, queue: str, name: str) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.seal_group, queue, name)

    async def cancel_group(self, queue: str, name: str) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.cancel_group, queue, name)

    async def put_schedule(self, queue: str, name: str, task: Mapping[str, Any], **members: Any) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.put_schedule, queue, name, task, **members)

    async def schedule(self, queue: str, name: str) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.schedule, queue, name)

    async def schedules(self, queue: str) -> List[Mapping[str, Any]]:
        return await self._threads.run(self.sync.schedules, queue)

    async def run_schedule(self, queue: str, name: str, *, idempotency_key: Optional[str] = None) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.run_schedule, queue, name, idempotency_key=idempotency_key)

    async def delete_schedule(self, queue: str, name: str) -> None:
        await self._threads.run(self.sync.delete_schedule, queue, name)

    async def follow(self, task: TaskLike, *, timeout: float = 600.0) -> AsyncStream:
        return AsyncStream(await self._threads.run(self.sync.follow, task, timeout=timeout), self._threads)

    async def complete(self, url: str, outcome: str = "succeeded", **members: Any) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.complete, url, outcome, **members)

    async def keep(self, url: str, lease: Any) -> Mapping[str, Any]:
        return await self._threads.run(self.sync.keep, url, lease)

    async def call(self, endpoint: str, path: str, body: Optional[bytes] = None, **options: Any) -> AsyncStream:
        return AsyncStream(await self._threads.run(self.sync.call, endpoint, path, body, **options), self._threads)
