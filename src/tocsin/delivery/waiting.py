"""Explain why a delivery waits; computed for display, never stored."""

from dataclasses import replace

from tocsin.core.errors import FailureKind
from tocsin.delivery.model import Delivery, DeliveryStatus
from tocsin.delivery.store import DeliveryHold


def explained(
    delivery: Delivery, target: DeliveryHold | None, account: DeliveryHold | None, ahead: Delivery | None
) -> Delivery:
    """Return a waiting delivery with the reason in `error` and its end in `next_attempt_at`.

    `ahead` is the first delivery of the lane. An error of the delivery's own last attempt is kept.
    """
    reasons: list[tuple[float, str, str]] = []
    if target is not None:
        reasons.append((target.until, f"the target is on hold: {target.reason}", FailureKind.RATE_LIMITED))
    if account is not None:
        reasons.append((account.until, f"the account is on hold: {account.reason}", FailureKind.RATE_LIMITED))
    if ahead is not None and ahead.id != delivery.id and ahead.status is DeliveryStatus.RETRY_WAIT:
        sentence = f"waits for the earlier delivery {ahead.id}: {ahead.error}"
        reasons.append((ahead.next_attempt_at or 0.0, sentence, ahead.error_class))
    if not reasons:
        return delivery
    until, error, error_class = max(reasons)
    shown = replace(delivery, next_attempt_at=max(until, delivery.next_attempt_at or 0.0))
    return shown if delivery.error else replace(shown, error=error, error_class=error_class)
