"""Secret input: a prompt without echo, or standard input; never an argument."""

import sys

from tocsin.core.errors import ConfigError
from tocsin.terminal.output import is_terminal

_PIPE = "pipe the value in, for example `tocsin … < file`"


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
            again = getpass("Repeat it: ")
        except GetPassWarning:
            raise ConfigError("the terminal cannot hide the input", hint=_PIPE) from None
        except EOFError:
            raise ConfigError("no value was entered", hint=_PIPE) from None
    if first != again:
        raise ConfigError("the two values differ; no change was made", hint="run the command again")
    return first


def _piped(max_bytes: int) -> str:
    try:
        raw: bytes | None = sys.stdin.buffer.read(max_bytes + 3)
    except OSError as error:
        raise ConfigError(f"cannot read standard input: {error.strerror}", hint=_PIPE) from None
    if raw is None:  # an empty non-blocking pipe
        raise ConfigError("cannot read standard input: no data is available yet", hint=_PIPE)
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    raw = raw if b"\n" in line else line  # the final line end of a key file belongs to the value
    if len(raw) > max_bytes:
        raise ConfigError(f"standard input is larger than {max_bytes:,} bytes", hint="keep large data in a file")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ConfigError("standard input is not UTF-8 text", hint="encode it first, for example with base64") from None
