"""Read a crontab: its jobs, and the lines that cannot be imported."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

from tocsin.core.reading.value import shorten
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import read_schedule

_VARIABLE = re.compile(r"\s*(?:\"([^\"]+)\"|'([^']+)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*")
_ADDRESS = re.compile(r"[^@\s,:]+@[^@\s,:]+")
_ZONE = "CRON_TZ"  # `TZ` is that of the command alone; crontab(5)
# Set by cron itself, and by us.
_IGNORED = frozenset({"LOGNAME", "USER"})
_WITHOUT_MEANING = frozenset(
    {"MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "RANDOM_DELAY", "START_HOURS_RANGE"}
)
_SH = frozenset({"", "/bin/sh", "sh"})
# As cron sends mail; the output of a job that fails in silence is that it failed.
MAILED_ON = "output,failure"


class CrontabProblem(NamedTuple):
    """Something in a line that is not taken over, or not as it was."""

    line: int
    detail: str
    lost: bool = False  # no job was made of the line


class CrontabLine(NamedTuple):
    """A line that makes a job."""

    number: int
    text: str


@dataclass
class ReadCrontab:
    """The fields of each job, and remarks about lines."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str, CrontabLine] = field(default_factory=dict)  # of the jobs, by name
    remarks: list[CrontabProblem] = field(default_factory=list)

    def note(self, line: int, remark: str) -> None:
        """Report differences from the crontab."""
        self.remarks.append(CrontabProblem(line, remark))

    def lose(self, line: int, why: str) -> None:
        """Note that no job is made of a line."""
        self.remarks.append(CrontabProblem(line, f"not imported: {why}", lost=True))


def read_crontab(
    text: str, *, home: str = "", user_column: bool = False, taken: frozenset[str] = frozenset()
) -> ReadCrontab:
    """Read a crontab of a user, or one with a column of users.

    `home` is where commands run unless the crontab sets HOME; `taken` are names that jobs have already.
    """
    reader = _Reader(home, user_column, set(taken))
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        variable = _VARIABLE.fullmatch(line)
        if variable and not stripped[0].isdigit() and stripped[0] not in "*@":
            reader.set(number, next(filter(None, variable.groups()[:3])), _unquoted(variable[4]))
        else:
            reader.take(CrontabLine(number, stripped))
    return reader.found


class _Reader:
    """Reads line by line; a variable applies to all jobs below it."""

    def __init__(self, home: str, user_column: bool, names: set[str]) -> None:
        self.found = ReadCrontab()
        self._home = home
        self._user_column = user_column
        self._names = names
        self._zone, self._shell, self._output = "", "", ""
        self._env: dict[str, str] = {}

    def set(self, number: int, name: str, value: str) -> None:
        """Set a variable for the lines below."""
        if name == _ZONE:
            self._zone = value
        elif name == "MAILTO":
            self._set_recipient(number, value)
        elif name in _IGNORED:
            self.found.note(number, f"{name} is not imported: it is already set")
        elif name in _WITHOUT_MEANING:
            self.found.note(number, f"{name} is not imported")
        else:
            self._env[name] = value
            if name == "HOME":
                self._home = value
            elif name == "SHELL":
                self._shell = value

    def _set_recipient(self, number: int, value: str) -> None:
        self._output = f"email:{value}" if _ADDRESS.fullmatch(value) else ""
        if value and not self._output:
            one = "several recipients" if "," in value else "not an address"
            hint = (
                "create a profile with these addresses in profiles.yaml"
                if "," in value
                else "give a channel and target"
            )
            self.found.note(number, f"MAILTO={shorten(value)} is not imported: {one}; {hint}, for --output")

    def take(self, line: CrontabLine) -> None:
        number = line.number
        schedule, user, command = self._parts(line.text)
        try:
            read_schedule(schedule, self._zone or "UTC", 0.0)
        except ScheduleError as error:
            self.found.lose(number, error.sentence())
            return
        if not command:
            self.found.lose(number, "the command is missing")
            return
        if re.search(r"(?<!\\)%", command):
            why = "an unescaped % passes the rest of the line to standard input of the command; use a here-document"
            self.found.lose(number, why)
            return
        if user:
            said = f"the user {shorten(user)} is ignored: jobs run as the user of Tocsin"
            self.found.note(number, said)
        self._add(line, schedule, command.replace("\\%", "%"))

    def _add(self, line: CrontabLine, schedule: str, command: str) -> None:
        name = _name_of(command, self._names)
        self._names.add(name)
        by_shell = command if self._shell in _SH else f"exec {shlex.quote(self._shell)} -c {shlex.quote(command)}"
        job: dict[str, Any] = {"name": name, "schedule": schedule, "command": by_shell, "env": dict(self._env)}
        further = {"working_dir": self._home, "timezone": self._zone, "output": self._output}
        job |= {key: value for key, value in further.items() if value}
        if self._output:
            job["output_on"] = MAILED_ON
        self.found.lines[name] = line
        self.found.jobs.append(job)

    def _parts(self, line: str) -> tuple[str, str, str]:
        """Return schedule, user and command of a line."""
        count = 1 if line.startswith("@") else 5
        words = line.split(None, count + self._user_column)
        schedule = " ".join(words[:count])
        rest = words[count:]
        user = rest.pop(0) if self._user_column and rest else ""
        return "at start" if schedule.lower() == "@reboot" else schedule, user, rest[0] if rest else ""


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
