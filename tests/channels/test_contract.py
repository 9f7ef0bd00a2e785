"""What the base class of all channels does around the author's two methods."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clocks import SteppedClock
from tests.facts import mentions

from tocsin.channels.contract import (
    COMMONMARK,
    PLAIN,
    ChannelSpec,
    OutboundAdapter,
    Outgoing,
    Part,
    RetryPolicy,
    SendResult,
    within_limit,
)
from tocsin.channels.model import REFUSED, native
from tocsin.core.config.variables import Variable, password
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, StoreUnavailableError, TocsinError
from tocsin.core.http.departure import note_departure
from tocsin.testing import FakeClock, build_adapter

SECRET = "s3cret made up"
TOKEN = Variable("BELL_TOKEN", password, "", "Token.", secret=True, required=True)
SPEC = ChannelSpec(kind="bell", label="Bell", product="Bell", secrets=(TOKEN,), chunk_at=20, parse_modes=("loud",))
Deliver = Callable[[Part], Awaitable[str]]


def bell(deliver: Deliver, clock: FakeClock | None = None, **spec: Any) -> OutboundAdapter:
    class Bell(OutboundAdapter):
        async def deliver(self, part: Part) -> str:
            return await deliver(part)

        async def probe(self) -> str:
            return await deliver(Part("", "", ""))

    Bell.spec = replace(SPEC, **spec)
    return build_adapter(Bell, {"BELL_TOKEN": SECRET}, clock=clock)


def noting(*outcomes: str | Exception) -> tuple[list[Part], Deliver]:
    """Return what is delivered, and a `deliver` with these outcomes, the last one for ever."""
    parts: list[Part] = []

    async def deliver(part: Part) -> str:
        parts.append(part)
        outcome = outcomes[min(len(parts), len(outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return parts, deliver


def failure(kind: FailureKind, **facts: Any) -> RemoteError:
    return ChannelError("made-up", kind=kind, **facts)


# --- results


async def test_a_result_has_the_five_fields_and_is_frozen():
    result = await bell(noting("bong")[1]).send("tower", "hello")
    assert result.as_dict() == {"ok": True, "channel": "bell", "target": "tower", "message": "bong", "error": ""}
    assert json.loads(json.dumps(result.as_dict())) == result.as_dict()
    with pytest.raises(AttributeError):
        result.ok = False  # type: ignore[misc]


async def test_a_result_shows_the_target_as_the_caller_wrote_it():
    parts, deliver = noting("bong")
    result = await bell(deliver).send("  tower\u00a07 ", "hello")
    assert (result.target, parts[0].target) == ("  tower\u00a07 ", "tower 7")


async def test_a_receipt_counts_parts_and_attempts():
    throttled = failure(FailureKind.RATE_LIMITED, retry_after_s=1.0)
    _, deliver = noting("one", throttled, "two")
    receipt = await bell(deliver, FakeClock()).transmit(Outgoing("tower", "first paragraph.\n\nsecond paragraph."))
    assert (receipt.result.message, receipt.provider_id) == ("one (2 parts)", "one")
    assert (receipt.parts_sent, receipt.parts_total, receipt.attempts) == (2, 2, 3)
    assert receipt.failure is None


async def test_the_error_is_the_sentence_with_its_hint():
    result = await bell(noting(ChannelError("no such tower", hint="build one"))[1]).send("tower", "hello")
    assert result.error == "no such tower: build one"
    result = await bell(noting(ChannelError("oops: no tower", hint="build one"))[1]).send("tower", "hello")
    assert result.error == "oops: no tower; build one"


@pytest.mark.parametrize("note", [f"id={SECRET}", f"id={SECRET!r}"])
async def test_neither_note_nor_name_nor_error_shows_a_secret(note: str):
    adapter = bell(noting(note)[1])
    assert SECRET not in (await adapter.send("tower", "hello")).message
    assert SECRET not in (await adapter.test_connection()).message
    adapter = bell(noting(TocsinError(note, hint=note))[1])
    assert SECRET not in (await adapter.send("tower", "hello")).error
    assert SECRET not in (await adapter.test_connection()).error


async def test_a_message_waits_for_a_store_from_which_its_channel_cannot_read():
    receipt = await bell(noting(StoreUnavailableError("Redis does not answer"))[1]).transmit(Outgoing("tower", "hello"))
    assert receipt.failure
    assert (receipt.failure.kind, str(receipt.failure)) == (FailureKind.TRANSIENT, "Redis does not answer")


async def test_a_note_that_is_no_text_becomes_one():
    result = await bell(noting(7)[1]).send("tower", "hello")  # type: ignore[arg-type]
    assert result.message == "7"


# --- how fields are shown


def test_a_field_that_a_channel_does_not_declare_is_shown_as_on_every_channel():
    spec = replace(SPEC, abilities={"attach": native("below the text"), "click": REFUSED})
    assert (spec.ability("attach").note, spec.ability("title")) == ("below the text", SPEC.ability("title"))
    assert (SPEC.refused, spec.refused) == (("attach", "withdraw"), ("click", "withdraw"))


# --- what is refused


@pytest.mark.parametrize("text", ["", " \n", "\0", "\u00a0"])
async def test_a_text_without_anything_visible_is_refused(text: str):
    parts, deliver = noting("bong")
    result = await bell(deliver).send("tower", text)
    assert (result.ok, "empty" in result.error, parts) == (False, True, [])


@pytest.mark.parametrize("target", ["", " ", "a\nb", "a\0b", "\ud800", "x" * 1001, "\u202etower"])
async def test_a_target_that_is_not_one_printable_line_is_refused(target: str):
    parts, deliver = noting("bong")
    result = await bell(deliver).send(target, "hello")
    assert (result.ok, "the target" in result.error, parts) == (False, True, [])


async def test_a_parse_mode_that_the_channel_does_not_have_is_refused_with_those_it_has():
    parts, deliver = noting("bong")
    receipt = await bell(deliver).transmit(Outgoing("tower", "hello", parse_mode="quiet"))
    assert mentions(receipt.result.error, "quiet", "Bell", "loud, plain, commonmark")
    assert (await bell(deliver).transmit(Outgoing("tower", "hello", parse_mode="loud"))).result.ok
    assert [part.parse_mode for part in parts] == ["loud"]


def test_a_limit_tells_both_numbers():
    assert within_limit("x" * 10, 10) == "x" * 10
    assert within_limit("x" * 10, None) == "x" * 10
    with pytest.raises(ChannelError, match=r"1,001 .* 1,000"):
        within_limit("x" * 1_001, 1_000)


# --- trying again


@given(st.integers(1, 10), st.floats(0, 1000), st.floats(0, 1000))
def test_the_wait_that_a_provider_asks_for_is_kept_to_or_not_made(tries: int, wanted: float, longest: float):
    policy = RetryPolicy(transient=10, rate_limited=10, longest_wait_s=longest)
    for kind in (FailureKind.TRANSIENT, FailureKind.RATE_LIMITED):
        waited = policy.wait_s(failure(kind, retry_after_s=wanted), tries)
        assert waited == (wanted if wanted <= longest else None)


@given(st.sampled_from([FailureKind.PERMANENT, FailureKind.AMBIGUOUS]), st.integers(1, 5))
def test_what_cannot_work_and_what_may_have_worked_is_not_tried_again(kind: FailureKind, tries: int):
    assert RetryPolicy(transient=10, rate_limited=10).wait_s(failure(kind, retry_after_s=1.0), tries) is None


@pytest.mark.parametrize(("tries", "least"), [(1, 1.0), (2, 2.0), (3, 4.0)])
def test_without_a_hint_of_the_provider_the_wait_doubles_with_some_jitter(tries: int, least: float):
    waits = {RetryPolicy(transient=3).wait_s(failure(FailureKind.TRANSIENT), tries) for _ in range(50)}
    assert all(wait is not None and least <= wait <= least * 1.25 for wait in waits)
    assert len(waits) > 1


async def test_each_part_has_its_own_tries():
    trouble = failure(FailureKind.TRANSIENT)
    _, deliver = noting(trouble, "one", trouble, "two")
    clock = FakeClock()
    adapter = bell(deliver, clock, retry=RetryPolicy(transient=1))
    assert (await adapter.send("tower", "first paragraph.\n\nsecond paragraph.")).ok
    assert len(clock.slept) == 2


async def test_a_send_that_is_cancelled_while_it_waits_ends_at_once():
    _, deliver = noting(failure(FailureKind.RATE_LIMITED))
    task = asyncio.ensure_future(bell(deliver, SteppedClock()).send("tower", "hello"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- accidents


async def test_a_missing_package_is_named_with_the_way_to_install_it():
    missing = ModuleNotFoundError("No module named 'gong.client'", name="gong.client")
    result = await bell(noting(missing)[1]).send("tower", "hello")
    assert mentions(result.error, "gong: ", "pip install gong")


async def test_an_unexpected_error_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture):
    result = await bell(noting(ZeroDivisionError("made-up"))[1]).send("tower", "hello")
    assert "ZeroDivisionError: made-up" in result.error
    (record,) = caplog.records
    assert (record.levelname, record.exc_info and record.exc_info[0]) == ("ERROR", ZeroDivisionError)


async def test_what_the_target_of_a_refused_send_was_is_shown_even_if_it_is_no_text():
    class Strange:
        def __str__(self) -> str:
            raise ValueError

    _, deliver = noting("bong")
    for target, shown in ((7, "7"), (Strange(), "<Strange>")):
        result = await bell(deliver).send(target, "hello")  # type: ignore[arg-type]
        assert result == SendResult(False, "bell", shown, error=result.error)
        assert mentions(result.error, "target", "message", "text")


async def test_out_of_time_the_outcome_is_unknown():
    async def never(_: Part) -> str:
        await asyncio.Event().wait()
        return ""

    adapter = bell(never, send_timeout_s=0.01, test_timeout_s=0.01)
    receipt = await adapter.transmit(Outgoing("tower", "hello"))
    assert receipt.failure
    assert (receipt.failure.kind, receipt.attempts) == (FailureKind.AMBIGUOUS, 1)


async def test_out_of_time_before_anything_left_the_message_was_not_sent():
    async def never(_: Part) -> str:
        note_departure(possible=False)
        await asyncio.Event().wait()
        return ""

    receipt = await bell(never, send_timeout_s=0.01).transmit(Outgoing("tower", "hello"))
    assert receipt.failure
    assert (receipt.failure.kind, receipt.attempts) == (FailureKind.TRANSIENT, 1)
    assert mentions(receipt.result.error, "the time was up before anything was sent")


async def test_a_connection_test_without_an_answer_sent_nothing_and_may_be_repeated():
    async def never(_: Part) -> str:
        await asyncio.Event().wait()
        return ""

    tested = await bell(never, send_timeout_s=0.01, test_timeout_s=0.01).try_connection()
    assert tested.result == SendResult(
        False, "bell", "", error="no response in time: check the network and the settings of Bell"
    )
    assert tested.failure
    assert tested.failure.kind is FailureKind.TRANSIENT


# --- Markdown and plain text


@pytest.mark.parametrize("mode", [COMMONMARK, PLAIN])
async def test_every_channel_takes_markdown_and_plain_text_and_splits_both(mode: str):
    parts, deliver = noting("bong")
    text = "**one** two three four five six seven"
    receipt = await bell(deliver, chunk_at=None, max_length=20).transmit(Outgoing("tower", text, parse_mode=mode))
    assert receipt.result.ok
    shown = text.replace("*", "") if mode == COMMONMARK else text
    assert " ".join(part.text for part in parts) == shown
    assert all(len(part.text) <= 20 and part.parse_mode == mode for part in parts)
    assert [(part.first, part.last) for part in parts] == [(True, False), (False, True)]


@pytest.mark.parametrize("mode", [COMMONMARK, PLAIN])
async def test_in_every_mode_a_text_without_anything_visible_is_refused(mode: str):
    parts, deliver = noting("bong")
    receipt = await bell(deliver).transmit(Outgoing("tower", " \n\0", parse_mode=mode))
    assert ("empty" in receipt.result.error, parts) == (True, [])


async def test_a_send_that_goes_on_cuts_markdown_as_the_one_before_did():
    parts, deliver = noting("bong")
    whole = Outgoing("tower", "- **one** two\n- three\n\n```\nfour\nfive\n```\n" * 3, parse_mode=COMMONMARK)
    total = (await bell(deliver).transmit(whole)).parts_total
    first = [part.text for part in parts]
    parts.clear()
    await bell(deliver).transmit(replace(whole, parts_sent=2, parts_total=total))
    assert total > 3
    assert [part.text for part in parts] == first[2:]


async def test_extras_are_checked_before_the_first_part_and_reach_every_part():
    parts, deliver = noting("bong")
    adapter = bell(deliver)
    outgoing = Outgoing("tower", "first paragraph.\n\nsecond paragraph.", extra={"reply_to": "7"})
    await adapter.transmit(outgoing)
    assert [part.extra for part in parts] == [{"reply_to": "7"}] * 2
