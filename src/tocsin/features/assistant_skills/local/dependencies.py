"""Read manifests and lock files: entries without a version, entries that contradict each other, and odd sources."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from tocsin.features.skill_records import Severity, SkillFinding

# Reads another file of the folder, `None` where there is none.
ReadOther = Callable[[str], bytes | None]

_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<version>[^;#]*)")
_WORD = re.compile(r"""^\s*([^\s"'=]+)|["']([^"']*)""")
_EXACT = re.compile(r"^={2,3}\s*([^\s,*]+)$")
_OPEN_RANGES = {"", "*", "latest", "x", "any"}


def audit_dependencies(path: str, content: bytes, read: ReadOther) -> list[SkillFinding]:
    """Return the findings in a manifest or lock file; another file has none."""
    text = content.decode("utf-8", "replace")
    name = PurePosixPath(path).name
    reader = next((reader for pattern, reader in _READERS if re.fullmatch(pattern, name)), None)
    if reader is None and PurePosixPath(path).parent.name == "requirements" and name.endswith(".txt"):
        reader = _requirements
    if reader is None:
        return []
    try:
        return sorted(reader(path, text, read), key=lambda finding: finding.line)
    except (ValueError, RecursionError) as error:
        line = int(found[1]) if (found := re.search(r"line (\d+)", str(error))) else 0
        return [SkillFinding(path, line, Severity.ERROR, f"cannot be read: {error}", "correct the file")]


def _requirements(path: str, text: str, _: ReadOther) -> Iterator[SkillFinding]:
    hashed = "--hash=" in text
    seen: dict[str, tuple[int, str]] = {}
    for number, line in _joined(text):
        if line.startswith(("-e ", "--editable", "git+", "hg+", "svn+")) or " @ " in line:
            yield from _source(path, number, line)
            continue
        if line.startswith("-"):
            yield from _index(path, number, line)
            continue
        found = _REQUIREMENT.match(line)
        if found is None:
            continue
        name, version = found["name"], found["version"].split("--hash")[0].strip()
        yield from _twice(path, number, name, version, seen)
        exact = _EXACT.match(version)
        if exact is None:
            yield _unpinned(path, number, name, version, f"{name}=={_lowest(version) or '<version>'}")
        elif hashed and "--hash=" not in line:
            yield SkillFinding(
                path, number, Severity.ERROR, f"{name} has no hash, although others have", "regenerate the lock file"
            )


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a requirements file with their numbers; a backslash joins the next one."""
    began, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        began = began or number
        parts.append(line.rstrip("\\").strip())
        if line.endswith("\\"):
            continue
        whole = re.sub(r"(?:^|\s)#.*", "", " ".join(parts)).strip()
        if whole:
            yield began, whole
        began, parts = 0, []


def _pyproject(path: str, text: str, read: ReadOther) -> Iterator[SkillFinding]:
    document = tomllib.loads(text)
    project = _table(document, "project")
    is_library = "build-system" in document
    seen: dict[str, tuple[int, str]] = {}
    for line in _texts(project.get("dependencies")):
        found = _REQUIREMENT.match(line)
        if found is None:
            continue
        number, version = line_of(text, line), found["version"].strip()
        yield from _twice(path, number, found["name"], version, seen)
        if " @ " in line:
            yield from _source(path, number, line)
        elif version in _OPEN_RANGES:
            severity = Severity.INFO if is_library else Severity.WARNING
            yield _unpinned(path, number, found["name"], version, f"{found['name']}>=<oldest that works>", severity)
    for name, version in _table(_table(_table(document, "tool"), "poetry"), "dependencies").items():
        if isinstance(version, str) and version.strip() in _OPEN_RANGES:
            yield _unpinned(path, line_of(text, name), name, version, f'{name} = "^<version>"')
    yield from _missing_from_lock(path, text, seen, read)


def _missing_from_lock(
    path: str, text: str, seen: Mapping[str, tuple[int, str]], read: ReadOther
) -> Iterator[SkillFinding]:
    for lock in ("uv.lock", "poetry.lock"):
        content = read(_beside(path, lock))
        if content is None:
            continue
        locked = tomllib.loads(content.decode("utf-8", "replace")).get("package", [])
        versions = {
            _normal(str(each.get("name"))): str(each.get("version", "")) for each in locked if isinstance(each, dict)
        }
        for name, (number, version) in seen.items():
            if name not in versions:
                yield SkillFinding(path, number, Severity.ERROR, f"{lock} does not contain {name}", "lock anew")
            elif (exact := _EXACT.match(version)) and exact[1] != versions[name]:
                message = f"{lock} has {name} {versions[name]}, but this requires {exact[1]}"
                yield SkillFinding(path, number, Severity.ERROR, message, "lock anew")


