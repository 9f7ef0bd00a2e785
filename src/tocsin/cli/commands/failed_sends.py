"""The advice after a direct send that failed or was interrupted."""

from collections.abc import Callable, Sequence

from tocsin.channels.contract import Receipt
from tocsin.core.errors import FailureKind, UnknownChannelError
from tocsin.terminal.output import Console


def retry_hint(receipt: Receipt) -> str:
    """Return a hint that says whether a retry helps; empty if the error already says so."""
    failure = receipt.failure
    if failure is None or isinstance(failure, UnknownChannelError):
        return ""
    if failure.kind is FailureKind.AMBIGUOUS:
        return (
            f"the message may have been sent: check the recipient's side before you send it again{_record_of(receipt)}"
        )
    if receipt.parts_sent:
        again = f"send the remaining parts: tocsin deliveries replay {receipt.delivery}"
        rest = again if receipt.delivery else "sending the message again repeats the parts that were sent"
        return f"fix the problem, then {rest}" if failure.kind is FailureKind.PERMANENT else rest
    if failure.kind is FailureKind.PERMANENT:
        return "retrying will not help until this is fixed"
    told_s = failure.retry_after_s
    wait = f" in {told_s:g} s" if failure.kind is FailureKind.RATE_LIMITED and told_s is not None else ""
    return f"no part was sent: retry{wait}, or add --queue to have it retried automatically"


def report_interrupted(out: Console, receipts: Sequence[Receipt], label: Callable[[str], str]) -> None:
    """Report the outcome of an interrupted send for each target, as far as it is known; `label` names channels."""
    for receipt in receipts:
        result = receipt.result
        where = f"on {label(result.channel)} to {result.target}"
        if result.ok:
            out.error(f"interrupted, but the message was sent {where} ({result.message})")
        elif receipt.failure is not None and receipt.failure.kind is FailureKind.AMBIGUOUS:
            out.error(f"interrupted: the message may have been sent {where}{_record_of(receipt)}")
        elif receipt.parts_sent:
            done = f"{receipt.parts_sent} of {receipt.parts_total} parts were sent"
            out.error(f"interrupted: {done} {where}{_record_of(receipt)}")
        else:
            out.error(f"interrupted: no part was sent {where}")


def _record_of(receipt: Receipt) -> str:
    return f"; see `tocsin deliveries show {receipt.delivery}`" if receipt.delivery else ""
