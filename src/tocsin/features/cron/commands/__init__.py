"""cron: add, list, show, change, run and follow jobs, and take over a crontab."""

import argparse

from tocsin.features.contract import Commands
from tocsin.features.cron.commands.changing import configure_changes
from tocsin.features.cron.commands.importing import configure_import
from tocsin.features.cron.commands.views import configure_views
from tocsin.terminal.options import add_subcommands


def configure_cron(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin cron`."""
    commands = add_subcommands(
        parser,
        {
            "add": "add a job",
            "list": "list the jobs with their next and last run",
            "show": "show one job with all its fields and its next runs",
            "edit": "change fields of a job, from its next run on",
            "enable": "let a job run at its times again",
            "disable": "let a job not run at its times, for good or until a time",
            "run": "run a job now and show what it prints; its schedule stays",
            "remove": "delete a job; its runs stay in the records",
            "logs": "show the runs of a job and what the newest one printed",
            "next": "explain a schedule in words and list its next runs, with clock changes",
            "upcoming": "list what runs within the next hours",
            "import": "take over a crontab, and say what cannot be taken over",
        },
    )
    parser.epilog = 'example: tocsin cron add backup "0 3 * * *" "./backup.sh" --output oncall --output-on failure'
    configure_changes(commands)
    configure_views(commands)
    configure_import(commands["import"])


COMMANDS: Commands = {"cron": configure_cron}