def _package_json(path: str, text: str, read: ReadOther) -> Iterator[SkillFinding]:
    document, repeated = _json(text)
    for key in repeated:
        yield SkillFinding(
            path, line_of(text, f'"{key}"', last=True), Severity.ERROR, f"{key} is repeated", "remove one of them"
        )
    lock_text = read(_beside(path, "package-lock.json"))
    others = any(read(_beside(path, name)) is not None for name in ("yarn.lock", "pnpm-lock.yaml", "bun.lock"))
    groups = ("dependencies", "devDependencies", "optionalDependencies")
    for group in groups:
        for name, version in _table(document, group).items():
            yield from _npm_entry(
                path, line_of(text, f'"{name}"'), name, str(version), locked=lock_text is not None or others
            )
    for name in _table(document, "dependencies").keys() & _table(document, "devDependencies").keys():
        number = line_of(text, f'"{name}"', last=True)
        yield SkillFinding(
            path, number, Severity.WARNING, f"{name} is in both dependencies and devDependencies", "keep one"
        )
    if lock_text is not None:
        yield from _npm_lock(path, text, document, lock_text, groups)


def _npm_entry(path: str, number: int, name: str, version: str, *, locked: bool) -> Iterator[SkillFinding]:
    if version.startswith(("git", "http://", "github:")) or re.match(r"^[\w.-]+/[\w.-]+$", version):
        yield from _source(path, number, f"{name} @ {version}")
    elif version.strip().lower() in _OPEN_RANGES or version.startswith((">", ">=")):
        yield _unpinned(path, number, name, version, f'"{name}": "^<version>"')
    elif not locked and version[:1] in "^~":
        message = f"{name} {version} is not fixed by a lock file"
        yield SkillFinding(path, number, Severity.INFO, message, "commit the lock file")


def _npm_lock(
    path: str, text: str, document: Mapping[str, Any], lock_text: bytes, groups: Sequence[str]
) -> Iterator[SkillFinding]:
    lock, _ = _json(lock_text.decode("utf-8", "replace"))
    root = _table(_table(lock, "packages"), "")
    if not root:
        return
    for group in groups:
        wanted, locked = _table(document, group), _table(root, group)
        for name in sorted(wanted.keys() | locked.keys()):
            if wanted.get(name) == locked.get(name):
                continue
            here, there = wanted.get(name, "nothing"), locked.get(name, "nothing")
            message = f"package-lock.json was created for {name} {there}, but this requires {here}"
            yield SkillFinding(path, line_of(text, f'"{name}"'), Severity.ERROR, message, "run npm install")


def _package_lock(path: str, text: str, read: ReadOther) -> Iterator[SkillFinding]:
    document, _ = _json(text)
    for name, entry in _table(document, "packages").items():
        if not isinstance(entry, dict) or not name:
            continue
        resolved, number = str(entry.get("resolved", "")), line_of(text, f'"{name}"')
        if resolved.startswith("http://"):
            yield SkillFinding(
                path, number, Severity.ERROR, f"{name} is downloaded over plain http", "use an https registry"
            )
        elif resolved.startswith("https://") and "integrity" not in entry:
            yield SkillFinding(path, number, Severity.WARNING, f"{name} has no checksum", "lock anew")
    manifest = read(_beside(path, "package.json"))
    if manifest is not None:
        wanted, _ = _json(manifest.decode("utf-8", "replace"))
        found = _npm_lock(
            path, text, wanted, text.encode(), ("dependencies", "devDependencies", "optionalDependencies")
        )
        yield from found


def _cargo(path: str, text: str, read: ReadOther) -> Iterator[SkillFinding]:
    document = tomllib.loads(text)
    for group in ("dependencies", "dev-dependencies", "build-dependencies"):
        for name, entry in _table(document, group).items():
            number = line_of(text, name)
            version = (
                entry if isinstance(entry, str) else str(entry.get("version", "")) if isinstance(entry, dict) else ""
            )
            if isinstance(entry, dict) and "git" in entry and "rev" not in entry:
                yield from _source(path, number, f"{name} @ git+{entry['git']}")
            elif isinstance(entry, dict) and ("path" in entry or "git" in entry or entry.get("workspace")):
                continue
            elif version.strip() in _OPEN_RANGES:
                yield _unpinned(path, number, name, version, f'{name} = "<version>"')


def _go(path: str, text: str, read: ReadOther) -> Iterator[SkillFinding]:
    sums = read(_beside(path, "go.sum"))
    seen: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("replace ") and re.search(r"=>\s*\.{0,2}/", line):
            yield SkillFinding(
                path, number, Severity.WARNING, "a local path replaces a module", "remove it before a release"
            )
        found = re.match(r"(?:require\s+|\t)([\w.~/-]+)\s+(v\S+)", line)
        if found is None or "." not in found[1][1:-1]:
            continue
        yield from _twice(path, number, found[1], f"=={found[2]}", seen)
        if sums is not None and f"{found[1]} {found[2]}".encode() not in sums:
            yield SkillFinding(
                path, number, Severity.ERROR, f"go.sum does not contain {found[1]} {found[2]}", "run go mod tidy"
            )


