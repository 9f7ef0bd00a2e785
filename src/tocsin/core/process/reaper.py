"""Run one command and, when it ends, end everything that it left behind. A program of its own: see `process`.

    python -I -S reaper.py PARENT PROGRAM [ARGUMENT …]

    python -I -S reaper.py --serve

It is the subreaper of what it starts: a process that called `setsid` and lost its parent becomes a child of
this one, wherever it hides, and is killed at the end. Ends as the command did. Where the process that started
it dies, whose number is PARENT, it kills everything and ends. Linux only.

With `--serve` it forks a reaper for each order at the socket that is its standard input: see `forking`.
"""

import ctypes
import gc
import marshal
import os
import signal
import sys
import time

TYPE_CHECKING = False  # avoids the import of `typing`
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
# Signals that end a program which does not handle them: none may end this one alone.
_ENDING = signal.valid_signals() - {
    signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
    signal.SIGURG, signal.SIGWINCH,
}  # fmt: skip
# The server ignores these: it ends with its client. Python ignores the last two.
_OUTLIVED = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ})
# If the server itself fails, it ends: handled, these would recur endlessly. Blocked, they still end the failing
# process, but cannot be sent to its reapers.
_FAULTS = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})
_NOT_FOUND = 127  # as in shells
_STUCK_S = 2.0  # killed, but still present: it hangs in the kernel
_PROC_BYTES = 65_536
# The digits of the number at the start of an order, and the maximum length of an order: command and environment.
_NUMBER, _MAX_ORDER_BYTES = 10, 160_000
_MOST_DESCRIPTORS = 4

# Looked up before the fork: memory that a reaper is the first to touch is copied for it, which is most of its cost.
# Hence plain numbers instead of enums, and no exceptions or library functions on the usual path.
_LIBC = ctypes.CDLL(None)
_prctl, _waitpid = _LIBC.prctl, _LIBC.waitpid
_DEFAULTS = tuple(map(int, _ENDING))
_WNOHANG = int(os.WNOHANG)
_SIGNAL = 0x7F  # the bits of a wait status that are nonzero after a signal; the exit code is above them


def main() -> None:
    """Run the reaper or the server, as the command line requests."""
    if sys.argv[1:] == ["--serve"]:
        _serve()
    else:
        _expect(_ENDING, 0)
        parent, *words = sys.argv[1:]
        _supervise([os.fsencode(word) for word in words], None, int(parent))


def _expect(numbers: "Iterable[signal.Signals]", server: int) -> None:
    """Handle these signals: a reaper kills all that it supervises, the server ends or continues."""

    def handle(number: int, _: object) -> None:
        if os.getpid() != server:
            _kill_all(os._exit)
        elif number not in _OUTLIVED:
            os._exit(1)

    for number in numbers:
        signal.signal(number, handle)


