"""Secret input: a prompt without echo, or standard input; never an argument."""

import sys

from tocsin.core.errors import ConfigError
from tocsin.terminal.output import is_terminal

_PIPE = "pipe the value in, such as with `tocsin … < file`"


def secret_input(label: str, max_bytes: int) -> str:
    """Return the text typed twice at the terminal, or standard input without a final line end if it is one line.

    Raises ConfigError, which never quotes the input.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("standard input is closed", hint=_PIPE)
    return _typed(label) if is_terminal(sys.stdin) else _piped(max_bytes)


def _typed(label: str) -> str:
    import warnings
    from getpass import GetPassWarning, getpass

    with warnings.catch_warnings():
        warnings.simplefilter("error", GetPassWarning)
        try:
            first = getpass(f"{label}: ")
            again = getpass("The same again: ")
        except GetPassWarning:
            raise ConfigError("this terminal would show what is typed", hint=_PIPE) from None
        except EOFError:
            raise ConfigError("nothing was entered", hint=_PIPE) from None
    if first != again:
        raise ConfigError("the two values differ; nothing was changed", hint="run it again")
    return first


def _piped(max_bytes: int) -> str:
    try:
        raw: bytes | None = sys.stdin.buffer.read(max_bytes + 3)
    except OSError as error:
        raise ConfigError(f"standard input cannot be read: {error.strerror}", hint=_PIPE) from None
    if raw is None:  # an empty non-blocking pipe
        raise ConfigError("standard input cannot be read: it has no text yet", hint=_PIPE)
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    raw = raw if b"\n" in line else line  # the final line end of a key file belongs to the value
    if len(raw) > max_bytes:
        raise ConfigError(f"standard input holds more than {max_bytes:,} bytes", hint="keep large data in a file")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ConfigError("standard input is not text in UTF-8", hint="encode it first, such as with base64") from None
