"""The runs of a program, their settler, and the presence of processes."""

from typing import TYPE_CHECKING

from tocsin.core.process.presence import Presence
from tocsin.runs.control import RunControl
from tocsin.runs.engine.settling import RunSettler, SettlerDependencies
from tocsin.runs.service import Runs

if TYPE_CHECKING:
    from tocsin.assembly.program import App

RUNS_FOLDER = "runs"


class RunOpener:
    """Creates the parts that record, settle and own runs."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def presence(self) -> Presence:
        """Return the presence of the processes that share the inbox."""
        return Presence(self._app.stores.beats(), self._app.clock)

    def runs(self) -> Runs:
        app = self._app
        store, folder = app.stores.runs(), app.settings.data_dir / RUNS_FOLDER
        return Runs(store, folder, app.clock, app.presence(), redact=app.redact, settler=app.run_settler())

    def settler(self) -> RunSettler:
        app = self._app
        parts = SettlerDependencies(app.stores.runs(), app.output, app.audit, app.clock, app.features.run_type)
        return RunSettler(parts)


def open_run_control(app: "App") -> RunControl:
    """Return the operations of people on runs."""
    return RunControl(app.runs(), app.audit, app.clock, app.features.abilities.run_starter.start)
