"""The account of the dashboard: its name, the hash of its password, and the check of both."""

import asyncio
import secrets
import sqlite3
from collections import OrderedDict
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from hmac import compare_digest
from hmac import digest as hmac_digest

from tocsin.core.config.core_variables import DASHBOARD_PASS, DASHBOARD_PASS_HASH, DASHBOARD_USER
from tocsin.core.config.security import missing_dashboard_login
from tocsin.core.config.settings import Settings
from tocsin.core.errors import TocsinError
from tocsin.core.storage.database import Database
from tocsin.web.access.passwords import PasswordChecks, password_bytes
from tocsin.web.access.throttle import LoginThrottle
from tocsin.web.http.clients import bucket_key

# Maximum number of remembered addresses with a recent correct pair, and of recent wrong pairs.
MAX_REMEMBERED = 10_000


class WrongLoginError(TocsinError):
    """The name is unknown or the password is wrong; the caller is not told which."""

    code = "invalid-credentials"

    def __init__(self, *, repeated: bool = False) -> None:
        super().__init__("the user name or password is wrong", hint="check both; they are case-sensitive")
        self.repeated = repeated  # the same pair was rejected before and was not hashed again


class TooManyLoginsError(TocsinError):
    """There were too many wrong passwords; this one was not checked."""

    code = "rate-limited"

    def __init__(self) -> None:
        super().__init__("too many wrong passwords", hint="wait a few minutes; existing sessions and tokens still work")


class LoginMissingError(TocsinError):
    """The settings define no login."""

    code = "not-ready"


class DashboardAccount:
    """Checks names and passwords. `address` is the client's; failures are counted per address and per name."""

    def __init__(self, settings: Settings, database: Database, checks: PasswordChecks, throttle: LoginThrottle) -> None:
        self.user = settings[DASHBOARD_USER]
        self._missing = missing_dashboard_login(settings)
        self._password = settings[DASHBOARD_PASS]
        self._given_hash = settings[DASHBOARD_PASS_HASH]
        self._database = database
        self._checks = checks
        self._throttle = throttle
        self._preparing = asyncio.Lock()
        self._hash = ""
        # With a key that only this process has, the keys in memory reveal nothing about the password.
        self._key = secrets.token_bytes(32)
        self._right: OrderedDict[tuple[str, bytes], None] = OrderedDict()
        self._wrong: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def require_configured(self) -> None:
        """Raise LoginMissingError, with the settings to add, if there is no login."""
        if self._missing:
            raise LoginMissingError(
                "no sign-in is configured for the dashboard",
                hint=f"set {self._missing}, then start the dashboard again",
            )

    async def credential(self) -> str:
        """Return a digest that changes with the name or the password and reveals neither."""
        return sha256(f"{self.user}\0{await self._current_hash()}".encode()).hexdigest()

    async def check(self, name: str, password: str, address: str) -> None:
        """Return if the pair is correct; raise WrongLoginError, TooManyLoginsError or LoginMissingError.

        A wrong name takes as long as a wrong password: the password is hashed in both cases.
        """
        self.require_configured()
        self._refuse_blocked(name, address)
        async with self._turn(address):
            self._refuse_blocked(name, address)  # other attempts may have failed while this one waited
            await self._check_now(name, password, address)

    async def check_basic(self, name: str, password: str, address: str) -> None:
        """Check a pair that a script sends with every request, as `check` does, but hash it once per address.

        A script that keeps sending the same wrong pair is counted once, so that it does not lock others out. A pair
        that was correct stays accepted while others guess at its name and while its address is blocked, until too
        many guesses from there follow.
        """
        self.require_configured()
        pair = (bucket_key(address), self._digest(name, password))
        if self._is_known(pair, name, address):
            return
        async with self._turn(address):
            if self._is_known(pair, name, address):  # the same pair was checked while this one waited
                return
            try:
                await self._check_now(name, password, address)
            except WrongLoginError:
                _remember(self._wrong, pair)
                raise
            _remember(self._right, pair)

    def _turn(self, address: str) -> AbstractAsyncContextManager[None]:
        return self._checks.turn(bucket_key(address), lambda: self._throttle.count_failures(address))

    def _is_known(self, pair: tuple[str, bytes], name: str, address: str) -> bool:
        """Return True if the pair was accepted before; raise the rejection if one is known without hashing."""
        if pair in self._wrong:
            raise WrongLoginError(repeated=True)
        blocked = self._throttle.blocks_address(address)
        if pair in self._right and not (blocked and self._throttle.blocks_guesser(address)):
            self._right.move_to_end(pair)
            return True
        if blocked:
            self._throttle.count_guess(address)
        self._refuse_blocked(name, address)
        return False

    def _refuse_blocked(self, name: str, address: str) -> None:
        if self._throttle.blocks_address(address) or self._throttle.blocks_account(name):
            raise TooManyLoginsError

    async def _check_now(self, name: str, password: str, address: str) -> None:
        hashed = await self._current_hash()
        right = await self._checks.matches(password, hashed)
        if not (compare_digest(password_bytes(name), password_bytes(self.user)) & right):
            self._throttle.count(address, name)
            raise WrongLoginError

    def _digest(self, name: str, password: str) -> bytes:
        # The length distinguishes `a` + `bc` from `ab` + `c`.
        parts = password_bytes(name), password_bytes(password)
        return hmac_digest(self._key, b"%d:" % len(parts[0]) + b"".join(parts), "sha256")

    async def _current_hash(self) -> str:
        """Return the hash of the password: the configured hash, or the stored hash of the configured password."""
        if self._given_hash:
            return self._given_hash
        async with self._preparing:
            if not self._hash:
                kept = await self._database.read(_stored_hash)
                if not kept or not await self._checks.matches(self._password, kept):
                    kept = await self._checks.hash(self._password)
                    await self._database.execute("INSERT OR REPLACE INTO access_password VALUES (1, ?)", [kept])
                self._hash = kept
            return self._hash


def _remember(pairs: OrderedDict[tuple[str, bytes], None], pair: tuple[str, bytes]) -> None:
    pairs[pair] = None
    while len(pairs) > MAX_REMEMBERED:
        pairs.popitem(last=False)


def _stored_hash(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT hash FROM access_password").fetchone()
    return str(row["hash"]) if row else ""
