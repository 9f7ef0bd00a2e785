"""Short programs for blocking code: no event loop, no thread, and no log records.

The log masks the secrets of the vault, which such a program may have to decrypt.
"""

import subprocess
from collections.abc import Sequence

from tocsin.core.errors import ProcessError


def run_blocking(argv: Sequence[str], stdin: bytes, timeout_s: float) -> tuple[int, bytes, bytes]:
    """Return exit code, standard output and standard error of a program; raise ProcessError, TimeoutError."""
    try:
        done = subprocess.run(  # noqa: S603  # the arguments are the callers' own
            argv, input=stdin, capture_output=True, timeout=timeout_s, check=False, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(argv[0]) from None
    except OSError as error:
        raise ProcessError(f"{argv[0]} cannot be started: {error.strerror}") from None
    return done.returncode, done.stdout, done.stderr
