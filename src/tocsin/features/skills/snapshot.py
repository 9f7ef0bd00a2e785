"""A copy of a skill's folder for one run: what was checked is what runs, and the run cannot change the original."""

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.ids import new_id
from tocsin.core.process.identity import is_dead
from tocsin.core.storage.files import make_directory

MAX_FILES = 10_000
MAX_BYTES = 256 * 1024**2
_OWNER = "owner"
MAX_DEPTH, MAX_PASSES = 64, 1_000
_SET_ID = stat.S_ISUID | stat.S_ISGID
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Names a file without opening it, where the system can.
_REFERENCE = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A private copy; `digest` covers names, contents, links and executable bits."""

    path: Path
    digest: str

    def remove(self) -> None:
        _delete(self.path.parent)


class Workplace:
    """The folders of sandboxed runs: a copy of the skill, and a home directory, which is kept.

    `identity` is that of this process: copies that a dead process left behind are known by it.
    """

    def __init__(self, snapshots: Path, homes: Path, identity: str) -> None:
        self._place = snapshots
        self._homes = homes
        self._identity = identity

    def home_of(self, skill: str) -> Path:
        """Return the home directory of a skill, which may not be there yet."""
        return self._homes / skill

    def take(self, folder: Path) -> Snapshot:
        """Copy a skill's folder without set-uid bits, read-only; raises ConfigError if it is too large."""
        make_directory(self._place)
        self._remove_leftovers()
        private = self._place / new_id()
        private.mkdir(mode=0o700)
        try:
            (private / _OWNER).touch(mode=0o600)
            (private / _OWNER).write_text(self._identity)
            return Snapshot(private / folder.name, _copy(folder, private / folder.name))
        except BaseException:
            _delete(private)
            raise

    def _remove_leftovers(self) -> None:
        for private in self._place.iterdir():
            with suppress(OSError):
                if is_dead((private / _OWNER).read_text()):
                    _delete(private)


def digest_of(folder: Path) -> str:
    """Return the digest that a snapshot of `folder` would have now."""
    return _copy(folder, None)


def drop_set_uid(folder: Path) -> None:
    """Take the set-uid and set-gid bits from everything below `folder`, which programs may be changing.

    What lies deeper than `MAX_DEPTH` levels is moved to the top: nothing is too deep to be looked at.
    """
    top = os.open(folder, DIRECTORY)
    try:
        tidy_below(top)
    finally:
        os.close(top)


def tidy_below(top: int) -> None:
    """Do the work of `drop_set_uid` for an open directory, and let this user read all that is in it."""
    for _ in range(MAX_PASSES):
        if not _tidy(top, top, 0):
            return


def _tidy(here: int, top: int, depth: int) -> bool:
    """Tidy one directory and those in it; return whether something was moved, and is to be looked at again."""
    moved = False
    for name in os.listdir(here):
        with suppress(OSError):  # it is gone, or of another user
            descriptor = os.open(name, _REFERENCE, dir_fd=here)
            try:
                is_directory = _without_set_id(descriptor)
            finally:
                os.close(descriptor)
            if is_directory and depth == MAX_DEPTH:
                os.rename(name, f"deep-{new_id()}", src_dir_fd=here, dst_dir_fd=top)
                moved = True
            elif is_directory:
                below = os.open(name, DIRECTORY, dir_fd=here)
                try:
                    moved |= _tidy(below, top, depth + 1)
                finally:
                    os.close(below)
    return moved


def _without_set_id(descriptor: int) -> bool:
    """Take the bits from one file, by the file itself and not by its name; return whether it is a directory."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISLNK(mode):
        return False
    wanted = stat.S_IMODE(mode) & ~_SET_ID | (stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR)
    if wanted != stat.S_IMODE(mode):
        if hasattr(os, "O_PATH"):
            Path(f"/proc/self/fd/{descriptor}").chmod(wanted)
        else:
            os.fchmod(descriptor, wanted)
    return stat.S_ISDIR(mode)


def _copy(folder: Path, to: Path | None) -> str:
    """Copy a folder, unless `to` is None, and return its digest; what is not a file, folder or link is left out.

    Raises ConfigError where it is too large or cannot be read.
    """
    try:
        return _copied(folder, to)
    except OSError as error:
        place = f"{error.filename!r} in {folder}" if error.filename else folder
        hint = "give this user read access to all files of the folder, and do not change them during the start"
        raise ConfigError(f"cannot read {place}: {error.strerror}", hint=hint) from None


def _copied(folder: Path, to: Path | None) -> str:
    lines: list[str] = []
    left = MAX_BYTES
    for path, directories, files, here in os.fwalk(folder, onerror=_fail):
        relative = Path(path).relative_to(folder)
        if len(relative.parts) > MAX_DEPTH:
            raise ConfigError(f"{folder} has more than {MAX_DEPTH} levels", hint="store its data elsewhere")
        if to:
            (to / relative).mkdir(mode=0o700)
        links = {name for name in (*directories, *files) if _is_link(name, here)}
        wanted = sorted(links.union(files))
        if len(lines) + len(wanted) > MAX_FILES:
            raise ConfigError(f"{folder} has more than {MAX_FILES} files", hint="store its data elsewhere")
        for name in wanted:
            if name in links:
                lines.append(_copy_link(name, here, relative, to))
            else:
                line, size = _copy_file(name, here, relative, to, left)
                lines.append(line)
                left -= size
    # Names are bytes to the system: those that are not UTF-8 come as lone surrogates.
    return sha256("".join(sorted(lines)).encode(errors="surrogateescape")).hexdigest()


def _fail(error: OSError) -> None:
    raise error


def _copy_link(name: str, here: int, relative: Path, to: Path | None) -> str:
    target = os.readlink(name, dir_fd=here)
    if to:
        (to / relative / name).symlink_to(target)
    return f"link {relative / name!s}\0{target}\n"


def _copy_file(name: str, here: int, relative: Path, to: Path | None, left: int) -> tuple[str, int]:
    # Not blocking: it may be a pipe. Not following: it may have become a link.
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    with os.fdopen(descriptor, "rb") as source:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return "", 0
        content = source.read(left + 1)
    if len(content) > left:
        raise ConfigError(
            f"the folder of the skill is larger than {MAX_BYTES // 1024**2} MiB", hint="store its data elsewhere"
        )
    runs = bool(found.st_mode & stat.S_IXUSR)
    if to:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(to / relative / name, flags, 0o700), "wb") as copy:
            copy.write(content)
            os.fchmod(copy.fileno(), 0o500 if runs else 0o400)
    return f"{'program' if runs else 'file'} {relative / name!s}\0{sha256(content).hexdigest()}\n", len(content)


def _is_link(name: str, here: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)


def _delete(folder: Path) -> None:
    """Delete a directory, even if a run has removed permissions or nested it deeply."""
    with suppress(OSError):
        drop_set_uid(folder)
    shutil.rmtree(folder, ignore_errors=True)
