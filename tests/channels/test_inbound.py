"""What every inbound adapter shares: headers that agree, answers in parts, errors that say what is left."""

import pytest

from tocsin.channels.inbound import (
    PartlyAnsweredError,
    RejectedError,
    WebhookRequest,
    answer_in_parts,
    as_channel_error,
)
from tocsin.core.errors import ChannelError, FailureKind, RemoteError
from tocsin.core.http.transport import connect_failed, outcome_unknown

URL = "https://provider.example/secret"


def value_of(*headers: tuple[str, str]) -> str:
    return WebhookRequest(headers, b"").agreed_value("x-new", "x-old")


def test_all_headers_of_one_meaning_must_agree():
    assert value_of(("x-old", "1"), ("x-new", "1"), ("x-old", "1"), ("other", "2")) == "1"
    for headers in ([], [("x-new", "1"), ("x-old", "2")], [("x-new", "1"), ("x-new", "1 ")], [("x-new", "")]):
        with pytest.raises(RejectedError, match="x-new"):
            value_of(*headers)


@pytest.mark.parametrize("value", ["é", "\udcff", "a\nb", "\0", "\u0661"])
def test_a_header_that_is_not_printable_ascii_is_rejected(value: str):
    with pytest.raises(RejectedError):
        value_of(("x-new", value))


async def broken_off(failure: RemoteError, after: int) -> ChannelError:
    posted: list[str] = []

    async def post(part: str) -> None:
        if len(posted) == after:
            raise failure
        posted.append(part)

    with pytest.raises(ChannelError) as error:
        await answer_in_parts(["a", "b", "c"], post)
    return error.value


async def test_an_answer_is_posted_part_by_part():
    posted: list[str] = []

    async def post(part: str) -> None:
        posted.append(part)

    await answer_in_parts(["a", "b"], post)
    assert posted == ["a", "b"]


async def test_an_answer_of_which_nothing_arrived_may_go_another_way():
    error = await broken_off(connect_failed(URL, "made-up"), 0)
    assert (type(error), error.kind, error.provider_code) == (ChannelError, FailureKind.TRANSIENT, "connect")


async def test_an_answer_that_broke_off_says_what_is_left():
    error = await broken_off(connect_failed(URL, "made-up"), 1)
    assert isinstance(error, PartlyAnsweredError)
    assert (error.unsent, error.kind) == ("b\nc", FailureKind.TRANSIENT)
    assert str(error).startswith("sent 1 of 3 parts: ")


async def test_a_part_whose_outcome_is_unknown_is_not_left():
    error = await broken_off(outcome_unknown(URL, "was silent"), 1)
    assert isinstance(error, PartlyAnsweredError)
    assert error.unsent == "c"


def test_the_error_of_a_call_keeps_its_facts():
    error = ChannelError("slow down", kind=FailureKind.RATE_LIMITED, retry_after_s=7.0, whole_account=True)
    assert as_channel_error(error) is error
    remote = RemoteError("slow down", hint="wait", kind=FailureKind.RATE_LIMITED, retry_after_s=7.0)
    same = as_channel_error(remote)
    assert (same.sentence(), same.kind, same.retry_after_s) == ("slow down: wait", FailureKind.RATE_LIMITED, 7.0)
