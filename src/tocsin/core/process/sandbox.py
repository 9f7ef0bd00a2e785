"""The sandbox: bubblewrap if it is installed and works, or else resource limits alone.

With bubblewrap, a program sees a read-only system, its read-only folder, only its own processes and, unless it may use
the network, no network. It may write to its home directory, `/tmp` and `/dev/shm`: each is in memory and has a maximum
size that the kernel enforces. The program ends when this process does.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tocsin.core.errors import ProcessError
from tocsin.core.process.starting import streaming
from tocsin.core.process.tree import list_tree
from tocsin.core.text.shell import shell_argv

# Where administrators install programs: a `bwrap` from elsewhere must not be used.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Files that programs need there and every user may read. Not included: shadow, ssh, ssl/private.
_ETC = (
    "alternatives", "ca-certificates", "crypto-policies", "debian_version", "fonts", "group", "host.conf", "hosts",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd",
    "pki", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
_OWN_HOME = Path("/home/sandbox")
_PROBE_TIMEOUT_S = 10.0
# Far longer than bubblewrap takes: after this, it hangs.
_OPEN_TIMEOUT_S, _OPEN_LOOK_S = 60.0, 0.002
_MIB = 1024**2
# dash uses `-p` where other shells use `-u`. A lower existing limit stays.
_LIMIT = """\
ulimit -c 0; ulimit -n {files}; ulimit -f {blocks}; ulimit -v {kib}
[ {processes} = 0 ] || ulimit -u {processes} || ulimit -p {processes}
exec 2>&3 3>&-
{wait}
exec "$@"
"""
_TEMPORARY = ("/tmp", "/dev/shm")  # noqa: S108  # in the sandbox
_NO_REASON = "it ended without an error message"


class Level(StrEnum):
    """The level of isolation of a sandboxed program."""

    BUBBLEWRAP = "bubblewrap"
    LIMITS = "limits"  # four variables, limits, and the permissions of the user


class State(NamedTuple):
    """The level that works here, and why the other one does not."""

    level: Level
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """The resource limits of a sandboxed program. The first two are for all its processes together."""

    processes: int = 128
    memory_bytes: int = 1024**3
    address_space_bytes: int = 8 * 1024**3  # per process; some runtimes reserve far more than they use
    file_bytes: int = 1024**3
    home_bytes: int = 256 * _MIB
    temporary_bytes: int = 256 * _MIB  # of /tmp, and of /dev/shm
    writable_files: int = 10_000  # in each of these three, directories included
    open_files: int = 1024


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SandboxPolicy:
    """The permissions of a program: a folder to read and work in, a home directory, the network.

    With bubblewrap, `folder` has the content of `source`; without, the program works in `source`. With bubblewrap,
    `home` is an empty folder in memory, which `WritableFolders` opens; without, it is the folder itself. A program with
    a home reads one line of its standard input before it starts: see `streaming`, `attach`.
    """

    folder: Path
    source: Path
    home: Path | None = None
    network: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SandboxedCommand:
    """A command line and its environment, ready to be started in `cwd`."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    wrapped: bool  # see `tocsin.core.process.starting.streaming`


