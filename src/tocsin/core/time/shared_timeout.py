"""One timeout for many tasks that rarely reach it, with one timer for all of them.

`asyncio.timeout` starts and cancels a timer for each, which takes a twentieth of the processor time of a send
(docs/decisions/0047-what-a-send-costs.md).
"""

import asyncio
from types import TracebackType


class SharedTimeout:
    """Creates timeouts of equal length within one event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ends: dict[TimeLimit, float] = {}  # in order of expiry
        self._timer: asyncio.TimerHandle | None = None

    def limit(self, more_s: float = 0.0) -> "TimeLimit":
        """Return the timeout of one task; `with shared.limit():` replaces `asyncio.timeout`.

        A timeout that is longer by `more_s` has a timer of its own.
        """
        return TimeLimit(SharedTimeout(self._seconds + more_s) if more_s else self)

    def begin(self, limit: "TimeLimit", loop: asyncio.AbstractEventLoop) -> None:
        """Make `limit` expire when its time is over."""
        if loop is not self._loop:  # the previous loop has ended, and its timers with it
            self._loop, self._timer = loop, None
            self._ends.clear()
        self._ends[limit] = end = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_at(end, self._look, loop)

    def end(self, limit: "TimeLimit") -> None:
        """Remove `limit`. The timer stays for later ones."""
        self._ends.pop(limit, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer, now = None, loop.time()
        for limit, end in list(self._ends.items()):
            if end > now:
                self._timer = loop.call_at(end, self._look, loop)
                return
            del self._ends[limit]
            limit.expire()


class TimeLimit:
    """The timeout of one task; when it is over, the task is cancelled and TimeoutError is raised."""

    __slots__ = ("_cancelling", "_expired", "_shared", "_task")

    def __init__(self, shared: SharedTimeout) -> None:
        self._shared = shared
        self._expired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a time limit needs a task that it can cancel")
        self._task, self._cancelling = task, task.cancelling()
        self._shared.begin(self, task.get_loop())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._shared.end(self)
        # As in asyncio.timeout: a task that was also cancelled from elsewhere stays cancelled.
        if self._expired and self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the task, because its time is over."""
        self._expired = True
        self._task.cancel()
