"""`ssh_deny.txt`: commands that are never run. One RE2 pattern a line; a mistake in it refuses every command."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tocsin.core.reading.value import shorten
from tocsin.core.storage.files import read_limited
from tocsin.features.ssh.model import CommandDeniedError, DenyListError

FILE_NAME = "ssh_deny.txt"


class DenyList:
    """The patterns of one file, which is read at every check."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self, command: str) -> None:
        """Raise CommandDeniedError for a command that a line refuses, DenyListError if the file has an error."""
        for number, source, pattern in self.patterns():
            if pattern.search(command.encode(errors="replace")):
                sentence = f"the command is rejected by {self.path.name}:{number}: {shorten(source)}"
                raise CommandDeniedError(sentence, hint=f"change the command, or that line of {self.path}")

    def patterns(self) -> list[tuple[int, str, Any]]:
        """Return line, source and compiled form of each pattern; raises DenyListError."""
        return list(self._compiled()) if os.path.lexists(self.path) else []

    def _compiled(self) -> Iterator[tuple[int, str, Any]]:
        # Takes 5 ms to import: commands that run nothing do not pay for it.
        import re2  # type: ignore[import-untyped]  # it has no types

        options = re2.Options()
        options.log_errors = False  # it would write to standard error
        try:
            lines = read_limited(self.path).decode("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise DenyListError(
                f"{self.path} is not UTF-8 text", hint="correct the file; until then, no command runs"
            ) from None
        for number, line in enumerate(lines, 1):
            source = line.strip()
            if not source or source.startswith("#"):
                continue
            try:
                yield number, source, re2.compile(source, options)
            except re2.error:
                sentence = f"{self.path}:{number}: invalid pattern: {shorten(source)}"
                raise DenyListError(sentence, hint="correct the line; until then, no command runs") from None
