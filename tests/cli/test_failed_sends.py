"""What a failed send tells to do next."""

import pytest

from tocsin.channels.contract import Receipt, SendResult
from tocsin.cli.commands.failed_sends import retry_hint
from tocsin.core.errors import FailureKind, RemoteError

REPLAY = "send the remaining parts: tocsin deliveries replay 01a"


@pytest.mark.parametrize(
    ("kind", "delivery", "hint"),
    [
        (FailureKind.TRANSIENT, "01a", REPLAY),
        (FailureKind.RATE_LIMITED, "01a", REPLAY),
        (FailureKind.PERMANENT, "01a", f"fix the problem, then {REPLAY}"),
        (FailureKind.TRANSIENT, "", "sending the message again repeats the parts that were sent"),
    ],
)
def test_after_a_part_was_sent_nobody_is_told_to_send_it_all_again(kind: FailureKind, delivery: str, hint: str):
    failure = RemoteError("it did not work", kind=kind)
    result = SendResult(False, "teamchat", "#ops", error="sent 1 of 2 parts: it did not work")
    assert retry_hint(Receipt(result, 1, 2, failure=failure, delivery=delivery)) == hint