def _gemfile(path: str, text: str, _: ReadOther) -> Iterator[SkillFinding]:
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.match(r"""^\s*gem\s+["']([\w-]+)["']\s*(?:,\s*(.*))?$""", line)
        if line.startswith(("source 'http://", 'source "http://')):
            yield SkillFinding(path, number, Severity.ERROR, "the source uses plain http", "use https")
        elif found and not re.search(r"""["'][~><=\s]*\d""", found[2] or "") and "path:" not in (found[2] or ""):
            yield _unpinned(path, number, found[1], "", f'gem "{found[1]}", "~> <version>"')


def _conflict_markers(path: str, text: str, _: ReadOther) -> Iterator[SkillFinding]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            yield SkillFinding(path, number, Severity.ERROR, "conflict marker in a lock file", "lock anew")


_READERS = (
    (r"(?:requirements|constraints)[\w.-]*\.txt", _requirements),
    (r"pyproject\.toml", _pyproject),
    (r"package\.json", _package_json),
    (r"package-lock\.json", _package_lock),
    (r"Cargo\.toml", _cargo),
    (r"go\.mod", _go),
    (r"Gemfile", _gemfile),
    (r"(?:poetry|uv|Cargo|Gemfile|composer|yarn)\.lock|go\.sum", _conflict_markers),
)


def _twice(path: str, number: int, name: str, version: str, seen: dict[str, tuple[int, str]]) -> Iterator[SkillFinding]:
    key = _normal(name)
    first = seen.setdefault(key, (number, version))
    if first == (number, version):
        return
    if first[1] == version:
        message = f"{name} is repeated, first in line {first[0]}"
        yield SkillFinding(path, number, Severity.WARNING, message, "remove one of the lines")
        return
    message = f"{name} {version or 'of any version'} contradicts line {first[0]}: {first[1] or 'any version'}"
    yield SkillFinding(path, number, Severity.ERROR, message, "keep one of the lines")


def _source(path: str, number: int, line: str) -> Iterator[SkillFinding]:
    """Yield findings about an entry that does not come from a registry."""
    if "http://" in line:
        yield SkillFinding(path, number, Severity.ERROR, "downloaded over plain http", "use https")
    if re.search(r"git[+:]|github:|\.git\b", line) and not re.search(r"[@#][0-9a-f]{7,40}\b", line):
        yield SkillFinding(path, number, Severity.WARNING, "uses a git branch, which can change", "use a commit")


def _index(path: str, number: int, line: str) -> Iterator[SkillFinding]:
    if "http://" in line:
        yield SkillFinding(path, number, Severity.ERROR, "the index uses plain http", "use https")
    if line.startswith("--extra-index-url"):
        message = "with two indexes, the public one can supply a newer version of a private package"
        yield SkillFinding(path, number, Severity.WARNING, message, "use --index-url with one index that has both")


def _unpinned(
    path: str, number: int, name: str, version: str, suggestion: str, severity: Severity = Severity.WARNING
) -> SkillFinding:
    found = f"accepts {version}" if version.strip(" *") else "has no version"
    return SkillFinding(path, number, severity, f"{name} {found}", suggestion)


def _lowest(version: str) -> str:
    found = re.match(r"^(?:>=|~=|\^|~)\s*([\w.]+)", version)
    return found[1] if found else ""


def line_of(text: str, word: str, *, last: bool = False) -> int:
    """Return the number of the first line, or the last one, that has a word at its beginning or in quotes, else 0."""
    return _lines_of(text).get(re.split("[\"']", word.strip('"'))[0], (0, 0))[last]


@lru_cache(maxsize=1)  # a lock file asks for thousands of words
def _lines_of(text: str) -> Mapping[str, tuple[int, int]]:
    """Return the first and last line of each name: its quoted text, or its first word."""
    found: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for word in _WORD.finditer(line):
            first = found.get(said := word[1] or word[2] or "", (number, 0))[0]
            found[said] = first, number
    return found


def _json(text: str) -> tuple[dict[str, Any], list[str]]:
    """Return a JSON object, and the keys that are repeated in one of its objects; raises ValueError."""
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in found)
        repeated.extend(sorted(key for key, count in counts.items() if count > 1))
        return dict(found)

    document = json.loads(text, object_pairs_hook=pairs)
    if not isinstance(document, dict):
        raise ValueError("not an object")  # noqa: TRY004  # the file is wrong, not our call
    return document, repeated


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _texts(found: Any) -> Iterable[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _beside(path: str, name: str) -> str:
    return str(PurePosixPath(path).with_name(name))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
