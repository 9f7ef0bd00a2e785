"""Track the state of receiving, for `/health`, `status` and the log, and notify the admin of long outages."""

import logging
from dataclasses import dataclass
from enum import StrEnum

from tocsin.channels.conversation import TellAdmin
from tocsin.core.service import StopEvent
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

NOTIFY_AFTER_S = 300.0
NOTIFY_AGAIN_S = 60.0  # after the message to the admin could not be queued
# A recovery shorter than this does not end an outage, for example while two programs compete for a token.
CALM_S = 60.0


class ReceiveStatus(StrEnum):
    """The state of receiving."""

    STARTING = "starting"  # no result yet
    OK = "ok"
    CONFLICT = "conflict"  # another program uses the same token
    FAILING = "failing"  # is retried automatically
    LOCKED = "locked"  # another process on this machine receives
    STOPPED = "stopped"  # not running, or unusable until a setting changes


BAD = frozenset({ReceiveStatus.CONFLICT, ReceiveStatus.FAILING, ReceiveStatus.STOPPED})


@dataclass(frozen=True, slots=True)
class ReceivingState:
    """A snapshot of the state; `problem` is one sentence for the operator."""

    mode: str  # polling, webhook
    status: ReceiveStatus
    problem: str = ""
    age_s: float | None = None  # since the last completed poll or webhook check
    pending: int | None = None  # updates waiting at the provider, if known

    @property
    def is_healthy(self) -> bool:
        """Whether the operator has nothing to do."""
        return self.status not in BAD

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-compatible values."""
        return {
            "mode": self.mode,
            "status": str(self.status),
            "problem": self.problem,
            "age_s": None if self.age_s is None else round(self.age_s, 1),
            "pending": self.pending,
        }


class Liveness:
    """Tracks the state, logs changes, and notifies the admin once per outage."""

    def __init__(self, mode: str, clock: Clock, tell_admin: TellAdmin) -> None:
        self.pending: int | None = None
        self._mode = mode
        self._clock = clock
        self._tell_admin = tell_admin
        self._status = ReceiveStatus.STARTING
        self._problem = ""
        self._well_at: float | None = None  # monotonic, like all times below
        self._bad_since: float | None = None  # start of the outage
        self._bad_at = 0.0
        self._notify_at: float | None = None
        self._notified = False
        self._logged: set[ReceiveStatus] = set()

    @property
    def state(self) -> ReceivingState:
        """The current state."""
        age_s = None if self._well_at is None else self._clock.monotonic() - self._well_at
        return ReceivingState(self._mode, self._status, self._problem, age_s, self.pending)

    def start(self) -> None:
        """Record that receiving starts and its state is unknown."""
        self._status, self._problem = ReceiveStatus.STARTING, ""

    async def record_success(self) -> None:
        """Record a success; an outage ends after `CALM_S` without a failure."""
        self._well_at = now = self._clock.monotonic()
        self._status, self._problem = ReceiveStatus.OK, ""
        if self._bad_since is None or now - self._bad_at < CALM_S:
            return
        log.info("the bot receives messages again", extra={"mode": self._mode})
        minutes = _minutes(self._bad_at - self._bad_since)
        if self._notified and not await self._notify(f"I can receive messages again, after {minutes}."):
            return  # retried after the next success
        self._bad_since, self._notify_at, self._notified = None, None, False
        self._logged.clear()

    async def record_failure(self, status: ReceiveStatus, problem: str) -> None:
        """Record a failure."""
        self._bad_at = now = self._clock.monotonic()
        self._status, self._problem = status, problem
        if self._bad_since is None:
            self._bad_since, self._notify_at = now, now + NOTIFY_AFTER_S
        self._log_once(logging.WARNING, "messages cannot be received")
        await self._notify_if_due()

    def wait_for_lock(self, problem: str) -> None:
        """Record that another process receives, which is not a failure."""
        self._status, self._problem = ReceiveStatus.LOCKED, problem
        self._bad_since, self._notify_at, self._notified = None, None, False
        self._log_once(logging.INFO, "another process receives messages")

    def stop(self) -> None:
        """Record that receiving has stopped."""
        self._status, self._problem = ReceiveStatus.STOPPED, ""

    async def pause(self, seconds: float, halt: StopEvent) -> None:
        """Wait for `seconds` or until `halt`; notify the admin meanwhile if that is due."""
        end = self._clock.monotonic() + seconds
        while not halt.is_set() and (left_s := end - self._clock.monotonic()) > 0:
            if self._notify_at is not None and self._status in BAD:
                left_s = min(left_s, max(0.0, self._notify_at - self._clock.monotonic()))
            await halt.or_done(self._clock.sleep(left_s))
            await self._notify_if_due()

    async def _notify_if_due(self) -> None:
        now = self._clock.monotonic()
        if self._notify_at is None or self._bad_since is None or now < self._notify_at or self._status not in BAD:
            return
        text = f"I have not been able to receive messages for {_minutes(now - self._bad_since)}. {self._problem}"
        self._notified = await self._notify(text)
        self._notify_at = None if self._notified else now + NOTIFY_AGAIN_S

    async def _notify(self, text: str) -> bool:
        try:
            await self._tell_admin(text)
        except Exception:
            # A failed notification must not stop receiving.
            log.exception("the admin chat could not be notified")
            return False
        return True

    def _log_once(self, level: int, phrase: str) -> None:
        if self._status not in self._logged:
            self._logged.add(self._status)
            facts = {"mode": self._mode, "status": str(self._status), "reason": self._problem}
            log.log(level, phrase, extra=facts)


def _minutes(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
