"""What a failure of receiving means, and how long to wait. Source: docs/facts/botchat.md, "Polling"."""

import logging
from dataclasses import dataclass
from random import uniform

from tocsin.channels.botchat.api import BotApiError
from tocsin.channels.botchat.receiving.liveness import ReceiveStatus
from tocsin.core.errors import FailureKind, RemoteError, TocsinError

log = logging.getLogger(__name__)

# Messages wait meanwhile and people with them: an outage is over for them a few seconds after it is over.
OUTAGE_S = (0.5, 1.0, 2.0)
# A conflict may be a short one (a restart), or two programs that would end each other's polls for ever.
CONFLICT_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
# Only a person can help: another token, another address.
SELDOM_S = (60.0, 120.0, 240.0, 480.0, 600.0)
UNTOLD_S = 5.0  # "too many requests" without saying for how long
LONGEST_S = 3600.0
CALM_S = 60.0  # a conflict that comes back within that time is the same


@dataclass(frozen=True, slots=True)
class BackoffDecision:
    """What to show, and how long to wait."""

    status: ReceiveStatus
    problem: str
    wait_s: float


class PollBackoff:
    """Counts failures in a row."""

    def __init__(self) -> None:
        self._failures = 0
        self._conflicts = 0
        self._conflict_at = 0.0

    def succeeded(self, now: float) -> bool:
        """Forget failures; say whether there has been no conflict either for a while. `now` is monotonic."""
        self._failures = 0
        if self._conflicts and now - self._conflict_at >= CALM_S:
            self._conflicts = 0
        return not self._conflicts

    def judge(self, error: Exception, now: float) -> BackoffDecision:
        """Return what `error` means; `now` is monotonic."""
        if isinstance(error, BotApiError) and error.error_code == 409:
            self._conflicts, self._conflict_at = self._conflicts + 1, now
            return BackoffDecision(ReceiveStatus.CONFLICT, error.sentence(), _step(CONFLICT_S, self._conflicts))
        self._failures += 1
        if isinstance(error, RemoteError):
            return self._judge_remote(error)
        return BackoffDecision(ReceiveStatus.FAILING, self._explain(error), _step(OUTAGE_S, self._failures))

    def _judge_remote(self, error: RemoteError) -> BackoffDecision:
        if error.kind is FailureKind.RATE_LIMITED:
            told_s = UNTOLD_S if error.retry_after_s is None else error.retry_after_s
            return BackoffDecision(ReceiveStatus.FAILING, error.sentence(), min(told_s, LONGEST_S))
        # The Bot API itself says no; anything else may be a proxy in between that is being repaired.
        if isinstance(error, BotApiError) and error.kind is FailureKind.PERMANENT:
            status = ReceiveStatus.STOPPED if error.error_code in {401, 404} else ReceiveStatus.FAILING
            return BackoffDecision(status, error.sentence(), _step(SELDOM_S, self._failures))
        wait_s = max(_step(OUTAGE_S, self._failures), error.retry_after_s or 0.0)
        return BackoffDecision(ReceiveStatus.FAILING, error.sentence(), min(wait_s, LONGEST_S))

    def _explain(self, error: Exception) -> str:
        if isinstance(error, TocsinError):
            return error.sentence()
        if isinstance(error, TimeoutError):
            return "The request timed out; retrying"
        if self._failures == 1:
            log.error("receiving failed", exc_info=error)
        return f"{type(error).__name__}, which is a bug: see the log"


def _step(steps: tuple[float, ...], number: int) -> float:
    """Return the wait after `failures` in a row, with jitter: programs must not retry in step."""
    return steps[min(number, len(steps)) - 1] * uniform(1.0, 1.25)  # noqa: S311  # jitter
