"""The running and waiting tasks of each chat, so that a person can cancel them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn


class TaskCancelledError(Exception):
    """A person cancelled the task; the executor confirms it in the chat."""


@dataclass(eq=False, slots=True)
class ChatTask:
    """One task of a chat."""

    chat: str
    id: str
    task: "asyncio.Task[object]"
    cancelled: bool = False


class ChatTasks:
    """The chat tasks of this process."""

    def __init__(self) -> None:
        self._tasks: list[ChatTask] = []

    def __len__(self) -> int:
        return len(self._tasks)

    @contextmanager
    def running(self, chat: str, id: str) -> Iterator[ChatTask]:
        """Register the block as a task; `cancel` ends it with TaskCancelledError."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a chat task needs an asyncio task")
        job = ChatTask(chat, id, task)
        self._tasks.append(job)
        try:
            yield job
        except asyncio.CancelledError:
            # The shutdown of the program may have cancelled the asyncio task as well.
            if not job.cancelled or task.uncancel() > 0:
                raise
            raise TaskCancelledError from None
        except Exception:
            if not job.cancelled:
                raise
            _end(task)
        else:
            if job.cancelled:
                _end(task)
        finally:
            self._tasks.remove(job)

    def ids(self, chat: str) -> list[str]:
        return [job.id for job in self._tasks if job.chat == chat]

    def cancel(self, chat: str, id: str = "") -> int:
        """Cancel all tasks of the chat, or the one with `id`; return the number of cancelled tasks."""
        chosen = [j for j in self._tasks if j.chat == chat and id in ("", j.id) and not j.cancelled]
        for job in chosen:
            job.cancelled = True
            job.task.cancel()
        return len(chosen)


def _end(task: "asyncio.Task[object]") -> NoReturn:
    """End a block that swallowed its cancellation: the person was told that it is cancelled."""
    task.uncancel()
    raise TaskCancelledError from None
