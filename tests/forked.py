"""Processes that a test kills: forks of one that has opened the program, as a start of Python takes longer."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]

NO_SETTINGS: Mapping[str, str] = {}
Fork = Callable[[str], AbstractContextManager[None]]


@contextmanager
def forks(module: str, folder: Path, env: Mapping[str, str] = NO_SETTINGS) -> Iterator[Fork]:
    """Yield what runs a fork of `module` during a block, with a line that says what it does, and kills it at the end.

    The module forks once for each line of its standard input. It prints the number of the process, and an empty line
    when that has ended. `stderr` in the folder has what the processes print there.
    """
    own = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off", "TZ": "UTC"}
    command = [sys.executable, "-m", module]
    with (
        (folder / "stderr").open("wb") as problems,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**own, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=problems,
            bufsize=0,
        ) as maker,
    ):
        assert maker.stdin
        assert maker.stdout
        orders, told = maker.stdin, maker.stdout

        @contextmanager
        def fork(line: str) -> Iterator[None]:
            orders.write(f"{line}\n".encode())
            pid = int(told.readline())
            try:
                yield
            finally:
                os.kill(pid, signal.SIGKILL)
                assert told.readline() == b"\n"

        yield fork
