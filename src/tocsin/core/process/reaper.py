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
    from collections.abc import Callable, Iterable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
# Whatever ends a program that does not expect it: nothing may end this one alone.
_ENDING = signal.valid_signals() - {
    signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
    signal.SIGURG, signal.SIGWINCH,
}  # fmt: skip
# What the server outlives: it ends with whoever orders. Python ignores the last two.
_OUTLIVED = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ})
# Where the server itself fails, it ends: handled, it would fail again and again.
_FAULTS = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})
_NOT_FOUND = 127  # as shells say it
_STUCK_S = 2.0  # killed and still there: it hangs in the kernel
_PROC_BYTES = 65_536

# Looked up before a fork: what a reaper is the first to touch is copied for it, and that is most of what it costs.
_prctl = ctypes.CDLL(None).prctl
# Without the enums of `signal`, which take four times as long in a reaper that was just forked.
_handle = getattr(signal.signal, "__wrapped__", signal.signal)


def main() -> None:
    """Do what the command line says."""
    parent, words = os.getppid(), sys.argv[1:]
    if words == ["--serve"]:
        _serve()
    else:
        _expect(_ENDING, 0)
        _supervise([os.fsencode(word) for word in words], None, parent)


def _expect(numbers: "Iterable[signal.Signals]", server: int) -> None:
    """Handle these signals: a reaper kills all that it supervises, the server ends or goes on."""

    def handle(number: int, _: object) -> None:
        if os.getpid() != server:
            _kill_all(os._exit)
        elif number not in _OUTLIVED:
            os._exit(1)

    for number in numbers:
        _handle(number, handle)


def _supervise(argv: list[bytes], env: dict[bytes, bytes] | None, parent: int) -> None:
    """Start a command, wait for its end, and end likewise; without `env` it gets the variables of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGUSR2, 0, 0, 0)
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
    _expect(_ENDING - _FAULTS, os.getpid())  # inherited: sixty calls fewer for each reaper
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
    _expect(_FAULTS, 0)
    os.setsid()
    *streams, order = descriptors[:4]
    count, *words = os.pread(order, os.fstat(order).st_size, 0).split(b"\0")
    argv, variables = words[: int(count)], words[int(count) :]
    for place in descriptors[4:]:
        os.fchdir(place)
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
    os.closerange(3, 1 + max(descriptors))
    _supervise(argv, dict(pair.split(b"=", 1) for pair in variables), parent)


def _spawn(argv: list[bytes], env: dict[bytes, bytes]) -> int:
    """Start the command in a session of its own, so that `kill 0` in a script means the script; return its number."""
    path = env.get(b"PATH", os.fsencode(os.defpath)).split(b":")
    places = [b""] if b"/" in argv[0] else [place + b"/" if place else b"" for place in path]
    failed: OSError | None = None
    for place in places:
        try:
            # Twice as fast as `fork`, which copies the page tables of Python.
            return os.posix_spawn(place + argv[0], argv, env, setsid=True, setsigdef=_ENDING)
        except OSError as error:
            if failed is None or not isinstance(error, FileNotFoundError | NotADirectoryError):
                failed = error
    os.write(2, b"%s could not be started: %s\n" % (argv[0], ((failed and failed.strerror) or "").encode()))
    os._exit(_NOT_FOUND)


def _own_variables() -> dict[bytes, bytes]:
    """Return the environment that was meant for the command: Python may have set LC_CTYPE in its own."""
    return dict(pair.split(b"=", 1) for pair in _read("/proc/self/environ").split(b"\0") if b"=" in pair)


def _wait_for(child: int) -> int:
    """Reap whatever ends until the command itself does; return its wait status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _kill_all(then: "Callable[[int], object]") -> None:
    """Kill every child, and those that thereby become children, until there is none; then call `then` with 1."""
    deadline = time.monotonic() + _STUCK_S
    while _has_children() and time.monotonic() < deadline:
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        if _has_children():
            time.sleep(0.002)
    then(1)


def _has_children() -> bool:
    """Reap what has ended; return whether anything is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    own = os.getpid()
    try:
        return [int(pid) for pid in _read(f"/proc/{own}/task/{own}/children").split()]
    except OSError:  # a kernel without that file
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent(pid) == own]  # noqa: PTH208


def _parent(pid: int) -> int:
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _read(path: str) -> bytes:
    """Return what a file says; `open` takes a millisecond where it is called first."""
    descriptor, said = os.open(path, os.O_RDONLY | os.O_CLOEXEC), b""
    try:
        while more := os.read(descriptor, _PROC_BYTES):
            said += more
    finally:
        os.close(descriptor)
    return said


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
