"""Changes that a skill proposes: kept beside the folder, and written only on request."""

import difflib
import hashlib
from collections.abc import Iterable
from contextlib import suppress

from tocsin.core.errors import TocsinError
from tocsin.features.assistant_skills.folder.confined import MAX_FILE_BYTES, ConfinedFolder, ConfinementError, parts_of
from tocsin.features.assistant_skills.model import ChangedText

MAX_CHANGED_FILES = 20


class PatchError(TocsinError):
    """A patch does not fit any more, or was applied already; no file was changed."""

    code = "patch-does-not-fit"


class FolderOverlay:
    """A folder as a skill sees it: with its own changes."""

    def __init__(self, folder: ConfinedFolder) -> None:
        self._folder = folder
        self._before: dict[str, str | None] = {}  # by path: what stood there; `None` for a new file
        self._texts: dict[str, str] = {}

    def read(self, path: str) -> str:
        """Return the text of a file; raises ConfinementError, also for one that is not text."""
        name = "/".join(parts_of(path))
        if name in self._texts:
            return self._texts[name]
        return _text(name, self._folder.read(name))

    def files(self, below: str = "") -> list[str]:
        """Return the files below a directory, new ones included."""
        prefix = f"{'/'.join(parts_of(below))}/" if below else ""
        found = set(self._folder.files(below)) if not below or self._folder.is_directory(below) else set()
        return sorted(found | {path for path in self._texts if path.startswith(prefix)})

    def write(self, path: str, text: str) -> None:
        """Propose the whole text of a file; raises ConfinementError."""
        name = "/".join(parts_of(path))
        if len(text.encode("utf-8", "replace")) > MAX_FILE_BYTES:
            raise ConfinementError(f"{name} would be larger than {MAX_FILE_BYTES:,} bytes")
        if name not in self._before:
            if len(self._before) >= MAX_CHANGED_FILES:
                raise ConfinementError(f"a run may change at most {MAX_CHANGED_FILES} files")
            self._before[name] = self._standing(name)
        self._texts[name] = text

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text that stands in a file exactly once; raises ConfinementError."""
        text = self.read(path)
        found = text.count(old) if old else 0
        if found != 1:
            reason = "is empty" if not old else "does not occur" if not found else f"occurs {found} times"
            raise ConfinementError(
                f"{path}: the old text {reason}; include the lines around it to select exactly one place"
            )
        self.write(path, text.replace(old, new, 1))

    def changes(self) -> list[ChangedText]:
        return [
            ChangedText(path, "" if before is None else digest(before), self._texts[path])
            for path, before in sorted(self._before.items())
            if before != self._texts[path]
        ]

    def diff(self) -> str:
        """Return the changes for people, as a unified diff."""
        pieces = [
            _diff(path, before, self._texts[path])
            for path, before in sorted(self._before.items())
            if before != self._texts[path]
        ]
        return "".join(pieces)

    def _standing(self, path: str) -> str | None:
        try:
            return _text(path, self._folder.read(path))
        except ConfinementError:
            if self._folder.is_free(path):
                return None
            raise


def apply_changes(folder: ConfinedFolder, changes: Iterable[ChangedText]) -> list[str]:
    """Write a patch; raises PatchError, before writing anything, if a file has changed since."""
    wanted = list(changes)
    misfits = [change.path for change in wanted if not _fits(folder, change)]
    if misfits:
        raise PatchError(
            f"the patch cannot be applied: {', '.join(misfits)} changed since the run",
            hint="run the skill again",
        )
    for change in wanted:
        folder.replace(change.path, change.text.encode())
    return [change.path for change in wanted]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _fits(folder: ConfinedFolder, change: ChangedText) -> bool:
    if not change.before:
        return folder.is_free(change.path)
    with suppress(ConfinementError):
        return digest(_text(change.path, folder.read(change.path))) == change.before
    return False


def _text(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ConfinementError(f"{path} is not UTF-8 text") from None


def _diff(path: str, before: str | None, after: str) -> str:
    lines = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        after.splitlines(keepends=True),
        "/dev/null" if before is None else f"a/{path}",
        f"b/{path}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
