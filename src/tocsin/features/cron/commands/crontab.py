"""Read a crontab: the jobs that it makes, and what cannot be taken over."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

from tocsin.core.reading.value import shorten
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import read_schedule

_VARIABLE = re.compile(r"\s*(?:\"([^\"]+)\"|'([^']+)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*")
_ZONE = "CRON_TZ"  # `TZ` is that of the command alone; crontab(5)
# Set by cron itself, and by us.
_IGNORED = frozenset({"LOGNAME", "USER"})


class CrontabProblem(NamedTuple):
    """Something in a line that is not taken over, or not as it was."""

    line: int
    detail: str
    lost: bool = False  # no job was made of the line


@dataclass
class ReadCrontab:
    """The fields of each job, and remarks about lines."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # of the jobs, by name
    remarks: list[CrontabProblem] = field(default_factory=list)

    def lose(self, line: int, why: str) -> None:
        """Note that no job is made of a line."""
        self.remarks.append(CrontabProblem(line, f"not taken over: {why}", lost=True))


def read_crontab(text: str, *, user_column: bool = False, taken: frozenset[str] = frozenset()) -> ReadCrontab:
    """Read a crontab of a user, or one with a column of users; `taken` are names that jobs have already."""
    found, env, names = ReadCrontab(), {}, set(taken)
    zone = ""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        variable = _VARIABLE.fullmatch(line)
        if variable and not stripped[0].isdigit() and stripped[0] not in "*@":
            name, value = next(filter(None, variable.groups()[:3])), _unquoted(variable[4])
            if name == _ZONE:
                zone = value
            elif name == "MAILTO" and not value:  # no mail is wanted
                continue
            elif remark := _remark_on(name, value):
                found.remarks.append(CrontabProblem(number, remark))
            else:
                env[name] = value
            continue
        _take(found, number, stripped, env, zone, names, user_column=user_column)
    return found


def _take(
    found: ReadCrontab,
    number: int,
    line: str,
    env: Mapping[str, str],
    zone: str,
    names: set[str],
    *,
    user_column: bool,
) -> None:
    schedule, user, command = _parts(line, user_column=user_column)
    try:
        read_schedule(schedule, zone or "UTC", 0.0)
    except ScheduleError as error:
        found.lose(number, error.sentence())
        return
    if not command:
        found.lose(number, "there is no command")
        return
    if re.search(r"(?<!\\)%", command):
        found.lose(number, "an unescaped % begins the standard input of the command; write it as a here-document")
        return
    if user:
        said = f"the user {shorten(user)} is not taken over: jobs run as the user of Tocsin"
        found.remarks.append(CrontabProblem(number, said))
    command = command.replace("\\%", "%")
    name = _name_of(command, names)
    names.add(name)
    job: dict[str, Any] = {"name": name, "schedule": schedule, "command": command, "env": dict(env)}
    found.lines[name] = number
    found.jobs.append({**job, **({"timezone": zone} if zone else {})})


def _parts(line: str, *, user_column: bool) -> tuple[str, str, str]:
    """Return schedule, user and command of a line."""
    count = 1 if line.startswith("@") else 5
    words = line.split(None, count + user_column)
    schedule = " ".join(words[:count])
    rest = words[count:]
    user = rest.pop(0) if user_column and rest else ""
    return schedule, user, rest[0] if rest else ""


def _remark_on(name: str, value: str) -> str:
    if name == "MAILTO":
        return f"MAILTO={shorten(value)} is not taken over: send output with --output <channel>:<target>"
    if name == "SHELL" and value not in {"/bin/sh", "sh"}:
        return f"SHELL={shorten(value)} is not taken over: commands run with /bin/sh; begin them with `exec {value} -c`"
    if name in _IGNORED or name == "SHELL":
        return f"{name} is not taken over: it is set already"
    if name in {"MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "RANDOM_DELAY", "START_HOURS_RANGE"}:
        return f"{name} is not taken over"
    return ""


def _name_of(command: str, taken: set[str]) -> str:
    """Return a name for a job after the program that it runs."""
    if command.startswith("cd ") and "&&" in command:
        command = command.partition("&&")[2]
    words = [word for word in command.split() if "=" not in word and word not in {"exec", "sudo", "nice"}]
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(words[0] if words else "job").name).strip("-._") or "job"
    name, number = stem[:80], 2
    while name in taken:
        name, number = f"{stem[:80]}-{number}", number + 1
    return name


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
