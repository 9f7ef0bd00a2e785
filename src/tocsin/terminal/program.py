"""What the command of a feature opens; the command line implements it above the features."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.config.settings import Settings

T = TypeVar("T")


class Program(Protocol):
    """The program as a command of one feature opens it."""

    def settings(self, *, late: bool = True) -> "Settings":
        """Read the settings and open nothing else; from here on the console masks their secrets.

        Without `late`, no layer of a feature is asked: for the commands of a feature that has one.
        """
        ...

    def audit(self, settings: "Settings") -> "AuditTrail":
        """Return the audit trail alone, for commands that are done before the program is open; nothing closes it."""
        ...

    def run(self, work: Callable[[Any], Coroutine[Any, Any, T]], *, writes: bool = False) -> T:
        """Open the program, run `work` with what the feature's `open` returns, and close it again.

        With `writes`, for commands that are useless without the database, raises ConfigError where this user cannot
        write to the data directory.
        """
        ...
