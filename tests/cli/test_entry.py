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


def test_the_package_runs_as_a_module_like_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "tocsin", "--version"], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.startswith("tocsin ")
    wrong = subprocess.run([sys.executable, "-m", "tocsin", "nothing"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
