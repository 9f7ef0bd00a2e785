"""doors: receive what other tools send."""

import argparse

from tocsin.features.contract import Commands
from tocsin.features.doors.commands.changing import configure_changes
from tocsin.features.doors.commands.importing import configure_import
from tocsin.features.doors.commands.trying import configure_trying
from tocsin.features.doors.commands.views import configure_views
from tocsin.terminal.options import add_subcommands


def configure_doors(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin doors`."""
    parser.epilog = "example: tocsin doors add alerts --profile oncall"
    commands = add_subcommands(
        parser,
        {
            "list": "list the doors",
            "show": "show one door; its address is not shown again",
            "add": "add a door and print its address, with what to paste where",
            "edit": "change fields of a door; its address stays",
            "rotate": "replace the address of a door; the former one is refused at once",
            "test": "send a test message, or show what a request would become",
            "rule": "make a rule from a request",
            "presets": "list the presets, or print one",
            "remove": "remove a door; its address is refused at once",
            "check": "check the rules in doors.yaml",
            "last": "show the newest requests of a door, and their outcomes",
        },
    )
    configure_views(commands)
    configure_changes(commands)
    configure_trying(commands)


COMMANDS: Commands = {"doors": configure_doors, "import": configure_import}