def _supervise(argv: list[bytes], env: dict[bytes, bytes] | None, parent: int) -> None:
    """Run a command and end with its status; without `env`, it gets the variables of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGUSR2, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before that
        sys.exit(1)
    child = _spawn(argv, _own_variables() if env is None else env)
    for descriptor in (0, 1, 2):
        os.close(descriptor)  # a reader of its output waits until every holder closes the pipe
    status = _wait_for(child)
    _kill_all(lambda _: None)
    _end_as(status)


def _serve() -> None:
    """Fork a reaper for each order and report its start and end, until the client closes the socket."""
    import select
    import socket

    gc.disable()  # a collection visits all objects
    orders, order = socket.socket(fileno=0), bytearray(_MAX_ORDER_BYTES)
    awake, wake = os.pipe()
    for descriptor in (awake, wake):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, _FAULTS)
    _expect(_ENDING - _FAULTS, os.getpid())  # inherited: saves sixty calls per reaper
    try:
        while True:
            ready, _, _ = select.select([orders.fileno(), awake], [], [])
            if awake in ready:
                os.read(awake, 4096)
                _tell_ended(orders)
            if orders.fileno() in ready:
                flags, room = socket.MSG_CMSG_CLOEXEC, socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
                size, rights, _, _ = orders.recvmsg_into([order], room, flags)
                if not size:
                    return
                _fork(orders, order, memoryview(rights[0][2]).cast("i").tolist())
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


def _fork(orders: "socket.socket", order: bytearray, descriptors: list[int]) -> None:
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        orders.send(b"failed %b %d" % (bytes(order[:_NUMBER]), error.errno or 0))
        return
    finally:
        if os.getpid() == parent:
            for descriptor in descriptors:
                os.close(descriptor)
    if pid:
        orders.send(b"forked %b %d" % (bytes(order[:_NUMBER]), pid))
        return
    try:
        _carry_out(order, descriptors, parent)
    finally:
        os._exit(1)


def _carry_out(order: bytearray, descriptors: list[int], parent: int) -> None:
    """Become the reaper of an order, which has three streams and possibly a directory."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    for place in descriptors[3:]:
        os.fchdir(place)
    for target in (0, 1, 2):
        os.dup2(descriptors[target], target)
    os.closerange(3, 1 + max(descriptors))
    argv, env = marshal.loads(memoryview(order)[_NUMBER:])  # noqa: S302  # the client is our parent process
    _supervise(argv, env, parent)


def _spawn(argv: list[bytes], env: dict[bytes, bytes]) -> int:
    """Start the command in its own session, so that `kill 0` in a script affects only the script; return its PID."""
    failed: OSError | None = None
    for place in [b""] if b"/" in argv[0] else _places(env):
        try:
            # Twice as fast as `fork`, which copies Python's page tables.
            return os.posix_spawn(place + argv[0], argv, env, setsid=True, setsigmask=(), setsigdef=_DEFAULTS)
        except OSError as error:
            if failed is None or not isinstance(error, FileNotFoundError | NotADirectoryError):
                failed = error
    os.write(2, b"%s could not be started: %s\n" % (argv[0], ((failed and failed.strerror) or "").encode()))
    os._exit(_NOT_FOUND)


def _places(env: dict[bytes, bytes]) -> list[bytes]:
    path = env.get(b"PATH", os.defpath.encode())
    return [place + b"/" if place else b"" for place in path.split(b":")]


def _own_variables() -> dict[bytes, bytes]:
    """Return the original environment for the command: Python may have set LC_CTYPE in its own."""
    return dict(pair.split(b"=", 1) for pair in _read("/proc/self/environ").split(b"\0") if b"=" in pair)


def _wait_for(child: int) -> int:
    """Reap all children until the command ends; return its wait status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _kill_all(then: "Callable[[int], object]") -> None:
    """Kill all children, and those that become children thereby; then call `then` with 1."""
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
    """Reap ended children; return whether any are left."""
    while (reaped := _waitpid(-1, None, _WNOHANG)) > 0:
        pass
    return bool(reaped == 0)


def _children() -> list[int]:
    own = os.getpid()
    try:
        return [int(pid) for pid in _read(f"/proc/{own}/task/{own}/children").split()]
    except OSError:  # a kernel without that file
        names = os.listdir("/proc")  # noqa: PTH208  # only names are needed
        return [pid for pid in map(int, filter(str.isdigit, names)) if _parent(pid) == own]


def _parent(pid: int) -> int:
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _read(path: str) -> bytes:
    """Return the content of a file; the first call of `open` would take a millisecond."""
    descriptor, said = os.open(path, os.O_RDONLY | os.O_CLOEXEC), b""
    try:
        while more := os.read(descriptor, _PROC_BYTES):
            said += more
    finally:
        os.close(descriptor)
    return said


def _end_as(status: int) -> None:
    if number := status & _SIGNAL:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(status >> 8)


if __name__ == "__main__":
    main()
