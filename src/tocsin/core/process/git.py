"""The only module that starts git, such that no repository can start programs.

A repository shares its objects and references. Git never reads its configuration, hooks or attributes file: each call
uses a git directory of ours (`GIT_COMMON_DIR`) with links to the shared files and the few settings of `_CARRIED`. See
docs/decisions/0049-git-never-reads-a-strangers-configuration.md.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from tocsin.core.errors import ConfigError, ProcessError, TocsinError
from tocsin.core.process.starting import MAX_OUTPUT_BYTES, Child, streaming
from tocsin.core.storage.files import make_directory, read_limited, write_atomically

TIMEOUT_S = 60.0
CHECKOUT_TIMEOUT_S = 1800.0
GIT_DIRECTORIES = "git"  # in the data directory
OLDEST = (2, 31)  # the first version that reads GIT_CONFIG_COUNT
_MAX_ERROR_BYTES = 64 * 1024
_MAX_POINTER_BYTES = 4096

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
_NO_OTHER_CONFIGURATION = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
# The committer's identity, and how an operator's command reaches a remote, do not depend on the repository.
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH")

# The shared files; gitrepository-layout(5) describes each. `HEAD` and `index` protect objects from `git gc`.
_LENT = ("HEAD", "index", "objects", "refs", "packed-refs", "reftable", "logs", "shallow", "worktrees", "info/exclude")
# The settings of a repository that are copied, without the middle part of names: storage formats, committer, and the
# remotes for pushes.
_CARRIED = {
    "core.repositoryformatversion", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
    "core.autocrlf", "core.eol", "core.sparsecheckout", "core.sparsecheckoutcone", "extensions.objectformat",
    "extensions.compatobjectformat", "extensions.refstorage", "user.name", "user.email", "remote.url", "remote.pushurl",
    "remote.fetch", "branch.remote", "branch.merge",
}  # fmt: skip
# Names and values without special characters of git's parser or of a shell: a user name is copied into reflogs, which a
# repository may have linked to any file.
_PLAIN = re.compile(r"[\w \-./:@+~*=%,'^]*")
_OURS = """\
[core]
	hooksPath = /dev/null
	fsmonitor = false
[diff]
	autoRefreshIndex = false
[submodule]
	recurse = false
[maintenance]
	auto = false
[protocol]
	allow = never
"""
_OURS += "".join(f'[protocol "{name}"]\n\tallow = always\n' for name in ("https", "http", "ssh", "git"))


class GitFailedError(TocsinError):
    """Git failed, or a repository was rejected."""

    code = "git-failed"


@dataclass(frozen=True, slots=True)
class CutOutput:
    """The beginning of git's output, and whether there was more."""

    data: bytes
    truncated: bool


@dataclass(frozen=True, slots=True)
class GitPlace:
    """A repository: its work tree, `None` if it is bare; its git directory; the one that all work trees share."""

    top: Path | None
    git_dir: Path
    common_dir: Path


def git_directory(top: Path) -> Path | None:
    """Return the git directory of a work tree: `.git`, or the target of the file with that name."""
    place = top / ".git"
    with suppress(OSError, ConfigError, ValueError):
        if place.is_dir():
            return _resolved(place)
        pointer = os.fsdecode(read_limited(place, _MAX_POINTER_BYTES))
        if pointer.startswith("gitdir:"):
            return _resolved(top / pointer.removeprefix("gitdir:").strip())
    return None


def find_repository(folder: Path, *, above: bool = False) -> GitPlace | None:
    """Return the repository of a folder, which may be bare; with `above`, of the work tree that contains it."""
    start = _resolved(folder)
    for top in (start, *start.parents) if above else (start,):
        git_dir = git_directory(top)
        if git_dir is not None and os.path.lexists(git_dir / "HEAD"):
            return GitPlace(top, git_dir, _common_directory(git_dir))
    is_bare = start.name != ".git" and all((start / name).exists() for name in ("HEAD", "objects", "refs"))
    return GitPlace(None, start, start) if is_bare and not above else None


