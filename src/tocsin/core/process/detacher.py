"""Start one program that outlives its parent. A program of its own: see `detaching`.

    python -I -S detacher.py LOG PROGRAM [ARGUMENT …]

Prints the number of the program's process. It leads a session of its own, reads nothing, and writes into LOG, which
is emptied before. Ends with 1 and a sentence on standard error where the program cannot be started.
"""

import os
import signal
import sys

_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW


def main() -> None:
    """Start the program of the command line, and print its process ID once `exec` has succeeded."""
    log, *argv = sys.argv[1:]
    reader, writer = os.pipe()  # closed by `exec`: its end signals success
    child = os.fork()
    if not child:
        _become_the_program(argv, log, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8", errors="replace") as stream:
        reason = stream.read()
    if reason:
        os.waitpid(child, 0)
        sys.exit(reason)
    os.write(1, f"{child}\n".encode())


def _become_the_program(argv: list[str], log: str, writer: int) -> None:
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE, and `exec` would inherit that
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        output = os.open(log, _LOG_FLAGS, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execvpe(argv[0], argv, _environment())  # noqa: S606  # the purpose of this program
    except OSError as error:
        os.write(writer, f"{error.filename or argv[0]}: {error.strerror}".encode(errors="surrogateescape"))
    os._exit(1)


def _environment() -> dict[bytes, bytes]:
    """Return the original variables: Python may have set LC_CTYPE in its own."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  # pathlib takes longer to import than everything else
            pairs = [pair.split(b"=", 1) for pair in file.read().split(b"\0") if b"=" in pair]
    except OSError:
        return dict(os.environb)  # noqa: TID251  # /proc is missing
    return dict(pairs)


if __name__ == "__main__":
    main()
