"""targets: list and check the named targets of `targets.yaml`."""

import argparse

from tocsin.assembly.program import App
from tocsin.channels.targets import NamedTargets
from tocsin.cli.running import with_app
from tocsin.core.errors import ChannelError
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console

Examined = list[tuple[str, str, ChannelError | None]]


def configure_targets(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin targets`."""
    parser.epilog = "example: tocsin targets check"
    commands = add_subcommands(
        parser,
        {
            "list": "list the targets of targets.yaml by name, without addresses",
            "check": "check targets.yaml, and that each secret in it exists",
        },
    )
    commands["list"].epilog = "example: tocsin targets list --json"
    commands["list"].set_defaults(run=_list_targets)
    commands["check"].epilog = "example: tocsin targets check"
    commands["check"].set_defaults(run=_check_targets)


def _list_targets(_: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> NamedTargets:
        return app.registry.targets

    targets = with_app(options, out, work)
    if targets.problem:
        raise targets.problem
    found = list(targets.all())
    if out.as_json:
        out.document([{"channel": kind, "name": name} for kind, name in found])
    elif found:
        out.table(("channel", "target"), found)
    else:
        out.note(f"no targets exist; add them to {targets.path}")
    return DONE


def _check_targets(_: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> Examined:
        found = await app.registry.targets.examine()
        if problem := app.registry.targets.problem:
            raise problem
        return found

    found = with_app(options, out, work)
    if out.as_json:
        out.document(
            [
                {"channel": kind, "name": name, "ok": not error, "error": error.sentence() if error else ""}
                for kind, name, error in found
            ]
        )
    else:
        rows = [(kind, name, error.sentence() if error else "ok") for kind, name, error in found]
        out.table(("channel", "target", "state"), rows)
    return FAILED if any(error for *_, error in found) else DONE
