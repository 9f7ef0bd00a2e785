"""The interface through which the commands of features open the program; the command line implements it."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from tocsin.core.audit.trail import AuditTrail
    from tocsin.core.config.settings import Settings

T = TypeVar("T")


class Program(Protocol):
    """The program, as opened by the command of a feature."""

    def settings(self, *, late: bool = True) -> "Settings":
        """Load the settings only; from here on, the console masks their secrets.

        Without `late`, the settings layers of features are skipped: for the commands of a feature that has one.
        """

    def audit(self, settings: "Settings") -> "AuditTrail":
        """Return the audit trail alone, for commands that end before the program is open; it needs no closing."""

    def run_with_dashboard(
        self, work: Callable[[Any, Callable[[str, frozenset[str]], Any]], Coroutine[Any, Any, T]]
    ) -> T:
        """Do as `run`, and also call `work` with a function that returns the dashboard as an ASGI application.

        The dashboard takes each request as one of the owner of the token that the function is called with, or, without
        a token, of the account that runs Tocsin, limited to the scopes.
        """

    def run(self, work: Callable[[Any], Coroutine[Any, Any, T]], *, writes: bool = False) -> T:
        """Open the program, run `work` with the result of the feature's `open`, and close the program.

        With `writes`, for commands that need the database, raises ConfigError if this user cannot write to the data
        directory.
        """
