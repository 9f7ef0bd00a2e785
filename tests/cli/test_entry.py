"""What the installed command does before its modules are loaded."""

import subprocess
import sys

from tests.waiting import PATIENCE_S

_SAY = "import signal, sys; from tocsin.cli import entry; print(signal.getsignal(signal.SIGINT).name)"
_RUN = "import sys; sys.argv = ['tocsin', '--version']; from tocsin.cli.entry import main; main()"


def _python(code: str, before: str = "") -> str:
    command = ["sh", "-c", f'{before}exec "$0" -c "$1"', sys.executable, code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


def test_an_interrupt_while_modules_load_ends_the_command_without_a_traceback():
    assert _python(_SAY) == "SIG_DFL\n"
    assert _python(_SAY, "trap '' INT; ") == "SIG_IGN\n", "as of a job in the background"
    assert _python(_RUN).startswith("tocsin ")
