"""Allow one poller per bot on a machine: a file lock that ends with its process."""

import fcntl
import os
from pathlib import Path

from tocsin.core.errors import TocsinError


class LockError(TocsinError):
    """The lock file cannot be used."""

    code = "lock-failed"


class TokenLock:
    """The lock of one bot; its file is kept, because removing it would allow two processes to hold the lock."""

    def __init__(self, directory: Path, bot_id: int) -> None:
        self.path = directory / f"poller-{bot_id}.lock"
        self._fd: int | None = None

    def acquire(self) -> bool:
        """Acquire the lock unless another process holds it; raise LockError if the file cannot be used."""
        if self._fd is not None:
            return True
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unusable(error) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError as error:
            os.close(fd)
            raise self._unusable(error) from None
        self._fd = fd
        return True

    def release(self) -> None:
        """Release the lock if it is held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _unusable(self, error: OSError) -> LockError:
        return LockError(f"cannot lock {self.path}: {error.strerror}", hint="check the directory and its permissions")
