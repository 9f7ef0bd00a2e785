"""A chat where a program answers a program is muted (docs/facts/webhooks.md)."""

from tocsin.messaging.inbound import loop_guard as brake
from tocsin.messaging.inbound.loop_guard import LoopGuard
from tocsin.testing.fakes import FakeClock

CHAT, OTHER = ("bell", "tower"), ("bell", "gate")


def test_60_replies_in_60_seconds_pass_and_one_more_mutes_the_chat_for_5_minutes():
    clock = FakeClock()
    pace = LoopGuard(60, clock.monotonic)
    for _ in range(60):
        assert pace.take(CHAT, 1)
        clock.advance(0.9)
    assert not pace.is_muted(CHAT)
    assert not pace.take(CHAT, 1)
    assert pace.is_muted(CHAT)
    clock.advance(299)
    assert pace.is_muted(CHAT)
    clock.advance(1)
    assert not pace.is_muted(CHAT)
    assert pace.take(CHAT, 60)


def test_one_reply_a_second_goes_on_for_ever():
    clock = FakeClock()
    pace = LoopGuard(60, clock.monotonic)
    for _ in range(1000):
        assert pace.take(CHAT, 1)
        clock.advance(1)


def test_a_chat_is_not_muted_for_another_one():
    pace = LoopGuard(2, FakeClock().monotonic)
    assert not pace.take(CHAT, 3)
    assert not pace.is_muted(OTHER)
    assert pace.take(OTHER, 2)


def test_the_memory_of_chats_is_bounded():
    pace = LoopGuard(1, FakeClock().monotonic)
    for number in range(brake.MAX_CHATS + 1):
        assert pace.take(("bell", str(number)), 1)
    assert pace.take(("bell", "0"), 1)  # forgotten
    assert not pace.take(("bell", str(brake.MAX_CHATS)), 1)
