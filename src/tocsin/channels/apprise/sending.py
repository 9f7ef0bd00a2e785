"""The processes that use the library. Each sends one message at a time, so that one that hangs concerns no other."""

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from tocsin.channels.apprise.outcomes import not_started, unknown
from tocsin.core.config.settings import network_environment
from tocsin.core.errors import ProcessError
from tocsin.core.http.departure import note_departure
from tocsin.core.process.starting import ProcessTimeoutError
from tocsin.core.process.worker import WorkerEndedError, WorkerPool

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


class AppriseProcesses:
    """Asks the library, by `child`."""

    program: ClassVar[tuple[str, ...]] = (sys.executable, "-I", "-m", "tocsin.channels.apprise.child")
    answer_s: ClassVar[float] = 45.0  # below the limit of a send; the first use of the library takes 2 s
    idle_s: ClassVar[float] = 60.0

    def __init__(self) -> None:
        environment = {**_ENVIRONMENT, **network_environment()}
        self.pool = WorkerPool(self.program, environment, size=4, idle_s=self.idle_s, wait_s=10.0)

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
        except ProcessTimeoutError:
            raise unknown(f"the service has not answered within {self.answer_s:g} s") from None
        except WorkerEndedError as error:
            raise unknown(str(error)) from None
        except ProcessError as error:
            raise not_started(str(error)) from None
