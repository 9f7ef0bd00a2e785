"""Accounts of the dashboard, as the settings of a process make them."""

from dataclasses import dataclass
from pathlib import Path

from tocsin.core.config.settings import Settings
from tocsin.core.storage.database import Database
from tocsin.testing.fakes import FakeClock
from tocsin.web.access.account import DashboardAccount
from tocsin.web.access.passwords import PasswordChecks, PasswordCost
from tocsin.web.access.throttle import LoginThrottle

CHEAP = PasswordCost(passes=1, memory_kib=8)
LOGIN = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "a made-up password"}
RIGHT = ("anna", "a made-up password")


class CountedChecks(PasswordChecks):
    """Counts how many passwords were hashed, and how many at the same time."""

    def __init__(self) -> None:
        super().__init__(CHEAP)
        self.checked = 0
        self.running = 0
        self.most_running = 0

    async def matches(self, password: str, hashed: str) -> bool:
        self.checked += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await super().matches(password, hashed)
        finally:
            self.running -= 1


@dataclass(frozen=True)
class Accounts:
    """Makes the account of one process after another over the same database."""

    database: Database
    clock: FakeClock
    data_dir: Path

    def make(self, checks: PasswordChecks | None = None, **env: str) -> DashboardAccount:
        settings = Settings.load(environ=env or LOGIN, data_dir=self.data_dir)
        throttle = LoginThrottle(self.clock.monotonic)
        return DashboardAccount(settings, self.database, checks or PasswordChecks(CHEAP), throttle)
