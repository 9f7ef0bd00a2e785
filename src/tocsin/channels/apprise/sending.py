"""The processes that use the library. Each sends one message at a time, so that one that hangs concerns no other."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from tocsin.channels.apprise.outcomes import check_sent, not_started, service_of, unknown
from tocsin.channels.attached import AttachedFile
from tocsin.core.config.settings import network_environment
from tocsin.core.http.departure import note_departure
from tocsin.core.process.starting import ProcessTimeoutError
from tocsin.core.process.worker import WorkerEndedError, WorkerNotReadyError, WorkerPool

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


class AppriseProcesses:
    """Asks the library, by `child`."""

    program: ClassVar[tuple[str, ...]] = (sys.executable, "-I", "-m", "tocsin.channels.apprise.child")
    answer_s: ClassVar[float] = 45.0  # below the limit of a send
    idle_s: ClassVar[float] = 60.0

    def __init__(self) -> None:
        environment = {**_ENVIRONMENT, **network_environment()}
        self.pool = WorkerPool(self.program, environment, size=4, idle_s=self.idle_s, start_s=45.0)

    async def send(self, url: str, body: Mapping[str, Any], files: Sequence[AttachedFile]) -> str:
        """Return the name of the service that has taken a message; raise ChannelError."""
        async with stored_files(files) as stored:
            return check_sent(await self.ask({"do": "send", "url": url, "files": stored, **body}))

    async def check(self, url: str) -> str:
        """Return the name of the service of an address; raise ChannelError."""
        return service_of(await self.ask({"do": "check", "url": url}))

    async def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a request; raise ChannelError."""
        note_departure(possible=False)
        try:
            async with self.pool.lend() as worker:
                note_departure(possible=True)
                answer: Mapping[str, Any] = await worker.ask(request, self.answer_s)
                # A failure without an explanation may be one of memory; a missing library may be installed soon.
                worker.spent = "missing" in answer or bool(answer.get("left") and not answer["codes"])
                return answer
        except WorkerNotReadyError as error:
            raise not_started(str(error)) from None
        except ProcessTimeoutError:
            raise unknown(f"the service has not answered within {self.answer_s:g} s") from None
        except WorkerEndedError as error:
            raise unknown(str(error)) from None


@asynccontextmanager
async def stored_files(files: Sequence[AttachedFile]) -> AsyncIterator[list[dict[str, str]]]:
    """Write files where the process can read them, and delete them afterwards; yield path, name and type of each."""
    if not files:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="tocsin-apprise-") as folder:
        found = []
        for number, file in enumerate(files):
            path = Path(folder, str(number))
            async for block in file.blocks():
                await asyncio.to_thread(_append, path, block)
            found.append({"path": str(path), "name": file.name, "type": file.type})
        yield found


def _append(path: Path, block: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(block)
