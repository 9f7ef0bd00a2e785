"""`tocsin` as a process that starts at once: forked from one that has imported the program.

A start of Python with all of the program takes more than a second of a processor, and the tests start services a
hundred times. The forks run the installed script with arguments, environment, directory and streams of their own; they
get signals, are killed and end as others do. Start a real one where a test is about imports or memory.
"""

import atexit
import contextlib
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TOCSIN = Path(sysconfig.get_path("scripts")) / "tocsin"
# Without what imports the clients of models, and without stand-ins, which no service imports.
ROOMS = ("tocsin.assembly", "tocsin.features", "tocsin.cli")
NOT_AHEAD = ("tocsin.cli.entry",)  # it changes how the process takes signals, as it shall in each fork
# Only a new interpreter reads these; `PYTHONPATH` is a list of folders.
OF_INTERPRETERS = ("PYTHON", "LC_", "COVERAGE_")
STREAMS = 3
NUMBER = 16  # bytes

# With the path of the socket and the arguments: the quickest start of Python, and no import of ours.
CLIENT = """#!{python} -IS
import json, os, socket, sys

os.umask(umask := os.umask(0))
order = {{
    "argv": [{program!r}, *map(os.fsdecode, sys.argv[1:])], "env": dict(os.environ), "cwd": os.getcwd(), "umask": umask,
    "session": False,
}}
raw = json.dumps(order).encode()
with socket.socket(socket.AF_UNIX) as life:
    life.connect({server!r})
    socket.send_fds(life, [b"%10d" % len(raw)], [0, 1, 2])
    life.sendall(raw)
    life.recv({number})
    code = int(life.recv({number}))
sys.exit(code if code >= 0 else 128 - code)
"""


def script(path: Path) -> Path:
    """Write a program that is the installed one, for scripts that call it often: its process only waits for a fork."""
    path.write_text(CLIENT.format(python=sys.executable, program=str(TOCSIN), server=_server(), number=NUMBER), "utf-8")
    path.chmod(0o755)
    return path


def starter(env: Mapping[str, str]) -> type[subprocess.Popen[bytes]]:
    """Return what starts `tocsin` in this environment: in a test, and where a fork does what Python does, a fork."""
    odd = [name for name in env if name.startswith(OF_INTERPRETERS) and name != "PYTHONPATH"]
    folders = env.get("PYTHONPATH", "").split(os.pathsep)
    if odd or any(Path(folder, "sitecustomize.py").exists() for folder in folders if folder):
        return subprocess.Popen
    # Outside pytest, the same scenarios are measured at full size.
    return QuickProcess if "PYTEST_CURRENT_TEST" in os.environ else subprocess.Popen


