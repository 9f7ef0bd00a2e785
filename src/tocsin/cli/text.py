"""Texts that come from the shell: arguments and standard input."""

import sys

from tocsin.core.errors import ConfigError

# A message beyond that is a file, not a message; reading it all would only fill the memory.
MAX_STDIN_BYTES = 4 * 1024 * 1024


def message_of(argument: str) -> str:
    """Return the message that an argument means: itself, or standard input for `-`."""
    if argument != "-":
        return readable(argument)
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("standard input is closed", hint="pipe the text in, or write it instead of `-`")
    try:
        raw = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"standard input cannot be read: {error.strerror}") from None
    if len(raw) > MAX_STDIN_BYTES:
        raise ConfigError("standard input holds more than 4 MiB", hint="send a shorter text")
    # What is no UTF-8 arrives as U+FFFD. The line end is the shell's, not the message's.
    return raw.decode("utf-8", errors="replace").removesuffix("\n").removesuffix("\r")


def readable(argument: str) -> str:
    """Return an argument of the shell with U+FFFD where its bytes are no text."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