class WritableFolders:
    """The in-memory folders to which a program in bubblewrap may write; they can be read after its end."""

    def __init__(self, home: Path, limits: ResourceLimits) -> None:
        self._home = home
        self._limits = limits
        self._open: dict[str, int] = {}

    @property
    def home(self) -> int | None:
        """The descriptor of the home directory, once it is open."""
        return self._open.get(str(self._home))

    async def open(self, pid: int) -> None:
        """Open the folders of the bubblewrap process `pid` as soon as they are mounted; raise ProcessError."""
        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                while not self._open_below(pid):  # noqa: ASYNC110  # the kernel does not report a mount
                    await asyncio.sleep(_OPEN_LOOK_S)
        except TimeoutError:
            raise ProcessError("bubblewrap did not mount the home directory of the program") from None

    def _open_below(self, pid: int) -> bool:
        return any(self._open_in(process.pid) for process in list_tree(pid) if process.pid != pid)

    def _open_in(self, pid: int) -> bool:
        """Open the folders of one process; return False while it still has the file system of this process."""
        with suppress(OSError):
            home = _opened(pid, str(self._home))
            self._open[str(self._home)] = home
            if not self._home.is_dir() or not os.path.samestat(os.fstat(home), self._home.stat()):
                self._open |= {path: _opened(pid, path) for path in _TEMPORARY}
                return True
        self.close()
        return False

    def excess(self) -> str:
        """Return the limit that the program has reached in one of the folders, or `""`."""
        for path, descriptor in self._open.items():
            found, label = os.fstatvfs(descriptor), "its home directory" if path == str(self._home) else path
            if not found.f_bfree:
                return f"it filled {label} ({found.f_blocks * found.f_frsize // _MIB} MiB)"
            if found.f_files - found.f_ffree > self._limits.writable_files:
                return f"it made more than {self._limits.writable_files:,} files in {label}"
        return ""

    def close(self) -> None:
        """Close the folders; the kernel then frees their memory."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


@dataclass(slots=True, eq=False, repr=False)
class Sandbox:
    """Isolates programs; `bwrap` is the path of bubblewrap, empty if it is not installed."""

    limits: ResourceLimits = field(default_factory=ResourceLimits)
    bwrap: str = field(default_factory=lambda: shutil.which("bwrap", path=SYSTEM_PATH) or "")
    _state: State | None = None

    async def state(self) -> State:
        """Return the level that works; bubblewrap is tried once, with all options in use."""
        if self._state is None:
            self._state = await self._try_out()
        return self._state

    async def confine(self, argv: Sequence[str], env: Mapping[str, str], room: SandboxPolicy) -> SandboxedCommand:
        """Return the command that runs `argv` within the policy `room`."""
        state = await self.state()
        env = {**env, "HOME": str(room.home)} if room.home else env
        if state.level is Level.LIMITS:
            return SandboxedCommand((*self._limited(in_namespace=False), *argv), env, room.source, wrapped=False)
        wrapper = (*self._bubblewrap(room), *self._limited(in_namespace=True, waits=room.home is not None))
        return SandboxedCommand((*wrapper, *argv), env, Path("/"), wrapped=True)

    def reachable(self, path: str, level: Level) -> str:
        """Return the folders of a `PATH` in which a sandboxed program finds programs."""
        folders = [folder for folder in path.split(os.pathsep) if folder.startswith("/")]
        if level is Level.BUBBLEWRAP:
            folders = [folder for folder in folders if _is_system(folder)]
        return os.pathsep.join(folders) or SYSTEM_PATH

    def shows(self, program: str, level: Level) -> bool:
        """Whether a sandboxed program can start the target of this name."""
        return level is Level.LIMITS or _is_system(os.path.realpath(program))

    async def _try_out(self) -> State:
        if not self.bwrap:
            return State(Level.LIMITS, "bubblewrap is not installed")
        room = SandboxPolicy(Path("/tmp"), Path("/tmp"), _OWN_HOME)  # noqa: S108  # a folder that exists
        argv = [*self._bubblewrap(room), *self._limited(in_namespace=True, waits=True), "/bin/true"]
        said, folders = bytearray(), WritableFolders(_OWN_HOME, self.limits)
        start = streaming(
            argv,
            lambda _, data: said.extend(data),
            env={"PATH": SYSTEM_PATH},
            cwd=Path("/"),
            wrapped=True,
            attach=folders.open,
        )
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_S), start as child:
                code = await child.wait()
        except TimeoutError:
            return State(Level.LIMITS, "bubblewrap does not work here: it does not finish")
        except ProcessError as error:
            return State(Level.LIMITS, f"bubblewrap does not work here: {error}")
        finally:
            folders.close()
        if code:
            reason = (said.decode(errors="replace").strip().splitlines() or [_NO_REASON])[-1].removeprefix("bwrap: ")
            return State(Level.LIMITS, f"bubblewrap does not work here: {reason}")
        return State(Level.BUBBLEWRAP)

    def _bubblewrap(self, room: SandboxPolicy) -> Iterator[str]:
        size = str(self.limits.temporary_bytes)
        folder = str(room.folder)
        yield from (self.bwrap, "--die-with-parent", "--new-session", "--cap-drop", "ALL")
        yield from ("--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000")
        yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox")
        yield from () if room.network else ("--unshare-net",)
        yield from _system(network=room.network)
        yield from ("--proc", "/proc", "--dev", "/dev")
        for path in _TEMPORARY:
            yield from ("--size", size, "--tmpfs", path)
        yield from ("--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp")  # noqa: S108  # within the sandbox
        yield from ("--ro-bind", str(room.source), folder)
        if room.home:
            yield from ("--size", str(self.limits.home_bytes), "--tmpfs", str(room.home))
        # If this program is root, `/proc/sys` and the like belong to the sandboxed program, too.
        for place in ("/proc", "/dev", "/"):
            yield from ("--remount-ro", place)
        yield from ("--chdir", folder, "--")

    def _limited(self, *, in_namespace: bool, waits: bool = False) -> tuple[str, ...]:
        limits = self.limits
        script = _LIMIT.format(
            files=limits.open_files,
            blocks=limits.file_bytes // 512,
            kib=limits.address_space_bytes // 1024,
            # Outside a user namespace, and in one before Linux 5.14, all processes of the user would count.
            processes=limits.processes if in_namespace and _counts_by_namespace() else 0,
            wait="read -r line; unset line" if waits else "",
        )
        # The shell's message about a limit that cannot be set is not output of the program.
        return shell_argv(f"exec 3>&2 2>/dev/null\n{script}", "limits")


def _opened(pid: int, path: str) -> int:
    return os.open(f"/proc/{pid}/root{path}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _system(*, network: bool) -> Iterator[str]:
    """Yield the options that mount the system's programs, and only the settings that programs need."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in (*_ETC, *(("resolv.conf",) if network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _is_system(folder: str) -> bool:
    return _top(folder) in {"usr", *_SYSTEM_FOLDERS}


def _top(folder: str) -> str:
    parts = Path(os.path.normpath(folder)).parts
    return parts[1] if len(parts) > 1 else ""


def _counts_by_namespace() -> bool:
    """Whether RLIMIT_NPROC counts only the processes of a user namespace: since Linux 5.14."""
    numbers = [int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdigit()]
    return numbers >= [5, 14]
