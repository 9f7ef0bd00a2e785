"""The opener of the program for commands of features, which cannot import it."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.cli.opening import open_settings
from tocsin.core.config.settings import Settings
from tocsin.terminal.options import Options
from tocsin.terminal.output import Console

if TYPE_CHECKING:
    from tocsin.core.audit.trail import AuditTrail

T = TypeVar("T")


class OpenerForFeature:
    """Opens the program for the command of one feature."""

    def __init__(self, feature: str, options: Options, out: Console) -> None:
        self._feature = feature
        self._options = options
        self._out = out

    def settings(self, *, late: bool = True) -> Settings:
        """Read the settings without opening the program."""
        return open_settings(self._options, self._out, late=late)[0]

    def audit(self, settings: Settings) -> "AuditTrail":
        """Return the audit trail without opening the program."""
        from tocsin.assembly.audit import audit_trail

        return audit_trail(settings)

    def run_with_dashboard(
        self, work: Callable[[Any, Callable[[str, frozenset[str]], Any]], Coroutine[Any, Any, T]]
    ) -> T:
        """Open the program and run `work` with the service of the feature and a function that returns the dashboard."""

        def open_dashboard(app: Any, token: str, scopes: frozenset[str]) -> Any:
            from tocsin.assembly.full.dashboard import local_dashboard

            return local_dashboard(app, token, scopes)

        return self._run(lambda app: work(app.features.opened(self._feature), partial(open_dashboard, app)))

    def run(self, work: Callable[[Any], Coroutine[Any, Any, T]], *, writes: bool = False) -> T:
        """Open the program and run `work` with the service of the feature."""
        return self._run(lambda app: work(app.features.opened(self._feature)), writes=writes)

    def _run(self, work: Callable[[Any], Coroutine[Any, Any, T]], *, writes: bool = False) -> T:
        from tocsin.cli.running import with_app

        return with_app(self._options, self._out, work, writes=writes)
