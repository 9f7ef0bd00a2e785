"""Run one command and, when it ends, end everything that it left behind. A program of its own: see `process`.

    python -I -S reaper.py PROGRAM [ARGUMENT …]

    python -I -S reaper.py --serve

It is the subreaper of what it starts: a process that called `setsid` and lost its parent becomes a child of
this one, wherever it hides, and is killed at the end. Ends as the command did. Where the process that started
it dies, it kills everything and ends. Linux only.

With `--serve` it forks a reaper for each order at the socket that is its standard input: see `forking`.
"""

import ctypes
import os
import signal
import sys
import time

TYPE_CHECKING = False  # without the import of `typing`
if TYPE_CHECKING:
    import socket
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
    """Do what the command line says."""
    parent, words = os.getppid(), sys.argv[1:]
    if words == ["--serve"]:
        _serve()
    else:
        _supervise(words, None, parent)


def _supervise(argv: list[str], env: dict[bytes, bytes] | None, parent: int) -> None:
    """Start a command, wait for its end, and end likewise; without `env` it gets the variables of this process."""
    for number in _ENDING:
        signal.signal(number, lambda *_: _kill_all(os._exit))
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGUSR2, 0, 0, 0)
    if os.getppid() != parent:  # it died before that
        sys.exit(1)
    child = _spawn(argv, _own_variables() if env is None else env)
    for descriptor in (0, 1, 2):
        os.close(descriptor)  # whoever reads its output waits until all who hold the pipe have closed it
    status = _wait_for(child)
    _kill_all(lambda _: None)
    _end_as(status)


def _serve() -> None:
    """Fork a reaper for each order, and tell of its start and end, until the other end of the socket is closed."""
    import select
    import socket

    orders = socket.socket(fileno=0)
    awake, wake = os.pipe()
    for descriptor in (awake, wake):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with whoever orders
    try:
        while True:
            ready, _, _ = select.select([orders.fileno(), awake], [], [])
            if awake in ready:
                os.read(awake, 4096)
                _tell_ended(orders)
            if orders.fileno() in ready:
                flags = socket.MSG_CMSG_CLOEXEC
                number_of_order, rights, _, _ = orders.recvmsg(32, socket.CMSG_SPACE(5 * 4), flags)
                if not number_of_order:
                    return
                _fork(orders, number_of_order, memoryview(rights[0][2]).cast("i").tolist())
    except (BrokenPipeError, ConnectionResetError):
        return


def _tell_ended(orders: "socket.socket") -> None:
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            orders.send(b"ended %d %d" % (pid, status))
    except ChildProcessError:
        return


def _fork(orders: "socket.socket", number: bytes, descriptors: list[int]) -> None:
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        orders.send(b"failed %s %d" % (number, error.errno or 0))
        return
    finally:
        if os.getpid() == parent:
            for descriptor in descriptors:
                os.close(descriptor)
    if pid:
        orders.send(b"forked %s %d" % (number, pid))
        return
    try:
        _carry_out(descriptors, parent)
    finally:
        os._exit(1)


def _carry_out(descriptors: list[int], parent: int) -> None:
    """Become the reaper that an order asks for: three streams, the words of the command, perhaps a directory."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    *streams, order = descriptors[:4]
    count, *words = os.pread(order, os.fstat(order).st_size, 0).split(b"\0")
    argv, variables = words[: int(count)], words[int(count) :]
    for place in descriptors[4:]:
        os.fchdir(place)
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
    os.closerange(3, 1 + max(descriptors))
    _supervise([os.fsdecode(word) for word in argv], dict(v.split(b"=", 1) for v in variables), parent)


def _spawn(argv: list[str], env: dict[bytes, bytes]) -> int:
    """Start the command in a session of its own, so that `kill 0` in a script means the script; return its number."""
    path = env.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    places = [b""] if "/" in argv[0] else [place + b"/" if place else b"" for place in path]
    failed: OSError | None = None
    for place in places:
        try:
            # Twice as fast as `fork`, which copies the page tables of Python.
            return os.posix_spawn(place + os.fsencode(argv[0]), argv, env, setsid=True, setsigdef=_ENDING)
        except OSError as error:
            if failed is None or not isinstance(error, FileNotFoundError | NotADirectoryError):
                failed = error
    os.write(2, f"{argv[0]} could not be started: {failed and failed.strerror}\n".encode())
    os._exit(_NOT_FOUND)


def _own_variables() -> dict[bytes, bytes]:
    """Return the environment that was meant for the command: Python may have set LC_CTYPE in its own."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  # pathlib takes longer to load than all the rest
        return dict(pair.split(b"=", 1) for pair in file.read().split(b"\0") if b"=" in pair)


def _wait_for(child: int) -> int:
    """Reap whatever ends until the command itself does; return its wait status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _kill_all(then: "Callable[[int], object]") -> None:
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
