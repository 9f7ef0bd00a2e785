"""The data directory: whether this program can write to it, and its identity."""

import errno
import os
import pwd
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from socket import gethostname

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import make_directory

# Problems that may pass without a change of permissions or settings; /health reports them while they last.
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_EFFECTIVE = os.access in os.supports_effective_ids
_WRITTEN = ("tocsin.db", "tocsin.db-wal", "tocsin.db-shm", "audit.log", "audit.log.head", "runs")


def require_usable(path: Path) -> None:
    """Create the data directory if it is missing; raise ConfigError if this user cannot write to it.

    A full disk is not an error here: that may pass while the program runs.
    """
    try:
        make_directory(path)
        try_write(path, b"")
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise unusable(path, error) from None
    for problem in foreign_files(path):
        raise problem


def try_write(path: Path, content: bytes) -> None:
    """Write `content` to a temporary file in the directory; raise OSError if that fails."""
    from tempfile import TemporaryFile  # 26 ms, and only a service that starts and `tocsin doctor` try

    with TemporaryFile(prefix=".tocsin-", dir=path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def foreign_files(path: Path) -> Iterator[ConfigError]:
    """Yield an error for each file in the data directory that this user cannot write, such as after a restore."""
    for file in (path / name for name in _WRITTEN):
        if _exists(file) and not os.access(file, os.R_OK | os.W_OK, effective_ids=_EFFECTIVE):
            yield unusable(file, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def unusable(path: Path, error: OSError) -> ConfigError:
    """Return the error about a path in the data directory, with its owner and this user."""
    if error.errno in _NO_SPACE:
        return ConfigError(f"cannot write {path}: {error.strerror}", hint="free some disk space")
    nearest = next(place for place in (path, *path.parents) if _exists(place))
    subject = "it" if nearest == path else str(nearest)
    user = _user_name(os.geteuid())
    give = f"make {user} the owner of {nearest} (chown), or " if isinstance(error, PermissionError) else ""
    return ConfigError(
        f"cannot write {path}: {error.strerror}; {subject} belongs to {_user_name(nearest.stat().st_uid)}, and"
        f" Tocsin runs as {user}",
        hint=f"{give}set TOCSIN_DATA_DIR to another directory",
    )


def shared_name(path: Path) -> str:
    """Return the name of a data directory among those of all hosts: its ID and the name of this host."""
    return f"{directory_id(path)}@{gethostname()}"


def directory_id(path: Path) -> str:
    """Return an ID that is unique on this machine and does not reveal the path.

    Empty if the directory does not exist. A copy of a directory has another ID.
    """
    try:
        found = path.stat()
    except OSError:
        return ""
    return sha256(f"tocsin {found.st_dev} {found.st_ino}".encode()).hexdigest()[:16]


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except OSError:  # also if a parent directory cannot be searched
        return False
    return True


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