class QuickProcess(subprocess.Popen[bytes]):
    """A `Popen` whose process is such a fork; `args` begins with the installed script."""

    _life: socket.socket

    def _execute_child(self, *arguments: Any) -> None:  # what `Popen` does instead of fork and exec
        given = inspect.signature(super()._execute_child).bind(*arguments).arguments
        refused = ("preexec_fn", "pass_fds", "shell", "gid", "uid")
        assert not any(given[name] not in {None, -1, False, ()} for name in refused), "a fork has none of these"
        pipes = [given[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        streams = [
            own if given[name] == -1 else given[name] for own, name in enumerate(("p2cread", "c2pwrite", "errwrite"))
        ]
        order = {
            "argv": [os.fsdecode(word) for word in given["args"]],
            "env": dict(os.environ if given["env"] is None else given["env"]),
            "cwd": os.fsdecode(given["cwd"] or Path.cwd()),
            "umask": given["umask"],
            "session": bool(given["start_new_session"]),
        }
        self._life = socket.socket(socket.AF_UNIX)
        self._life.connect(_server())
        raw = json.dumps(order).encode()
        socket.send_fds(self._life, [b"%10d" % len(raw)], streams)
        self._life.sendall(raw)
        self.pid = int(self._life.recv(NUMBER))
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int | None:
        if self._ended(timeout) is None and timeout is not None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _ended(self, timeout: float | None) -> int | None:
        """Return the exit code, or `None` when it has not ended in time.

        As with other children, the number of the process is taken until this has returned, and free afterwards.
        """
        if self.returncode is None and _readable(self._life, timeout):
            with self._waitpid_lock:
                if self.returncode is None:
                    code = self._life.recv(NUMBER)
                    assert code, "the process that forks others has ended"
                    self._life.shutdown(socket.SHUT_WR)
                    self._life.recv(1)
                    self._life.close()
                    self.returncode = int(code)
        return self.returncode


def _readable(end: socket.socket, timeout: float | None) -> bool:
    if end.fileno() == -1:  # another thread has just read it
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(end, selectors.EVENT_READ)
        return bool(selector.select(timeout))


@cache
def _server() -> str:
    """Start the process that forks, once in a process of tests; return its socket."""
    folder = tempfile.TemporaryDirectory(prefix="quick-")
    path = f"{folder.name}/socket"
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": ""}
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.quick_start", path],
        cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert child.stdin
    assert child.stdout
    assert child.stdout.readline() == b"ready\n"

    def end() -> None:
        child.stdin.close()  # it ends at the end of its input, also if these tests are killed
        child.stdout.close()
        child.wait()
        folder.cleanup()

    atexit.register(end)
    return path


def main(path: str) -> None:
    """Import the program, then fork it for each connection."""
    kept = list(sys.path)
    _import_ahead()
    gc.collect()
    gc.freeze()
    order = _serve(path)
    if order:
        _become(order, kept)


def _import_ahead() -> None:
    for room in ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            if module.name not in NOT_AHEAD:
                importlib.import_module(module.name)


class _Forks:
    """The forks with a waiting client: an ended one keeps its process ID until its exit code was read."""

    def __init__(self) -> None:
        self.lives: dict[socket.socket, int] = {}
        self._told: set[socket.socket] = set()

    def add(self, life: socket.socket) -> dict[str, Any] | None:
        """Fork for an order; return it in the fork alone."""
        order, streams = _read(life)
        if pid := os.fork():
            for number in streams:
                os.close(number)
            life.sendall(b"%*d" % (NUMBER, pid))
            self.lives[life] = pid
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for inherited in (life, *self.lives):
            inherited.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return order

    def tell(self) -> None:
        """Tell how those have ended that have."""
        for life, pid in self.lives.items():
            if life not in self._told and (end := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                self._told.add(life)
                code = end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
                with contextlib.suppress(BrokenPipeError):  # its client has gone
                    life.sendall(b"%*d" % (NUMBER, code))

    def forget(self, life: socket.socket) -> None:
        """Reap a fork whose exit code was read; kill one whose client has gone."""
        pid = self.lives.pop(life)
        if life not in self._told:
            os.kill(pid, signal.SIGKILL)
        self._told.discard(life)
        os.waitpid(pid, 0)
        life.close()


def _serve(path: str) -> dict[str, Any]:
    """Fork at each order; return it in the fork, and nothing at the end of the input."""
    forks = _Forks()
    awake, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with awake, wake, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(1, b"ready\n")
        while True:
            ready = select.select([sys.stdin, awake, listener, *forks.lives], [], [])[0]
            if sys.stdin in ready:
                for life in list(forks.lives):
                    forks.forget(life)
                return {}
            if awake in ready:
                awake.recv(4096)
            for life in forks.lives.keys() & set(ready):
                forks.forget(life)
            if listener in ready and (order := forks.add(listener.accept()[0])):
                return order
            forks.tell()


def _read(life: socket.socket) -> tuple[dict[str, Any], list[int]]:
    size, streams, _, _ = socket.recv_fds(life, 10, STREAMS)
    raw = b""
    while len(raw) < int(size):
        raw += life.recv(int(size) - len(raw))
    return json.loads(raw), list(streams)


def _become(order: Mapping[str, Any], path: Sequence[str]) -> None:
    """Be what a new interpreter would be with these arguments and this environment."""
    argv, env = order["argv"], order["env"]
    os.environ.clear()
    os.environ.update(env)
    os.chdir(order["cwd"])
    if order["umask"] >= 0:
        os.umask(order["umask"])
    if order["session"]:
        os.setsid()
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    sys.argv = argv
    folders = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:] = [str(Path(argv[0]).parent), *folders, *path[1:]]
    importlib.invalidate_caches()
    runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
