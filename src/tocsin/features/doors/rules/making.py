"""A rule made from a request, as a start for people: what it shows is what the generic form would find, by name."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import write_atomically
from tocsin.features.doors.model import DoorRequest
from tocsin.features.doors.rules.file import RulesFile, parse_rules
from tocsin.features.doors.rules.generic import KEY, LINK, SEVERITY, TEXT, TITLE, is_link
from tocsin.features.doors.severity import severity_of

MAX_SHOWN = 40  # values in the comment
_KINDS = ("type", "event", "eventtype", "event_type", "kind", "object_kind", "action", "notification_type")
_PLAIN = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*", re.ASCII)
_EVENT_HEADER = re.compile(r"x-[a-z-]*event[a-z-]*")
_INDENT = "  "


def made_rule(payload: Any, request: DoorRequest) -> str:
    """Return a rule of `doors.yaml` that takes requests such as this one, with what its text may name as comments."""
    found = dict(_scalars(payload))
    usable = {path: value for path, value in found.items() if _PLAIN.fullmatch(path)}
    lines = [f"match: {_quoted(_match(usable, request))}"]
    taken: set[str] = set()
    for field, names in (("title", TITLE), ("text", TEXT), ("severity", SEVERITY), ("key", KEY), ("link", LINK)):
        path = next((each for each in _named(usable, names) if _fits(field, usable[each]) and each not in taken), "")
        if path:
            taken.add(path)
            lines.append(f"{field}: {_quoted(f'${{{path}}}')}")
    if not taken & set(usable) or not any(line.startswith(("title:", "text:")) for line in lines):
        lines.insert(1, f"title: {_quoted(_any_text(usable))}")
    shown = [f"# {path} = {_sample(value)}" for path, value in list(found.items())[:MAX_SHOWN]]
    if len(found) > MAX_SHOWN:
        shown.append(f"# and {len(found) - MAX_SHOWN:,} more")
    comments = "".join(f"{_INDENT}{line}\n" for line in shown)
    return "- " + f"\n{_INDENT}".join(lines) + "\n" + comments


def write_rule(file: RulesFile, door: str, rule: str) -> None:
    """Add a rule, or several, before the others of a door in `doors.yaml`; the rest of the file is kept.

    Raises ConfigError and WriteError; then nothing has changed.
    """
    count = len(parse_rules(rule))
    before = file.path.read_text("utf-8") if file.path.exists() else ""
    known = file.parse(before.encode())
    after = _inserted(before, door, rule.rstrip() + "\n")
    try:
        made = file.parse(after.encode())
        is_right = len(made.get(door, ())) == len(known.get(door, ())) + count
    except ConfigError as error:
        raise ConfigError(f"the rule cannot be added: {error}", hint=f"add it to {file.path} in an editor") from None
    if not is_right:
        raise ConfigError(f"cannot add a rule to {door} in {file.path}", hint="add it in an editor")
    write_atomically(file.path, after)


def _inserted(before: str, door: str, rule: str) -> str:
    start = re.search(rf"^{re.escape(door)}:[ \t]*(?:\[\])?[ \t]*(?:#.*)?\n?", before, re.MULTILINE)
    if start is None:
        gap = "" if not before or before.endswith("\n") else "\n"
        return f"{before}{gap}{door}:\n{rule}"
    rest = before[start.end() :]
    first = re.match(r"(?:[ \t]*(?:#.*)?\n)*([ \t]*)- ", rest)
    indent = first[1] if first else ""
    own = "".join(f"{indent}{line}\n" for line in rule.splitlines())
    return f"{before[: start.start()]}{door}:\n{own}{rest}"


def _scalars(payload: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a payload by path, those near the top first."""
    level: list[tuple[str, Any]] = [("payload", payload)]
    while level:
        deeper: list[tuple[str, Any]] = []
        for path, value in level:
            if isinstance(value, dict):
                deeper += [(f"{path}.{key}", inner) for key, inner in list(value.items())[:200]]
            elif isinstance(value, list):
                deeper += [(f"{path}.{n}", inner) for n, inner in enumerate(value[:1])]
            elif value not in (None, ""):
                yield path, value
        level = deeper


def _match(found: Mapping[str, Any], request: DoorRequest) -> str:
    """Return a condition that tells this kind of event from others."""
    for name, value in request.headers.items():
        if _EVENT_HEADER.fullmatch(name) and len(value) <= 60:
            return f"header.{name} == {_word(value)}"
    for path in _named(found, _KINDS):
        if isinstance(found[path], str) and len(found[path]) <= 60:
            return f"{path} == {_word(found[path])}"
    path = next(iter(found), "payload")
    return f"{path} != null"


def _named(found: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    last = {path: path.rpartition(".")[2].lower() for path in found}
    return [path for name in names for path, word in last.items() if word == name and path.count(".") <= 3]


def _fits(field: str, value: Any) -> bool:
    if field == "severity":
        return severity_of(value) is not None
    if field == "link":
        return is_link(value)
    return isinstance(value, str) or (field == "key" and isinstance(value, int))


def _any_text(found: Mapping[str, Any]) -> str:
    path = next((path for path, value in found.items() if isinstance(value, str)), next(iter(found), "payload"))
    return f"${{{path}}}"


def _word(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _sample(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
