"""Run a command with the open program."""

import argparse
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.cli.opening import open_settings
from tocsin.core.config.core_variables import STORE
from tocsin.core.config.data_dir import require_usable
from tocsin.core.tracing.spans import TRACEPARENT_VARIABLE
from tocsin.terminal.options import Options
from tocsin.terminal.output import Console
from tocsin.terminal.packages import how_to_install, is_installed
from tocsin.terminal.signals import run_until_signal

T = TypeVar("T")


def with_app(
    options: Options, out: Console, work: Callable[[App], Coroutine[Any, Any, T]], *, writes: bool = False
) -> T:
    """Open the program, run `work` on it, and close it again; termination signals cancel `work`.

    With `writes`, for commands that need the database, raise ConfigError if this user cannot write to the data
    directory.
    """
    settings, installed = open_settings(options, out)
    if settings.exports_traces and not is_installed("opentelemetry.sdk"):
        out.note(f"tocsin: traces are not exported: {how_to_install('opentelemetry.sdk')}")
    traceparent = settings.from_parent(TRACEPARENT_VARIABLE)
    if writes and settings[STORE] == "sqlite":
        require_usable(settings.data_dir)

    async def call() -> T:
        async with open_app(settings, installed, direct_transport, traceparent=traceparent) as app:
            return await work(app)

    return run_until_signal(call())


def serve(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    """Run services, for groups of commands whose others need neither a web server nor uvloop."""
    from tocsin.cli.commands.services import run_services

    return run_services(arguments, options, out)
