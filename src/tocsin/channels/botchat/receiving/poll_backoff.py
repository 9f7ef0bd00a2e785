"""Classify failures of receiving, and decide how long to back off. Source: docs/facts/botchat.md, "Polling"."""

import logging
from dataclasses import dataclass
from random import uniform

from tocsin.channels.botchat.api import BotApiError
from tocsin.channels.botchat.receiving.liveness import ReceiveStatus
from tocsin.core.errors import FailureKind, RemoteError, TocsinError

log = logging.getLogger(__name__)

# Short waits, because people are waiting: receiving resumes a few seconds after an outage has ended.
OUTAGE_S = (0.5, 1.0, 2.0)
# A conflict may be brief (a restart), or last: two programs that keep ending each other's polls.
CONFLICT_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
# Failures that only the operator can fix: another token, another address.
PERMANENT_S = (60.0, 120.0, 240.0, 480.0, 600.0)
DEFAULT_RATE_LIMIT_S = 5.0  # "too many requests" without a wait
LONGEST_S = 3600.0
CALM_S = 60.0  # a conflict that returns within this time is the same one


@dataclass(frozen=True, slots=True)
class BackoffDecision:
    """The state to report, and the wait before the next attempt."""

    status: ReceiveStatus
    problem: str
    wait_s: float


class PollBackoff:
    """Counts consecutive failures."""

    def __init__(self) -> None:
        self._failures = 0
        self._conflicts = 0
        self._conflict_at = 0.0

    def succeeded(self, now: float) -> bool:
        """Reset the failure count; return whether there was no recent conflict either. `now` is monotonic."""
        self._failures = 0
        if self._conflicts and now - self._conflict_at >= CALM_S:
            self._conflicts = 0
        return not self._conflicts

    def judge(self, error: Exception, now: float) -> BackoffDecision:
        """Return the decision for `error`; `now` is monotonic."""
        if isinstance(error, BotApiError) and error.error_code == 409:
            self._conflicts, self._conflict_at = self._conflicts + 1, now
            return BackoffDecision(ReceiveStatus.CONFLICT, error.sentence(), _step(CONFLICT_S, self._conflicts))
        self._failures += 1
        if isinstance(error, RemoteError):
            return self._judge_remote(error)
        return BackoffDecision(ReceiveStatus.FAILING, self._explain(error), _step(OUTAGE_S, self._failures))

    def _judge_remote(self, error: RemoteError) -> BackoffDecision:
        if error.kind is FailureKind.RATE_LIMITED:
            requested_s = DEFAULT_RATE_LIMIT_S if error.retry_after_s is None else error.retry_after_s
            return BackoffDecision(ReceiveStatus.FAILING, error.sentence(), min(requested_s, LONGEST_S))
        # Only a refusal by the Bot API itself is permanent; any other may come from a proxy that is being repaired.
        if isinstance(error, BotApiError) and error.kind is FailureKind.PERMANENT:
            status = ReceiveStatus.STOPPED if error.error_code in {401, 404} else ReceiveStatus.FAILING
            return BackoffDecision(status, error.sentence(), _step(PERMANENT_S, self._failures))
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
    """Return the wait after `number` consecutive failures, with jitter, so that programs do not retry in step."""
    return steps[min(number, len(steps)) - 1] * uniform(1.0, 1.25)  # noqa: S311  # jitter
