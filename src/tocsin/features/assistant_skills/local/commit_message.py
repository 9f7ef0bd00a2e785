"""Propose a commit message from the files that a diff adds, removes, renames and changes."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from tocsin.features.skill_records import Severity, SkillFinding

MAX_SUBJECT = 72
MESSAGE_FILE = ".git/COMMIT_EDITMSG"
_LOCKS = {
    "package-lock.json": "package.json", "yarn.lock": "package.json", "pnpm-lock.yaml": "package.json",
    "poetry.lock": "pyproject.toml", "uv.lock": "pyproject.toml", "Cargo.lock": "Cargo.toml", "go.sum": "go.mod",
}  # fmt: skip
_PREFIX = re.compile(r"^(?:feat|fix|docs|chore|refactor|test|build|ci|perf|style)(?:\([\w./-]+\))?!?: ")
_CONFLICT = re.compile(r"^\+(?:<{7}|>{7}) ")
_DEBUGGER = re.compile(r"^\+.*(?:\bbreakpoint\(\)|\bpdb\.set_trace\(\)|^\+\s*debugger;?\s*$|\bbinding\.pry\b)")
_SYMBOL = re.compile(
    r"^\+\s*(?:export\s+)?(?:public\s+)?(?:async\s+)?(?:def|class|function|func|fn|interface|struct)\s+(\w+)"
)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a diff; `status` is A, M, D or R, as git writes it."""

    path: str
    status: str
    added: int
    removed: int
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class GitChange:
    """A diff, the message that it has or is to get, and how others of the project begin."""

    files: tuple[ChangedFile, ...]
    diff: str
    message: str = ""  # empty before the commit
    subjects: tuple[str, ...] = ()


def propose_message(change: GitChange) -> list[SkillFinding]:
    """Return findings: a proposed message as a suggestion, and files that should not be committed."""
    if not change.files:
        return []
    found = [*_suspicious(change)]
    subject = change.message.partition("\n")[0].strip()
    if subject and not (fault := fault_of(subject)):
        return found
    why = f"the subject {fault}" if subject else f"{len(change.files)} changed, without a message yet"
    found.append(SkillFinding(MESSAGE_FILE, 1, Severity.INFO, why, message_of(change)))
    return found


def fault_of(subject: str) -> str:
    """Return the problem of a subject; empty if it has none."""
    words = _PREFIX.sub("", subject)
    if len(subject) > MAX_SUBJECT:
        return f"has {len(subject)} characters; {MAX_SUBJECT} are shown everywhere"
    if re.fullmatch(
        r"(?:wip|fix(?:es|ed|up)?|update[sd]?|change[sd]?|stuff|misc|tmp|test|\.+)\W*", words, re.IGNORECASE
    ):
        return "does not say what changes"
    if words.endswith("."):
        return "ends with a full stop"
    return ""


def message_of(change: GitChange) -> str:
    """Return a subject, and for several parts a body that lists them."""
    files = change.files
    subject = _prefix(change) + _subject(change)
    subject = subject if len(subject) <= MAX_SUBJECT else subject[: MAX_SUBJECT - 1].rstrip(" ,") + "…"
    if len(files) == 1:
        return subject
    lines = [f"- {_verb(file).lower()} {file.path} (+{file.added} -{file.removed})" for file in files[:12]]
    more = [f"- and {len(files) - 12} more files"] if len(files) > 12 else []
    return "\n".join((subject, "", *lines, *more))


def _subject(change: GitChange) -> str:
    files = change.files
    statuses = {file.status for file in files}
    if len(files) == 1:
        return _one(files[0], change.diff)
    if statuses == {"R"}:
        return f"Rename {len(files)} files in {_area(files)}"
    kinds = {_kind_of(file.path) for file in files}
    if kinds == {"test"}:
        return f"Test {_area(files)}"
    if kinds == {"doc"}:
        return f"Document {_area(files)}"
    if kinds <= {"lock", "manifest"}:
        return f"Change the dependencies of {_area(files)}"
    code = [file for file in files if _kind_of(file.path) == "code"] or list(files)
    symbols = _added_symbols(change.diff)
    if symbols and statuses & {"A", "M"}:
        rest = f" and {len(symbols) - 1} more" if len(symbols) > 1 else ""
        return f"Add {symbols[0]}{rest} to {_area(code)}"
    verb = {"A": "Add", "D": "Remove"}.get(next(iter(statuses)), "Change") if len(statuses) == 1 else "Change"
    return f"{verb} {_area(code)}"


