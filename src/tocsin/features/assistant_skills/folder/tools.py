"""The five tools of skills: each sees one folder, says in words why it refuses, and never raises."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tocsin.core.watching.ignored_files import IgnoreRules
from tocsin.features.assistant_skills.activation import first_match
from tocsin.features.assistant_skills.folder.confined import ConfinementError
from tocsin.features.assistant_skills.folder.overlay import FolderOverlay
from tocsin.providers.contract import ModelTool

MAX_LINES, MAX_CHARS = 2000, 60_000  # of one answer of a tool
MAX_LINE_CHARS = 500
MAX_MATCHES, MAX_LISTED = 100, 500
MAX_SEARCHED_BYTES = 20 * 1024 * 1024
TIMEOUT_S = 10.0


class _Tool(NamedTuple):
    description: str
    properties: Mapping[str, tuple[str, str]]  # by name: JSON type and what it is
    required: tuple[str, ...]
    act: Callable[["FolderTools", Mapping[str, Any]], str]


class FolderTools:
    """The tools of a skill in one folder; `notes` lists the calls, without contents."""

    def __init__(self, overlay: FolderOverlay, rules: IgnoreRules, redact: Callable[[str], str]) -> None:
        """`redact` masks our secrets in the texts for the model."""
        self.notes: list[str] = []
        self._overlay = overlay
        self._rules = rules
        self._redact = redact

    def named(self, names: Sequence[str]) -> list[ModelTool]:
        """Return exactly the tools of these names."""
        return [self._tool(name, _TOOLS[name]) for name in names]

    def _tool(self, name: str, tool: _Tool) -> ModelTool:
        properties = {key: {"type": kind, "description": doc} for key, (kind, doc) in tool.properties.items()}
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(tool.required),
            "additionalProperties": False,
        }

        async def call(arguments: Mapping[str, Any]) -> str:
            self.notes.append(f"{name} {str(arguments.get('path') or arguments.get('pattern') or '')[:200]}")
            return await self._answer(tool, arguments)

        return ModelTool(name, tool.description, schema, call)

    async def _answer(self, tool: _Tool, arguments: Mapping[str, Any]) -> str:
        if problem := _problem(tool, arguments):
            return problem
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await asyncio.to_thread(tool.act, self, arguments)
        except ConfinementError as error:
            return f"refused: {error.sentence()}"
        except TimeoutError:
            return f"refused: it took longer than {TIMEOUT_S:g} s; ask for less"
        answer = self._redact(answer)
        return answer if len(answer) <= MAX_CHARS else f"{answer[:MAX_CHARS]}\n… cut here; ask for less"

    def read(self, arguments: Mapping[str, Any]) -> str:
        """Return the lines of a file with their numbers."""
        lines = self._overlay.read(arguments["path"]).splitlines()
        start, count = max(1, arguments.get("line", 1)), min(MAX_LINES, max(1, arguments.get("count", MAX_LINES)))
        shown = lines[start - 1 : start - 1 + count]
        more = f"\n… {len(lines)} lines in all" if start - 1 + count < len(lines) else ""
        return (
            "\n".join(f"{n}: {line[:MAX_LINE_CHARS]}" for n, line in enumerate(shown, start=start)) + more or "(empty)"
        )

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Propose a whole file."""
        self._overlay.write(arguments["path"], arguments["text"])
        return "noted"

    def edit(self, arguments: Mapping[str, Any]) -> str:
        """Propose another text for one place."""
        self._overlay.edit(arguments["path"], arguments["old"], arguments["new"])
        return "noted"

    def grep(self, arguments: Mapping[str, Any]) -> str:
        """Return the lines that match a pattern."""
        # Linear in time: a pattern of a model must not keep us.
        import re2  # type: ignore[import-untyped]  # it has no types

        options = re2.Options()
        options.log_errors = False
        try:
            pattern = re2.compile(arguments["pattern"], options)
        except re2.error as error:
            return f"refused: not a pattern of RE2: {error}"
        found, left = list[str](), MAX_SEARCHED_BYTES
        for path in self._listed(arguments.get("glob", "")):
            text = self._readable(path)
            left -= len(text)
            found += [
                f"{path}:{n}: {line[:MAX_LINE_CHARS]}"
                for n, line in enumerate(text.splitlines(), start=1)
                if pattern.search(line[: 10 * MAX_LINE_CHARS])
            ]
            if len(found) >= MAX_MATCHES or left < 0:
                return "\n".join([*found[:MAX_MATCHES], "… more; narrow it down"])
        return "\n".join(found) or "no match"

    def glob(self, arguments: Mapping[str, Any]) -> str:
        """Return the paths that match a pattern."""
        found = list(self._listed(arguments["pattern"]))
        more = ["… more; narrow it down"] if len(found) > MAX_LISTED else []
        return "\n".join([*found[:MAX_LISTED], *more]) or "no file"

    def _listed(self, pattern: str) -> Iterator[str]:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise ConfinementError(f"{pattern[:100]!r} leads out of the folder", hint="patterns start at the folder")
        try:
            for path in self._overlay.files():
                if not self._rules.ignores(path) and (not pattern or first_match((pattern,), path)):
                    yield path
        except ValueError:
            raise ConfinementError(f"{pattern[:100]!r} is not a pattern", hint="write it as in .gitignore") from None

    def _readable(self, path: str) -> str:
        try:
            return self._overlay.read(path)
        except ConfinementError:  # binary, or too large
            return ""


_PATH = ("string", "path of the file, from the folder")
_TOOLS = {
    "Read": _Tool(
        "Return the lines of a text file with their numbers.",
        {"path": _PATH, "line": ("integer", "first line, from 1"), "count": ("integer", "how many lines")},
        ("path",),
        FolderTools.read,
    ),
    "Write": _Tool(
        "Propose the whole text of a file, new or not. It is shown to a person first.",
        {"path": _PATH, "text": ("string", "the whole text")},
        ("path", "text"),
        FolderTools.write,
    ),
    "Edit": _Tool(
        "Propose to replace a text that is in the file exactly once. It is shown to a person first.",
        {"path": _PATH, "old": ("string", "the text as it stands"), "new": ("string", "the new text")},
        ("path", "old", "new"),
        FolderTools.edit,
    ),
    "Grep": _Tool(
        "Return the lines of files that match a regular expression (RE2).",
        {"pattern": ("string", "regular expression"), "glob": ("string", "only files that match, such as *.py")},
        ("pattern",),
        FolderTools.grep,
    ),
    "Glob": _Tool(
        "Return the paths of files that match a pattern as in .gitignore, such as src/**/*.py.",
        {"pattern": ("string", "pattern")},
        ("pattern",),
        FolderTools.glob,
    ),
}
_KINDS = {"string": str, "integer": int}


def _problem(tool: _Tool, arguments: Mapping[str, Any]) -> str:
    """Return the error of the arguments of a call; empty if they are valid."""
    if unknown := sorted(set(arguments) - set(tool.properties)):
        return f"refused: there is no argument {', '.join(map(str, unknown))}; there are: {', '.join(tool.properties)}"
    for name, (kind, _) in tool.properties.items():
        if name not in arguments:
            if name in tool.required:
                return f"refused: the argument {name} is missing"
        elif not isinstance(arguments[name], _KINDS[kind]) or isinstance(arguments[name], bool):
            return f"refused: the argument {name} must be a {kind}"
    return ""
