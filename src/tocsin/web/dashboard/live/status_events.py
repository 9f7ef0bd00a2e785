"""Events of state changes of subsystems, services or the whole program."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tocsin.core.time.clock import Clock

STATUS = "status"
EVERY_S = 5.0
# Without changed records, states change for external reasons, such as a provider or a disk.
QUIET_EVERY_S = 30.0


class StatusEvents:
    """Compares the status with the previous one."""

    every_s = EVERY_S

    def __init__(self, document: Callable[[], Awaitable[Mapping[str, Any]]], clock: Clock) -> None:
        """`document` returns the status in the form that the dashboard shows."""
        self._document = document
        self._clock = clock
        self._states: Mapping[str, object] = {}
        self._looked_at = 0.0
        self._seen = -1

    def forget(self) -> None:
        """Reset the state: there is no listener."""
        self._states, self._seen = {}, -1

    async def changed(self, end: int) -> Mapping[str, Any] | None:
        """Return the status if any state has changed since the last call; `end` numbers the last record change."""
        now = self._clock.monotonic()
        if self._states and end == self._seen and now - self._looked_at < QUIET_EVERY_S:
            return None
        self._seen, self._looked_at = end, now
        found = await self._document()
        states, before = _states(found), self._states
        self._states = states
        return found if before and states != before else None


def _states(document: Mapping[str, Any]) -> dict[str, object]:
    return {
        "status": document["status"],
        **{name: subsystem["status"] for name, subsystem in document["subsystems"].items()},
        **{f"service {service['name']}": service["status"] for service in document["services"]},
        "attention": [item["message"] for item in document["attention"]],
    }
