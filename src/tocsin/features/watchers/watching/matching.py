"""Matches the changes of a folder with a rule."""

from pathlib import Path

from tocsin.core.reading.path_patterns import compiled_patterns
from tocsin.core.watching.folder_watcher import ChangeKind, FileChange
from tocsin.features.watchers.model import WatchedChange, WatcherRule, WatchEvent

LOGS = "runs"  # in the data directory, the output of runs


def change_for(rule: WatcherRule, change: FileChange) -> WatchedChange | None:
    """Return a change as a rule sees it, `None` if it does not concern the rule.

    A file that is renamed into the patterns of a rule is a new one there, one that is renamed out of them is gone.
    """
    if change.kind is ChangeKind.COMMITTED:
        return None
    type_, path, old = WatchEvent(change.kind), str(rule.path / change.path), ""
    concerns = matches(rule, change.path)
    if type_ is WatchEvent.MOVED:
        concerned = matches(rule, change.old_path)
        if concerned and not concerns:
            return WatchedChange(WatchEvent.DELETED, str(rule.path / change.old_path))
        if concerned:
            old = str(rule.path / change.old_path)
        else:
            type_ = WatchEvent.CREATED
    return WatchedChange(type_, path, old) if concerns else None


def matches(rule: WatcherRule, path: str) -> bool:
    """Whether a file counts; `path` starts at the folder."""
    if rule.patterns and not compiled_patterns(rule.patterns).take(path):
        return False
    return not rule.exclude_patterns or not compiled_patterns(rule.exclude_patterns).take(path)


def is_own(change: FileChange, data_dir: Path) -> bool:
    """Whether Tocsin itself wrote the file; `data_dir` is without links, as the folder of a change.

    Acting on these would write more of them. A folder of one's own in the data directory may be watched.
    """
    path, logs = change.folder / change.path, data_dir / LOGS
    watches_below = change.folder.is_relative_to(data_dir) and change.folder != data_dir
    return path.is_relative_to(logs) or (path.is_relative_to(data_dir) and not watches_below)
