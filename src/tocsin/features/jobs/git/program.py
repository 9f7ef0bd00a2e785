"""The system's `git`, started so that nothing in a repository can start a program of its own.

What a repository names is switched off (`core/process/git_guards.py`), and transports are refused, also that of a lazy
fetch.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.errors import ProcessError, TocsinError
from tocsin.core.process.git_guards import LIST_PROGRAMS, NO_HOOKS, QUIET, guards_of, variables_of
from tocsin.core.process.starting import Child, ProcessTimeoutError, run, streaming

TIMEOUT_S = 60.0
CHECKOUT_TIMEOUT_S = 1800.0
OLDEST = (2, 31)  # the first with `rev-parse --path-format`

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
_OWN_CONFIGURATION_ALONE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
# Who a commit is by, and how a command of the operator reaches a remote, is not about one repository.
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH")


class GitFailedError(TocsinError):
    """Git refused or failed; `said` is its own last words."""

    code = "git-failed"

    def __init__(self, message: str, *, hint: str = "", said: str = "") -> None:
        super().__init__(message, hint=hint)
        self.said = said


@dataclass(frozen=True, slots=True)
class CutOutput:
    """The beginning of what git printed, and whether there was more."""

    data: bytes
    truncated: bool


class GitProgram:
    """Starts git; `environment` is ours without our secrets, `hooks` lets programs of repositories run."""

    def __init__(self, environment: Callable[[], Mapping[str, str]], *, hooks: bool = False) -> None:
        self._environment = environment
        self._hooks = hooks

    async def guards(self, git_dir: Path) -> dict[str, str]:
        """Return the settings that switch off each program that a repository names."""
        if self._hooks:
            return {}
        return guards_of(await self.text(git_dir, {}, *LIST_PROGRAMS, accepted=(0, 1)))

    def environment(self, guards: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of git itself, or the part of one that keeps programs of a repository from running."""
        own = {} if self._hooks else _OWN_CONFIGURATION_ALONE
        return {**self._plain(), **_ENVIRONMENT, **own, **self._configuration(guards)}

    def environment_of_command(self, guards: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a command that may itself call git: hooks stay off, its user's settings count."""
        return {**self._plain(), "GIT_TERMINAL_PROMPT": "0", **self._configuration(guards)}

    async def text(
        self,
        git_dir: Path,
        guards: Mapping[str, str],
        *words: str,
        accepted: Sequence[int] = (0,),
        work_tree: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> str:
        """Return what a git command prints, at most 1 MiB of it; raises GitFailedError."""
        argv = _argv(git_dir, work_tree, words)
        try:
            ended = await run(argv, timeout_s=timeout_s, env=self.environment(guards))
        except ProcessError as error:
            raise _not_run(error) from None
        if ended.exit_code not in accepted:
            raise git_failed(ended.stderr, words[0])
        return ended.stdout

    async def discovered(self, folder: Path, *words: str) -> str:
        """Return what git prints in a folder whose repository it finds itself, without looking in those above."""
        env = {**self.environment({}), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
        try:
            ended = await run(["git", "-C", str(folder), *words], timeout_s=TIMEOUT_S, env=env)
        except ProcessError as error:
            raise _not_run(error) from None
        if ended.exit_code:
            raise git_failed(ended.stderr, words[0])
        return ended.stdout

    async def beginning(
        self, git_dir: Path, guards: Mapping[str, str], max_bytes: int, *words: str, work_tree: Path | None = None
    ) -> CutOutput:
        """Return the beginning of what a git command prints; it is ended as soon as there is more."""
        output, full = {"stdout": bytearray(), "stderr": bytearray()}, asyncio.Event()

        def feed(stream: str, data: bytes) -> None:
            kept = output[stream]
            kept += data[: max(0, max_bytes + 1 - len(kept))]
            if stream == "stdout" and len(kept) > max_bytes:
                full.set()

        argv = _argv(git_dir, work_tree, words)
        try:
            async with streaming(argv, feed, env=self.environment(guards)) as child:
                code = await _ended_or_full(child, full)
        except ProcessError as error:
            raise _not_run(error) from None
        if code:
            raise git_failed(output["stderr"].decode(errors="replace"), words[0])
        return CutOutput(bytes(output["stdout"][:max_bytes]), len(output["stdout"]) > max_bytes)

    async def supervised(
        self,
        git_dir: Path,
        guards: Mapping[str, str],
        *words: str,
        started: Callable[[int], Awaitable[None]] | None = None,
        timeout_s: float = CHECKOUT_TIMEOUT_S,
    ) -> None:
        """Run a git command that ends with this process, whatever ends this process; raises GitFailedError.

        `started` gets its process ID.
        """
        told = bytearray()

        def feed(stream: str, data: bytes) -> None:
            if stream == "stderr":
                told.extend(data[: max(0, 64 * 1024 - len(told))])

        try:
            async with streaming(
                _argv(git_dir, None, words), feed, env=self.environment(guards), supervised=True
            ) as child:
                if started:
                    await started(child.pid)
                code = await child.wait(timeout_s)
        except ProcessError as error:
            raise _not_run(error) from None
        if code is None:
            raise GitFailedError(f"git {words[0]} did not end within {timeout_s:g} s", hint="try it by hand")
        if code:
            raise git_failed(told.decode(errors="replace"), words[0])

    async def version(self) -> tuple[int, ...]:
        """Return the version of git; raises GitFailedError where there is none."""
        try:
            ended = await run(["git", "--version"], timeout_s=TIMEOUT_S, env=self.environment({}))
        except ProcessError as error:
            raise _not_run(error) from None
        return tuple(int(number) for number in re.findall(r"\d+", ended.stdout)[:2])

    def _configuration(self, guards: Mapping[str, str]) -> dict[str, str]:
        return variables_of({**QUIET, **({} if self._hooks else NO_HOOKS), **guards})

    def _plain(self) -> dict[str, str]:
        """Return our environment without what would lead git to another repository or configuration."""
        return {
            name: value
            for name, value in self._environment().items()
            if not name.startswith("GIT_") or name.startswith(_KEPT)
        }


def git_failed(stderr: str, command: str) -> GitFailedError:
    """Return the error that says what git said, and what to do where that is known."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    said = said.removeprefix("fatal: ").removeprefix("error: ")[:500]
    hint = next((hint for words, hint in _HINTS.items() if words in stderr), "look at the repository with git")
    return GitFailedError(f"git {command} failed: {said or 'it gave no reason'}", hint=hint, said=said)


_HINTS = {
    ".lock": "another git is at work there, or was killed and left that file: if none is, remove it",
    "dubious ownership": "it belongs to another user: give it to the user of Tocsin",
    "cannot lock ref": "another branch of a similar name is in the way: choose another name",
    "already checked out": "the branch is checked out elsewhere: switch that work tree to another branch",
    "already used by worktree": "the branch is checked out elsewhere: switch that work tree to another branch",
    "No space left": "free some space",
    "Permission denied": "give the user of Tocsin the right to write there",
}


def _argv(git_dir: Path, work_tree: Path | None, words: Sequence[str]) -> list[str]:
    return ["git", f"--git-dir={git_dir}", *([f"--work-tree={work_tree}"] if work_tree else []), *words]


async def _ended_or_full(child: Child, full: asyncio.Event) -> int:
    """Return the exit code, 0 also where there is more than is wanted."""
    ending, filled = asyncio.ensure_future(child.wait(TIMEOUT_S)), asyncio.ensure_future(full.wait())
    try:
        await asyncio.wait((ending, filled), return_when=asyncio.FIRST_COMPLETED)
        if full.is_set():
            return 0
        code = await ending
    finally:
        for task in (ending, filled):
            task.cancel()
        await asyncio.wait((ending, filled))
    if code is None:
        raise GitFailedError(f"git did not end within {TIMEOUT_S:g} s", hint="the repository may be very large")
    return code


def _not_run(error: ProcessError) -> GitFailedError:
    slow = isinstance(error, ProcessTimeoutError)
    usual = "the machine is busy, or the repository very large" if slow else "install git"
    return GitFailedError(str(error), hint=error.hint or usual)
