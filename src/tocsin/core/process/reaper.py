"""Run one command and, when it ends, end everything that it left behind. A program of its own: see `process`.

    python -I -S reaper.py PROGRAM [ARGUMENT …]

It is the subreaper of what it starts: a process that called `setsid` and lost its parent becomes a child of
this one, wherever it hides, and is killed at the end. Ends as the command did. Where the process that started
it dies, it kills everything and ends. Linux only.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
# Whatever ends a program that does not expect it: nothing may end this one alone.
_ENDING = signal.valid_signals() - {
    signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
    signal.SIGURG, signal.SIGWINCH,
}  # fmt: skip
_NOT_FOUND = 127  # as shells say it
_STUCK_S = 2.0  # killed and still there: it hangs in the kernel


def main() -> None:
    """Start the command of the command line, wait for its end, and end likewise."""
    parent = os.getppid()
    for number in _ENDING:
        signal.signal(number, lambda *_: _kill_all(os._exit))
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGUSR2, 0, 0, 0)
    if os.getppid() != parent:  # it died before that
        sys.exit(1)
    child = os.fork()
    if not child:
        _become_the_command(sys.argv[1:])
    for descriptor in (0, 1, 2):
        os.close(descriptor)  # whoever reads its output waits until all who hold the pipe have closed it
    status = _wait_for(child)
    _kill_all(lambda _: None)
    _end_as(status)


def _become_the_command(argv: list[str]) -> None:
    os.setsid()  # `kill 0` in a script means the script
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    # Python may have set LC_CTYPE: the command gets the environment that was meant for it.
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  # pathlib takes longer to load than all the rest
        pairs = [pair.split(b"=", 1) for pair in file.read().split(b"\0") if b"=" in pair]
    try:
        os.execvpe(argv[0], argv, dict(pairs))  # noqa: S606  # it is what this program is for
    except OSError as error:
        os.write(2, f"{argv[0]} could not be started: {error.strerror}\n".encode())
    os._exit(_NOT_FOUND)


def _wait_for(child: int) -> int:
    """Reap whatever ends until the command itself does; return its wait status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _kill_all(then: Callable[[int], object]) -> None:
    """Kill every child, and those that thereby become children, until there is none; then call `then` with 1."""
    deadline = time.monotonic() + _STUCK_S
    while time.monotonic() < deadline:
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        time.sleep(0.002)
    then(1)


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as file:  # noqa: PTH123
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a kernel without that file
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == own]  # noqa: PTH208


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
