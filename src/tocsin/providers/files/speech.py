"""Transcribe speech on this machine, in a child process."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tocsin.core.errors import TocsinError

# Receives the module, the arguments, the content of the file and the time limit in seconds; returns the child's output.
ReadInChild = Callable[[str, list[str], bytes, float], Awaitable[dict[str, Any]]]

TRANSCRIBE_TIMEOUT_S = 300.0
PACKAGES = ("av", "pywhispercpp")


class SpeechError(TocsinError):
    """Transcription is unavailable; the message contains the command that fixes it."""

    code = "no-speech"


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """A model file that is verified by its size and digest."""

    file_name: str
    size: int
    sha256: str
    url: str


# whisper.cpp, the English base model: MIT licence.
BASE_EN = SpeechModel(
    "ggml-base.en.bin",
    147_964_211,
    "a03779c86df3323075f5e796cb2ce5029f00ec8869eee3fdfb897afe36c6d002",
    "https://huggingface.co/ggerganov/whisper.cpp/resolve/main/ggml-base.en.bin",
)


class Speech:
    """Transcribes one file at a time, because transcription uses every core."""

    def __init__(self, directory: Path, read_in_child: ReadInChild, model: SpeechModel = BASE_EN) -> None:
        self.path = directory / model.file_name
        self._model = model
        self._read_in_child = read_in_child
        self._turn = asyncio.Lock()
        self._trusted: tuple[int, int] | None = None  # size and modification time of the verified file

    def problem(self) -> str:
        """Return why transcription is unavailable, or an empty string; verify a changed model file."""
        missing = [package for package in PACKAGES if find_spec(package) is None]
        if missing:
            return f'{", ".join(missing)}: package not installed: pip install "tocsin[voice]"'
        try:
            stat = self.path.stat()
        except OSError:
            return "the speech model is missing: run `tocsin voice install`"
        stamp = (stat.st_size, stat.st_mtime_ns)
        if stamp == self._trusted:
            return ""
        if stat.st_size != self._model.size or compute_digest(self.path) != self._model.sha256:
            return f"the speech model {self.path.name} is damaged: run `tocsin voice install`"
        self._trusted = stamp
        return ""

    async def words_of(self, sound: bytes) -> str:
        """Return the transcript of a file, empty if it contains no words. Raises TocsinError."""
        if problem := await asyncio.to_thread(self.problem):
            sentence, _, fix = problem.partition(": ")
            raise SpeechError(f"transcription is unavailable: {sentence}", hint=fix)
        async with self._turn:
            reading = await self._read_in_child(
                "tocsin.providers.files.speech_reader", [str(self.path)], sound, TRANSCRIBE_TIMEOUT_S
            )
        if refused := reading.get("refused"):
            raise SpeechError(str(refused))
        return str(reading.get("text", ""))


def compute_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    digest = sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1024 * 1024):
            digest.update(chunk)
    return digest.hexdigest()
