"""Server-sent events."""

import pytest
from tests.rest.streams import connected
from tests.waiting import eventually

from tocsin.rest.event_stream import EventStreamResponse, OpenStream, encode_event, encode_greeting


class Door:
    """Counts what is closed and cut off."""

    def __init__(self) -> None:
        self.closed = self.cut_off = 0

    def close(self) -> None:
        self.closed += 1

    def cut(self) -> None:
        self.cut_off += 1


@pytest.fixture
def door() -> Door:
    return Door()


async def test_what_is_sent_arrives_in_order_until_the_stream_ends(door: Door):
    stream = OpenStream()
    stream.send(encode_greeting("7"))
    stream.send(encode_event("run.updated", {"text": "a\nb\u2028ü"}, "8"))
    async with connected(EventStreamResponse(stream, door.close)) as client:
        stream.send(encode_event("run.log", [1]))
        stream.end()
        stream.send(encode_event("late", 1))
        await eventually(lambda: client.has_ended)
    assert client.events == [("run.updated", {"text": "a\nb\u2028ü"}), ("run.log", [1])]
    assert (client.id, client.retry_ms, door.closed, door.cut_off) == ("8", 2000, 1, 0)
    headers = dict(client.head["headers"])
    assert headers[b"content-type"] == b"text/event-stream; charset=utf-8"
    assert (headers[b"cache-control"], headers[b"x-accel-buffering"]) == (b"no-store", b"no")
    assert b"content-length" not in headers


async def test_a_client_that_goes_ends_its_stream(door: Door):
    stream = OpenStream()
    stream.send(encode_greeting())
    async with connected(EventStreamResponse(stream, door.close)):
        assert not stream.is_over
    assert stream.is_over
    assert door.closed == 1


async def test_a_reader_for_whom_too_much_waits_is_cut_off(door: Door):
    stream = OpenStream(max_bytes=100)
    app = EventStreamResponse(stream, door.close)
    async with connected(app, slow=True, **{"tocsin.cut_off": door.cut}) as client:
        client.takes.set()
        stream.send(encode_greeting())
        await eventually(lambda: client.retry_ms)
        client.takes.clear()
        stream.send(b"x" * 60)
        await eventually(lambda: client.held)
        stream.send(b"x" * 60)
        assert door.cut_off == 0
        stream.send(b"x" * 60)
        assert door.cut_off == 1
        assert stream.is_over
    assert door.closed == 1


async def test_a_question_for_the_head_alone_is_answered_at_once(door: Door):
    async with connected(EventStreamResponse(OpenStream(), door.close), method="HEAD") as client:
        await eventually(lambda: client.has_ended)
    assert door.closed == 1


async def test_a_reader_whose_session_has_ended_gets_nothing_more(door: Door):
    stream, answers = OpenStream(), [True, True, False]
    stream.send(encode_greeting())

    async def still_allowed() -> bool:
        return answers.pop(0)

    app = EventStreamResponse(stream, door.close, ask_every_s=0)
    async with connected(app, **{"tocsin.still_allowed": still_allowed}) as client:
        stream.send(encode_event("run.updated", 1))
        await eventually(lambda: client.events)
        stream.send(encode_event("run.updated", 2))
        await eventually(lambda: client.has_ended)
    assert client.events == [("run.updated", 1)]
    assert door.closed == 1
