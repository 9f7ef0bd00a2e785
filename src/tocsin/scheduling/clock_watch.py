"""Notice that the wall clock jumped, or that the machine slept, while a process ran."""

from tocsin.core.time.clock import Clock

JUMP_S = 60.0


class ClockWatch:
    """Compares the wall clock with the monotonic one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: tuple[float, float] | None = None  # wall time and monotonic time at the last look

    def reset(self) -> None:
        """Forget the last look, so that the next one starts anew."""
        self._seen = None

    def jump(self) -> float:
        """Return by how many seconds the wall clock jumped since the last look; 0 for less than a minute."""
        now, passed = self._clock.now(), self._clock.monotonic()
        before, self._seen = self._seen, (now, passed)
        if before is None:
            return 0.0
        jump = (now - before[0]) - (passed - before[1])
        return jump if abs(jump) > JUMP_S else 0.0
