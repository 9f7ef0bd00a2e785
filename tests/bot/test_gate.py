"""The concurrency gate."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.bot.gate import Gate, GateFullError


class Crowd:
    """People who want a slot; each holds it until told to leave."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.inside: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.leave: dict[str, asyncio.Event] = {}

    async def come(self, name: str, *, patient: bool = False) -> None:
        self.leave[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name, patient))
        await asyncio.sleep(0)

    async def _hold(self, name: str, patient: bool) -> None:
        async with self.gate.slot(name[0], patient=patient):
            self.inside.append(name)
            try:
                await self.leave[name].wait()
            finally:
                self.inside.remove(name)

    async def go(self, name: str) -> None:
        self.leave[name].set()
        await self.tasks[name]
        await asyncio.sleep(0)

    async def all_go(self) -> None:
        for event in self.leave.values():
            event.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def test_two_of_a_chat_run_and_the_third_waits_its_turn():
    crowd = Crowd(Gate(2, 5, 10))
    for name in ("a1", "a2", "a3", "a4"):
        await crowd.come(name)
    assert crowd.inside == ["a1", "a2"]
    await crowd.go("a2")
    assert crowd.inside == ["a1", "a3"]
    await crowd.go("a1")
    assert crowd.inside == ["a3", "a4"]
    await crowd.all_go()


async def test_five_run_in_all_chats_together():
    crowd = Crowd(Gate(2, 5, 10))
    for name in ("a1", "a2", "b1", "b2", "c1", "c2", "d1"):
        await crowd.come(name)
    assert crowd.inside == ["a1", "a2", "b1", "b2", "c1"]
    await crowd.all_go()


async def test_chats_that_wait_take_turns():
    crowd = Crowd(Gate(2, 1, 10))
    for name in ("a1", "a2", "a3", "a4", "b1", "c1"):
        await crowd.come(name)
    order = []
    for _ in range(6):
        (inside,) = crowd.inside
        order.append(inside)
        await crowd.go(inside)
    assert order == ["a1", "a2", "b1", "c1", "a3", "a4"]


async def test_a_chat_at_its_own_limit_holds_up_no_other():
    crowd = Crowd(Gate(1, 2, 10))
    for name in ("a1", "a2", "b1"):
        await crowd.come(name)
    assert crowd.inside == ["a1", "b1"]
    await crowd.all_go()


async def test_the_eleventh_that_would_wait_is_turned_away_at_once():
    gate = Gate(2, 5, 10)
    crowd = Crowd(gate)
    for number in range(12):
        await crowd.come(f"a{number}")
    assert (gate.running("a"), gate.waiting("a")) == (2, 10)
    with pytest.raises(GateFullError):
        async with gate.slot("a"):
            pass
    await crowd.come("b1")
    assert "b1" in crowd.inside
    await crowd.all_go()
    assert (gate.running(), gate.waiting()) == (0, 0)


async def test_who_is_patient_always_waits_and_takes_no_place_from_others():
    gate = Gate(1, 5, 1)
    crowd = Crowd(gate)
    await crowd.come("a1")
    for number in range(2, 6):
        await crowd.come(f"a{number}", patient=True)
    await crowd.come("a6")
    assert gate.waiting("a") == 5
    with pytest.raises(GateFullError):
        async with gate.slot("a"):
            pass
    await crowd.all_go()


async def test_one_that_is_cancelled_while_it_waits_leaves_the_row():
    gate = Gate(1, 5, 10)
    crowd = Crowd(gate)
    for name in ("a1", "a2", "a3"):
        await crowd.come(name)
    crowd.tasks["a2"].cancel()
    await asyncio.wait([crowd.tasks["a2"]])
    assert gate.waiting("a") == 1
    await crowd.go("a1")
    assert crowd.inside == ["a3"]
    await crowd.all_go()


async def test_one_that_is_cancelled_in_the_moment_of_its_turn_passes_the_slot_on():
    gate = Gate(1, 5, 10)
    crowd = Crowd(gate)
    for name in ("a1", "a2", "a3"):
        await crowd.come(name)
    crowd.leave["a1"].set()
    await crowd.tasks["a1"]  # the turn of a2 has come, it does not know yet
    crowd.tasks["a2"].cancel()
    await asyncio.wait([crowd.tasks["a2"]])
    await asyncio.sleep(0)
    assert crowd.inside == ["a3"]
    await crowd.all_go()
    assert gate.running() == 0


async def test_a_slot_is_free_again_after_a_failure():
    gate = Gate(1, 1, 0)
    with pytest.raises(ZeroDivisionError):
        async with gate.slot("a"):
            raise ZeroDivisionError
    async with gate.slot("a"):
        assert gate.running("a") == 1


@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["come", "go", "cancel"])), max_size=40),
)
def test_limits_hold_and_no_slot_stays_empty_while_somebody_may_have_it(
    per_chat: int, overall: int, steps: list[tuple[str, str]]
):
    async def play() -> None:
        gate = Gate(per_chat, overall, 100)
        crowd = Crowd(gate)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(crowd.all_go)
            for number, (chat, step) in enumerate(steps):
                mine = [name for name in crowd.tasks if name[0] == chat and not crowd.tasks[name].done()]
                if step == "come":
                    await crowd.come(f"{chat}{number}")
                elif step == "go" and (inside := [name for name in mine if name in crowd.inside]):
                    await crowd.go(inside[0])
                elif step == "cancel" and mine:
                    crowd.tasks[mine[-1]].cancel()
                    await asyncio.wait([crowd.tasks[mine[-1]]])
                await asyncio.sleep(0)
                running = {c: sum(name[0] == c for name in crowd.inside) for c in "abc"}
                assert max(running.values()) <= per_chat
                assert sum(running.values()) == gate.running() <= overall
                free = gate.running() < overall
                assert not any(free and gate.waiting(c) and running[c] < per_chat for c in "abc")
        assert (gate.running(), gate.waiting()) == (0, 0)

    asyncio.run(play())
