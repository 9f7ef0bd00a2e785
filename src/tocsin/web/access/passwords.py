"""Passwords: argon2id, one check at a time in a thread, because each takes 64 MiB and one core."""

import asyncio
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from tocsin.core.errors import TocsinError

if TYPE_CHECKING:
    from argon2 import PasswordHasher


class PasswordCost(NamedTuple):
    """The cost of hashing a password; the default is the second recommended option of RFC 9106, on one core."""

    passes: int = 3
    memory_kib: int = 64 * 1024
    lanes: int = 1


USUAL_COST = PasswordCost()


class PasswordHashError(TocsinError):
    """A hash cannot be computed: it is malformed, or needs more memory than available."""

    code = "not-ready"


def password_bytes(password: str) -> bytes:
    """Return the bytes to hash: the password in Unicode normal form, because systems type an `ö` differently.

    Source: RFC 7617, section 2.1, and RFC 8265, section 4.2.
    """
    return unicodedata.normalize("NFC", password).encode(errors="surrogatepass")


def hash_password(password: str, cost: PasswordCost = USUAL_COST) -> str:
    """Return the argon2id hash of a password, in the format of DASHBOARD_PASS_HASH."""
    return _hasher(cost).hash(password_bytes(password))


def _matches(password: str, hashed: str) -> bool:
    """Return True if the password has this hash. Raises PasswordHashError."""
    from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

    try:
        return _hasher(USUAL_COST).verify(hashed, password_bytes(password))  # the hash contains its cost parameters
    except VerifyMismatchError:
        return False
    except (VerificationError, InvalidHashError) as error:
        sentence = f"DASHBOARD_PASS_HASH cannot be used: {error}"
        raise PasswordHashError(sentence, hint="create a new one with `tocsin dashboard hash-password`") from None


def _hasher(cost: PasswordCost) -> "PasswordHasher":
    from argon2 import PasswordHasher  # takes 30 ms, which only password checks need

    return PasswordHasher(time_cost=cost.passes, memory_cost=cost.memory_kib, parallelism=cost.lanes)


class _Turns:
    """A lock that is granted first to those with the fewest failures, and among them to the latest.

    The first in line would be a guesser, and the one that has waited longest may have disconnected.
    """

    def __init__(self) -> None:
        self._taken = False
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def take(self, failures: int) -> None:
        if not self._taken:
            self._taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (failures, -next(self._numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it may have been granted just now
                self.give_back()
            raise

    def give_back(self) -> None:
        while self._waiting:
            turn = heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._taken = False


class PasswordChecks:
    """Runs one check at a time, with at most one waiting per address: many guesses do not delay others for long."""

    def __init__(self, cost: PasswordCost = USUAL_COST) -> None:
        self._cost = cost
        self._turns = _Turns()
        self._of_address: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, address: str, failures: Callable[[], int]) -> AsyncIterator[None]:
        """Wait until a check for this address may run; those with fewer `failures` go first."""
        own = self._of_address.setdefault(address, asyncio.Lock())
        self._waiting[address] += 1
        try:
            async with own:
                await self._turns.take(failures())
                try:
                    yield
                finally:
                    self._turns.give_back()
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address], self._of_address[address]

    async def matches(self, password: str, hashed: str) -> bool:
        """Return True if the password has this hash; call it within a `turn`."""
        return await asyncio.to_thread(_matches, password, hashed)

    async def hash(self, password: str) -> str:
        return await asyncio.to_thread(hash_password, password, self._cost)
