"""The ledger of the scheduler under any order of time, outages, crashes and clocks that are set."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.clocks import SteppedClock
from tests.features.cron.conftest import Crontab, Service, opened, running

from tocsin.core.process.identity import own_identity
from tocsin.features.cron.model import KIND

HOUR = 3600
DEAD = own_identity().replace(":", "1:", 1)
PERIODS = st.sampled_from([300, 1800])
_TAKEN = "UPDATE runs SET status = 'running', started_at = queued_at, owner = ? WHERE status = 'queued'"


async def answer(_: str, /, **__: object) -> str:
    return "hello"


ABILITIES = {"models": SimpleNamespace(ask=answer)}


class LedgerStates(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.open, self.life = AsyncExitStack(), AsyncExitStack()
        self.periods: dict[str, int] = {}
        self.crontab: Crontab = self.now(
            self.open.enter_async_context(opened(Path(self.folder.name), clock=SteppedClock(), abilities=ABILITIES))
        )
        self.start()

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        left = self.now(self.crontab.open_runs())
        while left:  # for hours, after outages of many jobs: two catch-ups start in 5 s
            left = self.fewer_than(left)
        self.every_instant_is_recorded_once()
        self.now(self.life.aclose())
        self.now(self.open.aclose())
        self.loop.close()
        self.folder.cleanup()

    def fewer_than(self, left: int) -> int:
        for _ in range(30):
            self.now(self.service.pass_time(10))
            if (found := self.now(self.crontab.open_runs())) < left:
                return found
        raise AssertionError(f"of {left} runs that have not ended, none ended within 5 minutes")

    def now(self, work):
        return self.loop.run_until_complete(work)

    def start(self) -> None:
        self.service: Service = self.now(self.life.enter_async_context(running(self.crontab)))

    @rule(
        period=PERIODS, catchup=st.sampled_from(["none", "latest", "all"]), overlap=st.sampled_from(["skip", "queue"])
    )
    def add(self, period: int, catchup: str, overlap: str) -> None:
        name = f"job{len(self.periods)}"
        fields = {"type": "prompt", "catchup": catchup, "overlap": overlap, "catchup_window_seconds": 7 * 86_400}
        self.now(self.crontab.add(f"every {period}s", "hello", name, **fields, history_limit=100_000))
        self.periods[name] = period

    @rule(seconds=st.integers(1, 900))
    def pass_time(self, seconds: int) -> None:
        self.now(self.service.pass_time(seconds))

    @rule(seconds=st.integers(0, 12 * HOUR))
    def stop_for(self, seconds: int) -> None:
        self.now(self.life.aclose())
        self.crontab.clock.advance(seconds)
        self.start()

    @rule(seconds=st.integers(1, 900), taken=st.booleans())
    def die_before_what_is_due_has_begun(self, seconds: int, taken: bool) -> None:
        self.now(self.crontab.hold_back())
        self.now(self.service.pass_time(seconds))
        self.now(self.life.aclose())
        self.now(self.crontab.let_go())
        if taken:  # or right after it was noted as begun
            self.now(self.crontab.bench.app.database.write(lambda c: c.execute(_TAKEN, [DEAD]).rowcount))
        self.start()

    @rule(seconds=st.integers(-12 * HOUR, 12 * HOUR))
    def set_the_clock(self, seconds: int) -> None:
        self.crontab.clock.jump(seconds)
        self.now(self.service.pass_time(31))

    @invariant()
    def every_instant_is_recorded_once(self) -> None:
        if not hasattr(self, "crontab"):
            return
        sql = "SELECT subject_name, scheduled_for FROM runs WHERE kind = ?"
        found = self.now(self.crontab.bench.app.database.read(lambda c: [tuple(row) for row in c.execute(sql, [KIND])]))
        recorded = {(name, round(at, 3)) for name, at in found}
        assert len(recorded) == len(found)
        for job in self.now(self.crontab.jobs.store.all()):
            period = self.periods[job.name]
            last = int((job.cursor - job.anchor) / period)
            planned = {(job.name, round(job.anchor + n * period, 3)) for n in range(1, last + 1)}
            assert planned <= recorded, f"lost: {sorted(planned - recorded)[:3]}"


LedgerStates.TestCase.settings = settings(max_examples=5, stateful_step_count=6, deadline=None)
TestLedgerStates = LedgerStates.TestCase
