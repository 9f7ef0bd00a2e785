"""How receiving is going: for `/health` and `status`, for the log, and for the admin when it stays bad."""

import logging
from dataclasses import dataclass
from enum import StrEnum

from tocsin.channels.conversation import TellAdmin
from tocsin.core.service import StopEvent
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

TELL_AFTER_S = 300.0
TELL_AGAIN_S = 60.0  # after the message to the admin could not be queued
# What gets well and fails again within that time has not been well: two programs that fight over a token.
CALM_S = 60.0


class ReceiveStatus(StrEnum):
    """How receiving is going."""

    STARTING = "starting"  # nothing is known yet
    OK = "ok"
    CONFLICT = "conflict"  # another program uses the same token
    FAILING = "failing"  # it is tried again by itself
    LOCKED = "locked"  # another process on this machine receives
    STOPPED = "stopped"  # not running, or useless until a setting changes


BAD = frozenset({ReceiveStatus.CONFLICT, ReceiveStatus.FAILING, ReceiveStatus.STOPPED})


@dataclass(frozen=True, slots=True)
class ReceivingState:
    """One moment of it; `problem` is one sentence for the operator."""

    mode: str  # polling, webhook
    status: ReceiveStatus
    problem: str = ""
    age_s: float | None = None  # since the last finished poll, or look at the webhook
    pending: int | None = None  # updates that wait at the provider, where that is known

    @property
    def well(self) -> bool:
        """Whether the operator has nothing to do."""
        return self.status not in BAD

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON can hold them."""
        return {
            "mode": self.mode,
            "status": str(self.status),
            "problem": self.problem,
            "age_s": None if self.age_s is None else round(self.age_s, 1),
            "pending": self.pending,
        }


class Liveness:
    """Keeps the state, logs how it changes, and tells the admin once an episode."""

    def __init__(self, mode: str, clock: Clock, tell_admin: TellAdmin) -> None:
        self.pending: int | None = None
        self._mode = mode
        self._clock = clock
        self._tell_admin = tell_admin
        self._status = ReceiveStatus.STARTING
        self._problem = ""
        self._well_at: float | None = None  # monotonic, like all that follow
        self._bad_since: float | None = None  # of an episode
        self._bad_at = 0.0
        self._tell_at: float | None = None
        self._told = False
        self._logged: set[ReceiveStatus] = set()

    @property
    def state(self) -> ReceivingState:
        """How it is going now."""
        age_s = None if self._well_at is None else self._clock.monotonic() - self._well_at
        return ReceivingState(self._mode, self._status, self._problem, age_s, self.pending)

    def start(self) -> None:
        """Note that nothing is known yet."""
        self._status, self._problem = ReceiveStatus.STARTING, ""

    async def good(self) -> None:
        """Note that everything works; an episode ends when it has stayed that way."""
        self._well_at = now = self._clock.monotonic()
        self._status, self._problem = ReceiveStatus.OK, ""
        if self._bad_since is None or now - self._bad_at < CALM_S:
            return
        log.info("the bot receives messages again", extra={"mode": self._mode})
        minutes = _minutes(self._bad_at - self._bad_since)
        if self._told and not await self._tell(f"I can receive messages again, after {minutes}."):
            return  # once more after the next good moment
        self._bad_since, self._tell_at, self._told = None, None, False
        self._logged.clear()

    async def bad(self, status: ReceiveStatus, problem: str) -> None:
        """Note what does not work."""
        self._bad_at = now = self._clock.monotonic()
        self._status, self._problem = status, problem
        if self._bad_since is None:
            self._bad_since, self._tell_at = now, now + TELL_AFTER_S
        self._log_once(logging.WARNING, "messages cannot be received")
        await self._tell_if_due()

    def wait_for_lock(self, problem: str) -> None:
        """Note that another process receives, which is nothing bad."""
        self._status, self._problem = ReceiveStatus.LOCKED, problem
        self._bad_since, self._tell_at, self._told = None, None, False
        self._log_once(logging.INFO, "another process receives messages")

    def stop(self) -> None:
        """Note that nothing is received any more."""
        self._status, self._problem = ReceiveStatus.STOPPED, ""

    async def pause(self, seconds: float, halt: StopEvent) -> None:
        """Wait; the admin is told meanwhile when it is time."""
        end = self._clock.monotonic() + seconds
        while not halt.is_set() and (left_s := end - self._clock.monotonic()) > 0:
            if self._tell_at is not None and self._status in BAD:
                left_s = min(left_s, max(0.0, self._tell_at - self._clock.monotonic()))
            await halt.or_done(self._clock.sleep(left_s))
            await self._tell_if_due()

    async def _tell_if_due(self) -> None:
        now = self._clock.monotonic()
        if self._tell_at is None or self._bad_since is None or now < self._tell_at or self._status not in BAD:
            return
        text = f"I have not been able to receive messages for {_minutes(now - self._bad_since)}. {self._problem}"
        self._told = await self._tell(text)
        self._tell_at = None if self._told else now + TELL_AGAIN_S

    async def _tell(self, text: str) -> bool:
        try:
            await self._tell_admin(text)
        except Exception:
            # Receiving goes on whatever becomes of this message.
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
