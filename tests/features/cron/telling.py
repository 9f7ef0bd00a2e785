"""Let a job fail for an hour, then work; return what is kept of that, and what the operator is sent."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.clocks import SteppedClock
from tests.features.cron.conftest import HUMAN, Crontab

from tocsin.features.cron.feature import FEATURE
from tocsin.features.notifications.feature import FEATURE as NOTIFICATIONS
from tocsin.features.notifications.store import NotificationFilter
from tocsin.testing.features import open_feature

HOUR_S = 3600.0


@dataclass(frozen=True)
class FailingHour:
    """What is left of it."""

    failures: int  # runs that are recorded as failed
    notifications: list[tuple[str, int]]  # titles and counts, the oldest first
    messages: list[str]


async def failing_hour(folder: Path, failures: int) -> FailingHour:
    """Run a job that fails so often within an hour of the injected clock, and once when it works again."""
    clock, keys, messages = SteppedClock(), set[str](), list[str]()

    async def tell(text: str, /, *, key: str, **_: Any) -> bool:
        if key not in keys:
            keys.add(key)
            messages.append(text)
        return True

    abilities = {"operator_chats": SimpleNamespace(find=list, tell=tell)}
    async with open_feature(
        FEATURE, folder, {"TZ": "UTC"}, clock=clock, others=(NOTIFICATIONS,), abilities=abilities
    ) as bench:
        crontab, opened = Crontab(bench, clock), bench.features.opened("notifications")
        flag = folder / "works"
        await crontab.add(command=f"test -e {flag}", name="backup", history_limit=failures)
        ended = 0
        for _ in range(failures):
            await crontab.jobs.start("backup", HUMAN)
            ended += 1
            await opened.forwarder.step()
            clock.advance(HOUR_S / failures)
        clock.advance(1)  # the sum of so many steps is not quite an hour
        await opened.forwarder.step()
        flag.touch()
        await crontab.jobs.start("backup", HUMAN)
        await opened.forwarder.step()
        kept = (await opened.service.search(NotificationFilter(limit=200))).items
        return FailingHour(ended, [(each.title, each.count) for each in kept][::-1], messages)
