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
            "show": "show one job with all fields and its next runs",
            "edit": "change a job; the change applies from its next run",
            "enable": "enable the schedule of a job",
            "disable": "disable the schedule of a job, permanently or until a time",
            "run": "run a job now and print its output; its schedule does not change",
            "remove": "delete a job; its runs stay in the records",
            "logs": "list the runs of a job, and print the output of the newest one",
            "next": "explain a schedule and list its next runs",
            "upcoming": "list the runs due in the next hours",
            "import": "import jobs from a crontab, and report lines that cannot be imported",
        },
    )
    parser.epilog = 'example: tocsin cron add backup "0 3 * * *" "./backup.sh" --output oncall --output-on failure'
    configure_changes(commands)
    configure_views(commands)
    configure_import(commands["import"])


COMMANDS: Commands = {"cron": configure_cron}
