"""The entry point of the installed command: Ctrl-C while its modules load ends it without a traceback.

Only the console script imports this module: it changes the signal handling of the process.
"""

import signal

# Keep signals that the parent ignores, as a shell does for background jobs.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Load the command and run it; while it runs, an interrupt is an exception that it handles."""
    from tocsin.cli.main import main as run_command

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()
