"""Transcribe the speech in a file: `python -m tocsin.providers.files.speech_reader <model> <path>`.

It runs as a child process with limited memory and time: neither a malicious file nor a broken model may crash the bot.
The output is JSON: `{"text": …}`, or `{"refused": …}`.
"""

import json
import os
import sys
from typing import TYPE_CHECKING

from tocsin.core.process.limited import limit_this_process

if TYPE_CHECKING:
    import numpy

RATE_HZ = 16_000  # the sample rate that the model requires
MAX_SPEECH_S = 600
MEMORY_BYTES = 4 * 1024 * 1024 * 1024  # address space: the threads reserve much more than they use
CPU_S = 600
# The model's output for silence and noise.
_NOISE = ("[", "(", "♪", "*")


def main() -> None:
    """Transcribe the file given in the arguments, and print the result."""
    model, path = sys.argv[1:3]
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the libraries print progress to standard output
    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_s=CPU_S)
    try:
        result = {"text": transcribe(model, decode(path))}
    except _UnreadableError as error:
        result = {"refused": str(error)}
    answer.write(json.dumps(result))
    answer.flush()
    os._exit(0)  # native threads may not end by themselves


class _UnreadableError(Exception):
    """The file contains no readable sound."""


def decode(path: str) -> "numpy.ndarray":
    """Return the sound as 16 kHz mono samples from -1 to 1."""
    import av
    import numpy

    parts: list[numpy.ndarray] = []
    seconds = 0.0
    try:
        with av.open(path, metadata_errors="ignore") as container:
            if not container.streams.audio:
                raise _UnreadableError("it contains no sound")
            resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE_HZ)
            for frame in container.decode(container.streams.audio[0]):
                for piece in resampler.resample(frame):
                    parts.append(piece.to_ndarray().reshape(-1))
                    seconds += piece.samples / RATE_HZ
                if seconds > MAX_SPEECH_S:
                    raise _UnreadableError(f"it is longer than {MAX_SPEECH_S // 60} minutes")
            parts += [piece.to_ndarray().reshape(-1) for piece in resampler.resample(None)]
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise _UnreadableError("it is not a readable recording") from error
    if not parts:
        raise _UnreadableError("it contains no sound")
    return numpy.concatenate(parts).astype(numpy.float32) / 32768.0


def transcribe(model: str, sound: "numpy.ndarray") -> str:
    """Return the transcript, empty if there are no words."""
    from pywhispercpp.model import Model

    loaded = Model(model, redirect_whispercpp_logs_to=sys.stderr, print_progress=False, print_realtime=False)
    segments = loaded.transcribe(sound, n_threads=max(1, (os.cpu_count() or 2) - 1), language="en")
    words = [segment.text.strip() for segment in segments]
    return " ".join(word for word in words if word and not word.startswith(_NOISE)).strip()


if __name__ == "__main__":
    main()
