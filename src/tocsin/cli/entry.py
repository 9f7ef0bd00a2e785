"""Where the installed command begins: Ctrl-C while its modules load ends it without a traceback.

Only the script imports this module: it changes what the signal does to the process.
"""

import signal

# Keep signals that the parent ignores, as a shell does for jobs in the background.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Load the command and run it; an interrupt is then an exception that it handles."""
    from tocsin.cli.main import main as run_command

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()
