"""The advice after a direct send that failed or was interrupted."""

from collections.abc import Callable, Sequence

from tocsin.channels.contract import Receipt
from tocsin.core.errors import FailureKind, UnknownChannelError
from tocsin.terminal.output import Console


def what_next(receipt: Receipt) -> str:
    """Return a hint that says whether a retry helps; empty if the error already says so."""
    failure = receipt.failure
    if failure is None or isinstance(failure, UnknownChannelError):
        return ""
    if failure.kind is FailureKind.AMBIGUOUS:
        return f"it may have been sent: look there before sending again{_record_of(receipt)}"
    if receipt.parts_sent:
        again = f"send the rest: tocsin deliveries replay {receipt.delivery}"
        rest = again if receipt.delivery else "sending it again repeats the parts that were sent"
        return f"when that is corrected, {rest}" if failure.kind is FailureKind.PERMANENT else rest
    if failure.kind is FailureKind.PERMANENT:
        return "trying again will not help until this is corrected"
    told_s = failure.retry_after_s
    wait = f" in {told_s:g} s" if failure.kind is FailureKind.RATE_LIMITED and told_s is not None else ""
    return f"nothing was sent: try again{wait}, or have the queue do it with --queue"


def tell_cut_off(out: Console, receipts: Sequence[Receipt], label: Callable[[str], str]) -> None:
    """Report the outcome of an interrupted send for each target, as far as it is known; `label` names channels."""
    for receipt in receipts:
        result = receipt.result
        where = f"on {label(result.channel)} to {result.target}"
        if result.ok:
            out.error(f"interrupted, but sent {where} ({result.message})")
        elif receipt.failure is not None and receipt.failure.kind is FailureKind.AMBIGUOUS:
            out.error(f"interrupted: it may have been sent {where}{_record_of(receipt)}")
        elif receipt.parts_sent:
            done = f"{receipt.parts_sent} of {receipt.parts_total} parts were sent"
            out.error(f"interrupted: {done} {where}{_record_of(receipt)}")
        else:
            out.error(f"interrupted: nothing was sent {where}")


def _record_of(receipt: Receipt) -> str:
    return f"; look with `tocsin deliveries show {receipt.delivery}`" if receipt.delivery else ""