def _one(file: ChangedFile, diff: str) -> str:
    name = PurePosixPath(file.path).name
    if file.status == "R":
        return f"Rename {PurePosixPath(file.old_path).name} to {name}"
    symbols = _added_symbols(diff)
    if file.status == "M" and symbols and file.removed <= file.added // 2:
        rest = f" and {len(symbols) - 1} more" if len(symbols) > 1 else ""
        return f"Add {symbols[0]}{rest} to {name}"
    return f"{_verb(file)} {name}"


def _verb(file: ChangedFile) -> str:
    if file.status in {"A", "D", "R"}:
        return {"A": "Add", "D": "Remove", "R": "Rename"}[file.status]
    if file.removed > 3 * file.added:
        return "Shorten"
    return "Extend" if file.added > 3 * file.removed else "Change"


def _prefix(change: GitChange) -> str:
    """Return a prefix such as `fix: ` if the project uses them."""
    used = [subject for subject in change.subjects if _PREFIX.match(subject)]
    if len(used) * 2 <= len(change.subjects) or not used:
        return ""
    kinds = Counter(_kind_of(file.path) for file in change.files)
    kind = {"test": "test", "doc": "docs", "lock": "build", "manifest": "build", "ci": "ci"}.get(
        kinds.most_common(1)[0][0]
    )
    added = any(file.status == "A" for file in change.files) or bool(_added_symbols(change.diff))
    return f"{kind or ('feat' if added else 'fix')}: "


def _kind_of(path: str) -> str:
    name = PurePosixPath(path).name
    if name in _LOCKS:
        return "lock"
    if name in set(_LOCKS.values()) | {"requirements.txt", "Gemfile"}:
        return "manifest"
    if path.startswith((".github/", ".gitlab", ".ci/")):
        return "ci"
    if re.search(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_|[._](?:test|spec)\.\w+$|_test\.\w+$", path):
        return "test"
    return "doc" if re.search(r"\.(?:md|rst|adoc|txt)$|(?:^|/)docs?/", path) else "code"


def _area(files: Sequence[ChangedFile]) -> str:
    """Return the directory that the files share, or the most frequent one, or the number of files."""
    tops = Counter(str(PurePosixPath(file.path).parent) for file in files)
    (place, count), *others = tops.most_common()
    if not others and len(files) <= 3:
        return " and ".join(PurePosixPath(file.path).name for file in files)
    if place != "." and count * 2 > len(files):
        return place
    return f"{len(files)} files"


def _added_symbols(diff: str) -> list[str]:
    removed = {
        found[1]
        for line in diff.splitlines()
        if (found := _SYMBOL.match(line.replace("-", "+", 1))) and line[:1] == "-"
    }
    added = [found[1] for line in diff.splitlines() if (found := _SYMBOL.match(line))]
    return [name for name in dict.fromkeys(added) if name not in removed and not name.startswith(("_", "test"))]


def _suspicious(change: GitChange) -> list[SkillFinding]:
    """Return findings about files that are rarely meant to be committed."""
    found, path, number = [], "", 0
    for line in change.diff.splitlines():
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(hunk[1]) - 1
        elif not line.startswith("-"):
            number += 1
            if _CONFLICT.match(line):
                found.append(SkillFinding(path, number, Severity.ERROR, "conflict marker", "resolve the conflict"))
            elif _DEBUGGER.match(line):
                found.append(SkillFinding(path, number, Severity.WARNING, "debugger call", "remove the line"))
    paths = {file.path for file in change.files}
    for path in sorted(paths):
        place, _, name = path.rpartition("/")
        manifest = f"{place}/{_LOCKS[name]}" if place and name in _LOCKS else _LOCKS.get(name, "")
        if manifest and manifest not in paths:
            message = f"the lock file changes, but {manifest} does not"
            found.append(
                SkillFinding(path, 0, Severity.WARNING, message, "commit it separately, and explain the change")
            )
    return found
