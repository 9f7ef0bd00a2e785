"""Open an untrusted file in a child process, with one of the reader programs."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tocsin.core.errors import ProcessError, TocsinError
from tocsin.core.process.starting import ProcessTimeoutError, run


class UnreadableFileError(TocsinError):
    """A file cannot be read; the sentence is for the person who sent it."""

    code = "unreadable-file"


async def read_in_child(module: str, arguments: list[str], data: bytes, timeout_s: float) -> dict[str, Any]:
    """Return the output of a reader program; raise UnreadableFileError if it fails for any reason."""
    with tempfile.TemporaryDirectory(prefix="tocsin-file-") as directory:
        path = await asyncio.to_thread(_write, Path(directory), data)
        argv = [sys.executable, "-I", "-m", module, *arguments, str(path)]
        try:
            # The child receives no other variable, because the environment contains secrets.
            finished = await run(argv, timeout_s=timeout_s, env={"PATH": os.defpath, "LANG": "C.UTF-8"})
        except ProcessTimeoutError:
            raise UnreadableFileError("it takes too long to open") from None
        except ProcessError as error:
            raise UnreadableFileError("it cannot be opened now") from error
    try:
        reading = json.loads(finished.stdout)
    except ValueError:
        reading = None
    if finished.exit_code or not isinstance(reading, dict):
        raise UnreadableFileError("it cannot be opened: it is damaged or malicious")
    return reading


def _write(directory: Path, data: bytes) -> Path:
    path = directory / "file"
    path.touch(mode=0o600)
    path.write_bytes(data)
    return path
