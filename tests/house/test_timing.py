"""No test says anything about the speed of the machine; what finds those that do, and what it leaves alone."""

import textwrap

import pytest
from tools import timing

JUDGED = {
    "an elapsed time": """
        began = time.monotonic()
        work()
        assert time.monotonic() - began < 2
    """,
    "processor time under another name": """
        from time import process_time as used
        before = used()
        spent = used() - before
        assert spent < 5, "slow"
    """,
    "a function that measures": """
        def cost(text):
            begun = time.perf_counter()
            work(text)
            return time.perf_counter() - begun
        assert cost("x" * 1_000) < 10 * cost("x")
    """,
    "the clock of the loop": """
        async def test_it():
            started = asyncio.get_running_loop().time()
            await work()
            assert asyncio.get_running_loop().time() - started < 1
    """,
    "times in a list": """
        costs = []
        costs.append(time.process_time())
        assert max(costs) < 3
    """,
    "an attribute": """
        self.begun = time.time()
        assert abs(entry.at - self.begun) < 60
    """,
    "a failure in other words": """
        end = time.monotonic() + 90
        if time.monotonic() > end:
            pytest.fail("too late")
    """,
    "a wait of one's own": """
        end = time.monotonic() + 90
        while not done() and time.monotonic() < end:
            time.sleep(0.01)
    """,
    "an impatient block": "async def test_it():\n    async with asyncio.timeout(5):\n        await work()",
    "an impatient call": "done = subprocess.run(['true'], timeout=30)",
    "an impatient constant": "LIMIT_S = 20\nchild.wait(LIMIT_S)",
    "an impatient future": "async def test_it():\n    await asyncio.wait_for(work(), timeout=1)",
}
HONEST = {
    "an injected clock": """
        clock = FakeClock()
        start = clock.monotonic()
        work(clock)
        assert clock.monotonic() - start == 30
    """,
    "a time that is only handed on": "assert store.prune(time.time() + 60) == 2",
    "a measurement that is told": """
        began = time.perf_counter()
        work()
        print(time.perf_counter() - began)
        assert work() == 7
    """,
    "a patient wait": "async def test_it():\n    async with asyncio.timeout(60):\n        await work()",
    "a limit that is meant to run out": """
        async def test_it():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await asyncio.Event().wait()
    """,
    "a limit of the program": "done = await run(['true'], timeout_s=10)",
    "the shared wait": "until(lambda: child.poll() is not None, 'it ends')",
    "no limit at all": "child.wait()\ndone = subprocess.run(['true'])",
}


def found(source: str) -> list[timing.Finding]:
    return timing.findings("import asyncio, pytest, subprocess, time\n" + textwrap.dedent(source))


@pytest.mark.parametrize("source", JUDGED.values(), ids=JUDGED.keys())
def test_what_depends_on_the_speed_of_the_machine_is_found_once(source: str):
    assert len(found(source)) == 1


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST.keys())
def test_what_does_not_is_left_alone(source: str):
    assert found(source) == []


def test_a_finding_has_its_line_and_says_what_is_wrong():
    assert [str(one) for one in found("child.wait(5)\n")] == [
        "2: wait gives up after 5 s: wait for PATIENCE_S (tests/waiting.py), or less than a second"
    ]
