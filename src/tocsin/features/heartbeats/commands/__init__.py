"""heartbeats: watch over jobs that run elsewhere."""

import argparse

from tocsin.features.contract import Commands
from tocsin.features.heartbeats.commands.addresses import configure_addresses
from tocsin.features.heartbeats.commands.changing import configure_changes
from tocsin.features.heartbeats.commands.importing import configure_import
from tocsin.features.heartbeats.commands.views import configure_views
from tocsin.terminal.options import add_subcommands


def configure_heartbeats(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin heartbeats`."""
    parser.epilog = "example: tocsin heartbeats add nightly --schedule '0 3 * * *' --grace 30m --notify oncall"
    commands = add_subcommands(
        parser,
        {
            "list": "list the heartbeats with their state",
            "show": "show one heartbeat, its instants and its latest pings",
            "add": "add a heartbeat",
            "url": "print the addresses of a heartbeat, with lines to paste",
            "edit": "change fields of a heartbeat",
            "pause": "stop watching a heartbeat",
            "resume": "watch a paused heartbeat again",
            "remove": "remove a heartbeat; its history is kept for 30 days",
            "log": "print what the latest ping reported",
            "new-address": "replace the address of a heartbeat",
            "new-key": "make a new ping key or badge key",
            "import": "take over the checks of healthchecks",
        },
    )
    configure_views(commands)
    configure_changes(commands)
    configure_addresses(commands)
    configure_import(commands["import"])


COMMANDS: Commands = {"heartbeats": configure_heartbeats}
