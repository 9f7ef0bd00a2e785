"""Processes that a test kills: forks of one that has opened the program, as a start of Python takes longer."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

NO_SETTINGS: Mapping[str, str] = {}
Fork = Callable[[str], AbstractContextManager[None]]
Work = Coroutine[Any, Any, None]


@contextmanager
def forks(module: str, folder: Path, env: Mapping[str, str] = NO_SETTINGS) -> Iterator[Fork]:
    """Yield what runs a fork of `module` during a block, with a line that says what it does, and kills it at the end.

    The module calls `serve_forks`. `stderr` in the folder has what the processes print there.
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


def serve_forks(live: Callable[[str], Work], once: Callable[[], Work] | None = None) -> None:
    """Run `live` in a fork for each line of standard input, with that line; print an empty line when it has ended.

    `live` calls `begun`. Before, `once` loads everything, in a data directory of its own.
    """
    own = os.environ["TOCSIN_DATA_DIR"]
    if once:
        with tempfile.TemporaryDirectory() as elsewhere:
            os.environ["TOCSIN_DATA_DIR"] = elsewhere
            asyncio.run(once())
        os.environ["TOCSIN_DATA_DIR"] = own
    for line in sys.stdin:
        if not (pid := os.fork()):
            sys.stdin.close()
            asyncio.run(live(line.strip()))
            os._exit(0)
        os.waitpid(pid, 0)
        os.write(1, b"\n")


def begun() -> None:
    """Print the number of this process, which works from now on."""
    os.write(1, b"%d\n" % os.getpid())
