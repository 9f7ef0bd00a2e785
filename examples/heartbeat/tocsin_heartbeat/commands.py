"""heartbeat: tell when a service last ran."""

import argparse

from tocsin.features.contract import Commands
from tocsin.terminal.output import DONE, FAILED, Console
from tocsin.terminal.program import Program
from tocsin_heartbeat.service import Heartbeat


def configure_heartbeat(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin heartbeat`."""
    parser.epilog = "example: tocsin heartbeat\n\nexit code 0: a service runs, 1: none does"
    parser.set_defaults(run=_heartbeat)


def _heartbeat(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(heartbeat: Heartbeat) -> float | None:
        return await heartbeat.age_s()

    age_s = program.run(work)
    if out.as_json:
        out.document({"age_s": age_s})
    else:
        out.line("no service has run yet" if age_s is None else f"the last sign of life came {age_s:.0f} s ago")
    return FAILED if age_s is None else DONE


COMMANDS: Commands = {"heartbeat": configure_heartbeat}
