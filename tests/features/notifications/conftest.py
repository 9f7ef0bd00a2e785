"""Open notifications with a clock that the test moves, and the texts that the operator was sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.audit_entries import check_audit_log

from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.notifications.feature import FEATURE
from tocsin.features.notifications.hooks import OpenNotifications
from tocsin.features.notifications.model import Notification
from tocsin.features.notifications.service import Notifications
from tocsin.features.notifications.store import NotificationFilter
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import FeatureBench, open_feature


@dataclass
class Office:
    """The notifications of a data directory."""

    bench: FeatureBench
    clock: FakeClock
    told: list[str] = field(default_factory=list)

    @property
    def opened(self) -> OpenNotifications:
        opened: OpenNotifications = self.bench.service
        return opened

    @property
    def service(self) -> Notifications:
        return self.opened.service

    async def notify(self, title: str, level: NoticeLevel = NoticeLevel.WARNING, **given: Any) -> None:
        await self.bench.features.abilities.notices.notify(Notice(title, level=level, **given))

    async def all(self) -> list[Notification]:
        return list((await self.service.search(NotificationFilter(limit=200))).items)

    async def forward(self) -> list[str]:
        """Return what the operator is sent now."""
        before = len(self.told)
        await self.opened.forwarder.step()
        return self.told[before:]


@asynccontextmanager
async def open_office(folder: Path, *, anybody: bool = True, **env: str) -> AsyncIterator[Office]:
    """Open notifications; without `anybody` there is no chat to tell."""
    keys: set[str] = set()
    texts: list[str] = []

    async def tell(text: str, *, key: str) -> bool:
        if anybody and key not in keys:
            keys.add(key)
            texts.append(text)
        return anybody

    clock = FakeClock()
    async with open_feature(
        FEATURE, folder, env, clock=clock, abilities={"operator_chats": SimpleNamespace(find=list, tell=tell)}
    ) as bench:
        yield Office(bench, clock, texts)
        check_audit_log(bench.app.audit.log)
