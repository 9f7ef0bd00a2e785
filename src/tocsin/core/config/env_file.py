"""Change single settings of a `.env` file, and keep everything else in it."""

import re
from collections.abc import Mapping
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import write_atomically


def change_env_file(path: Path, values: Mapping[str, str]) -> None:
    """Set `values` in a `.env` file: in place of the setting or of its commented line, else at the end.

    A missing file is created, readable only by its owner. Raises ConfigError or WriteError; then nothing has changed.
    """
    if path.exists() and not path.is_file():  # such as /dev/null, which a replacement would destroy
        raise ConfigError(f"cannot change {path}: it is not a regular file", hint="name another one with --env-file")
    try:
        before = path.read_text("utf-8") if path.exists() else ""
        write_atomically(path, changed(before, values))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(
            f"cannot change {path}: {reason}", hint="it must be UTF-8 text that this user may read and write"
        ) from None


def changed(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a `.env` file with `values` set."""
    for name, value in values.items():
        line = f"{name}={quoted(value)}"
        # The last of several lines applies; a commented line is used only if there is none.
        for pattern in (rf"^[ \t]*(?:export[ \t]+)?{name}[ \t]*=.*$", rf"^#{name}=.*$"):
            if found := list(re.finditer(pattern, text, re.MULTILINE)):
                text = text[: found[-1].start()] + line + text[found[-1].end() :]
                break
        else:
            text = f"{text.rstrip()}\n{line}\n".lstrip("\n")
    return text


def quoted(value: str) -> str:
    """Quote `value` for a `.env` file if a blank or a `#` would end it."""
    if re.fullmatch(r"[\w./:@%+=,~-]*", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