def _common_directory(git_dir: Path) -> Path:
    with suppress(OSError, ConfigError, ValueError):
        return _resolved(git_dir / os.fsdecode(read_limited(git_dir / "commondir", _MAX_POINTER_BYTES)).strip())
    return git_dir


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


class GitProgram:
    """Starts git; `environment` is ours without secrets, `trusted` lets repositories start programs."""

    def __init__(
        self,
        environment: Callable[[], Mapping[str, str]],
        directories: Path,
        *,
        trusted: bool = False,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Configure git; our git directories of repositories are in `directories`."""
        self.directories = directories
        self.trusted = trusted
        self._environment = environment
        self._timeout_s = timeout_s

    async def open(self, place: GitPlace) -> "GitCommands":
        """Return the runner of commands in a repository; raise GitFailedError for a rejected one."""
        if self.trusted:
            # Git checks the owner of the repository here; with GIT_DIR, it does not.
            await self.output(("rev-parse", "--git-dir"), {}, place.top or place.git_dir)
            return GitCommands(self, place, place.common_dir, None)
        if place.common_dir.parent == _resolved(self.directories):  # a work tree that was added here
            place = replace(place, common_dir=(place.common_dir / "objects").readlink().parent)
        raw = await asyncio.to_thread(_raw_configuration, place.common_dir)
        # `--file -` parses the text that was read before: another process may change the file meanwhile.
        words = ("config", "--file", "-", "--no-includes", "--null", "--list")
        listed = await self.output(words, {"GIT_DIR": "/dev/null"}, Path("/"), stdin=raw)
        if listed.truncated:
            raise _refused(place, "is too long", "remove unneeded settings")
        configuration = _configuration(place, listed.data.decode(errors="replace"))
        ours = self.directories / sha256(os.fsencode(place.common_dir)).hexdigest()[:32]
        await asyncio.to_thread(_lend, place.common_dir, ours, configuration)
        return GitCommands(self, place, ours, configuration)

    async def version(self) -> tuple[int, ...]:
        """Return the version of git; raise GitFailedError if it is not installed."""
        printed = await self.output(("--version",), {}, Path("/"))
        return tuple(int(number) for number in re.findall(rb"\d+", printed.data)[:2])

    async def create(self, folder: Path) -> None:
        """Make a folder of ours a repository, with its files in one commit."""
        commit = ("-c", "user.name=tocsin", "-c", "user.email=tocsin@localhost", "commit", "-q", "-m", "Begin")
        for words in (("init", "-q", "-b", "main"), ("add", "."), commit):
            await self.output(words, {"GIT_DIR": str(folder / ".git")}, folder)

    def environment_of_command(self) -> dict[str, str]:
        """Return the environment of a command that may itself call git, also outside its work tree."""
        settings = {"commit.gpgSign": "false", "maintenance.auto": "false"}  # no passphrase can be entered
        settings |= {} if self.trusted else {"core.hooksPath": "/dev/null", "core.fsmonitor": "false"}
        env = {**self._plain(), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": str(len(settings))}
        for number, (key, value) in enumerate(settings.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return env

    async def output(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        *,
        max_bytes: int = MAX_OUTPUT_BYTES,
        accepted: Sequence[int] = (0,),
        stdin: str = "",
        supervised: bool = False,
        started: Callable[[int], Awaitable[None]] | None = None,
    ) -> CutOutput:
        """Return the beginning of git's output; git is ended at once if there is more. Raises GitFailedError.

        With `supervised`, git ends with this process, however that ends; `started` gets its process ID.
        """
        kept, limits = {"stdout": bytearray(), "stderr": bytearray()}, {"stdout": max_bytes, "stderr": _MAX_ERROR_BYTES}
        running = list[Child]()

        def feed(stream: str, data: bytes) -> None:
            kept[stream] += data[: limits[stream] + 1 - len(kept[stream])]
            if len(kept["stdout"]) > max_bytes:
                for child in running:
                    child.kill()

        own = {} if self.trusted else _NO_OTHER_CONFIGURATION
        whole = {**self._plain(), **_ENVIRONMENT, **own, **env}
        limit, argv = CHECKOUT_TIMEOUT_S if supervised else self._timeout_s, ("git", *words)
        try:
            async with streaming(argv, feed, stdin=stdin, env=whole, cwd=cwd, supervised=supervised) as child:
                running.append(child)
                feed("stdout", b"")  # the output may have been too large before
                if started:
                    await started(child.pid)
                code = await child.wait(limit)
        except ProcessError as error:
            raise GitFailedError(str(error), hint=error.hint or "install git") from None
        if code is None:
            hint = "the machine may be busy, or the repository very large"
            raise GitFailedError(f"git {words[0]} did not finish within {limit:g} s", hint=hint)
        truncated = len(kept["stdout"]) > max_bytes
        if code not in accepted and not truncated:
            raise _failed(kept["stderr"].decode(errors="replace"), words[0])
        return CutOutput(bytes(kept["stdout"][:max_bytes]), truncated)

    def _plain(self) -> dict[str, str]:
        """Return our environment without variables that would select another repository or configuration."""
        return {
            name: value
            for name, value in self._environment().items()
            if not name.startswith("GIT_") or name.startswith(_KEPT)
        }


@dataclass(frozen=True, slots=True)
class GitCommands:
    """Commands for a repository; git reads `configuration` in `common`, or the repository's own if it is trusted."""

    program: GitProgram
    place: GitPlace
    common: Path
    configuration: str | None = field(repr=False)

    async def text(
        self, *words: str, accepted: Sequence[int] = (0,), git_dir: Path | None = None, work_tree: Path | None = None
    ) -> str:
        """Return the output of a command, at most 1 MiB; raise GitFailedError."""
        env = self._environment(self.common, git_dir, work_tree)
        output = await self.program.output(_words(words, work_tree), env, self.common, accepted=accepted)
        return output.data.decode(errors="replace")

    async def beginning(
        self, max_bytes: int, *words: str, git_dir: Path | None = None, work_tree: Path | None = None
    ) -> CutOutput:
        """Return the beginning of a command's output; the command is ended at once if there is more."""
        env = self._environment(self.common, git_dir, work_tree)
        return await self.program.output(_words(words, work_tree), env, self.common, max_bytes=max_bytes)

    async def add_work_tree(
        self, folder: Path, branch: str, started: Callable[[int], Awaitable[None]] | None = None
    ) -> None:
        """Check out a branch in a new folder with its own git configuration, in `directories / folder.name`.

        The index is written last: a work tree without one is incomplete. `started` gets the process IDs of git. Raises
        GitFailedError.
        """
        state, common = self.place.common_dir / "worktrees" / folder.name, self.common
        if self.configuration is not None:
            common = self.program.directories / folder.name
            await asyncio.to_thread(_lend, self.place.common_dir, common, self.configuration, lasting=True)
        add = ("worktree", "add", "--quiet", "--no-checkout", "--", str(folder), branch)
        await self.program.output(add, self._environment(common), common, supervised=True, started=started)
        if self.configuration is not None:
            await asyncio.to_thread(_attach, folder, state, common)
        checkout, env = ("checkout", "--quiet", "--force"), self._environment(common, state, folder)
        await self.program.output(checkout, env, common, supervised=True, started=started)

    def _environment(self, common: Path, git_dir: Path | None = None, work_tree: Path | None = None) -> dict[str, str]:
        env = {"GIT_DIR": str(git_dir or self.place.git_dir)}
        if self.configuration is not None:
            env["GIT_COMMON_DIR"] = str(common)
        if work_tree is not None:
            env["GIT_WORK_TREE"] = str(work_tree)
        return env


def _lend(common_dir: Path, folder: Path, configuration: str, *, lasting: bool = False) -> None:
    """Create a git directory with `configuration` and the shared files of a repository, unless it exists."""
    try:
        if lasting:  # git creates no directory through a dangling link
            (common_dir / "worktrees").mkdir(exist_ok=True)
        with suppress(OSError):
            if (folder / "config").read_text("utf-8") == configuration:
                return
        make_directory(folder / "info")
        for name in _LENT:
            with suppress(FileExistsError):
                (folder / name).symlink_to(common_dir / name)
        write_atomically(folder / "config", configuration)
    except OSError as error:
        raise _not_written(error) from None


def _attach(folder: Path, state: Path, common: Path) -> None:
    """Make a work tree use its state in the repository, but another directory for the shared files."""
    try:
        (state / "commondir").write_bytes(os.fsencode(f"{common}\n"))
        (folder / ".git").write_bytes(os.fsencode(f"gitdir: {state}\n"))
    except OSError as error:
        raise _not_written(error) from None


def _not_written(error: OSError) -> GitFailedError:
    return GitFailedError(f"cannot write {error.filename}: {error.strerror}", hint="check its permissions")


def _words(words: Sequence[str], work_tree: Path | None) -> Sequence[str]:
    """Return a command that ignores submodules: git would start another git there, with its configuration."""
    looks = work_tree is not None and words[0] in {"diff", "status"} and "--cached" not in words
    return (words[0], "--ignore-submodules=all", *words[1:]) if looks else words


def _raw_configuration(common_dir: Path) -> str:
    """Return the configuration of a repository and of its main work tree, without included files."""
    files = [common_dir / name for name in ("config", "config.worktree")]
    try:
        return "\n".join(read_limited(file).decode(errors="replace") for file in files if os.path.lexists(file))
    except ConfigError as error:
        raise GitFailedError(str(error), hint=error.hint) from None


def _configuration(place: GitPlace, listed: str) -> str:
    """Return the configuration that replaces the listed one, which may not include other files."""
    lines = [f"# lent: {', '.join(_LENT)}\n", _OURS]
    for entry in listed.split("\0"):
        key, has_value, value = entry.partition("\n")
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        if section in {"include", "includeif"}:
            raise _refused(place, "includes other files", "copy the included settings into it, and remove `include`")
        if f"{section}.{name}" in _CARRIED and _PLAIN.fullmatch(f"{subsection}{value}"):
            title = f'{section} "{subsection}"' if subsection else section
            lines.append(f'[{title}]\n\t{name} = "{value if has_value else "true"}"\n')
    return "".join(lines)


def _refused(place: GitPlace, reason: str, hint: str) -> GitFailedError:
    return GitFailedError(f"the configuration of {place.common_dir} {reason}", hint=hint)


def _failed(stderr: str, command: str) -> GitFailedError:
    """Return the error with git's message, and a hint if the cause is known."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    said = said.removeprefix("fatal: ").removeprefix("error: ")[:500]
    hint = next((hint for words, hint in _HINTS.items() if words in stderr), "check the repository with git")
    return GitFailedError(f"git {command} failed: {said or 'no reason given'}", hint=hint)


_HINTS = {
    ".lock": "another git process is running there, or was killed and left this file: if none is running, delete it",
    "dubious ownership": "make the user of Tocsin its owner",
    "cannot lock ref": "a branch with a conflicting name exists: choose another name",
    "already checked out": "the branch is checked out in another work tree: switch that work tree to another branch",
    "already used by worktree": (
        "the branch is checked out in another work tree: switch that work tree to another branch"
    ),
    "No space left": "free some disk space",
    "Permission denied": "give the user of Tocsin write permission there",
    "unable to read": "objects are missing, as in a partial clone: fetch them with `git fetch --refetch`",
}
