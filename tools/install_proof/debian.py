"""Debian roots without a container engine: mmdebstrap makes them, chroot runs commands in them.

The settings of pip and apt of this machine are copied into each root. Downloads are kept below `.cache/install-proof`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "install-proof"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SUITE = "bookworm"


@dataclass
class Steps:
    """The times of all steps, in seconds, and the failed comparisons."""

    way: str = ""
    rows: list[tuple[str, str, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Measure the block, and print its time."""
        started = time.monotonic()
        yield
        took = time.monotonic() - started
        self.rows.append((self.way, what, took))
        print(f"{self.way:>8}  {took:6.1f} s  {what}", flush=True)

    def check(self, what: str, lost: Sequence[str], compared: int) -> None:
        """Report what is lost or different among `compared` values."""
        print(f"{self.way:>8}  {compared:>6} values compared, {len(lost)} lost or changed: {what}", flush=True)
        for line in lost:
            print(f"          {line}", flush=True)
        self.failures.extend(f"{self.way}, {what}: {line}" for line in lost)


@dataclass(frozen=True)
class DebianRoot:
    """A root file system and the environment of commands in it."""

    path: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def __truediv__(self, inner: str) -> Path:
        return self.path / inner.lstrip("/")

    def command(self, words: Sequence[str], user: str = "root", home: str = "/", **env: str) -> list[str]:
        """Return the command that runs another one in the root as a user, in its home."""
        own = {
            "PATH": SYSTEM_PATH, "HOME": home, "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
            **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
            **self.env, **env, "PIP_CACHE_DIR": f"/cache/{user.partition(':')[0]}", "PIP_NO_CACHE_DIR": "0",
            "PIP_FIND_LINKS": "", "PIP_CERT": f"/cache/{Path(CERTIFICATES).name}",
        }  # fmt: skip
        pairs = [f"{name}={value}" for name, value in own.items()]
        inner = ["env", "-i", *pairs, "sh", "-c", 'cd "$HOME" && exec "$@"', "sh", *words]
        return ["chroot", f"--userspec={user}", str(self.path), *inner]

    def run(self, words: Sequence[str], user: str = "root", home: str = "/", text: str = "", **env: str) -> str:
        """Return what a command prints on stdout; exits with its errors if it fails."""
        done = subprocess.run(
            self.command(words, user, home, **env), input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(words)[:400]}\nexit code {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def script(self, text: str, user: str = "root", home: str = "/", **env: str) -> str:
        """Run the commands of a page; each must succeed."""
        return self.run(["sh", "-ec", text], user, home, **env)


@contextmanager
def debian_roots(folder: Path) -> Iterator[None]:
    """End all processes in roots below the folder, and remove all mounts there, at the end."""
    try:
        yield
    finally:
        for process in processes_below(folder):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for mount in sorted(mounts_below(folder), reverse=True):
            subprocess.run(["umount", "--lazy", mount], check=False)


def make_empty_root(place: Path) -> DebianRoot:
    """Make Debian's minimal system, with what mmdebstrap calls minbase."""
    sources = [str(path) for path in Path("/etc/apt/sources.list.d").glob("debian.sources")]
    command = ["mmdebstrap", "--quiet", "--variant=minbase", SUITE, str(place), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"mmdebstrap failed: {done.stderr[-2000:]}")
    return DebianRoot(place)


def copy_root(origin: DebianRoot, place: Path) -> DebianRoot:
    """Copy a root that has no mounts, and mount what a container engine or a machine would have."""
    subprocess.run(["cp", "-a", "--reflink=auto", f"{origin.path}/.", str(place)], check=True)
    root = DebianRoot(place, dict(origin.env))
    mount_into(root, "/proc", Path("/proc"))
    mount_into(root, "/dev", Path("/dev"))
    mount_into(root, "/cache", _made(CACHE / "pip"))
    mount_into(root, "/var/cache/apt/archives", _made(CACHE / "apt" / "partial").parent)
    # Debian's own package would replace those of this machine.
    shutil.copy2(CERTIFICATES, root / "cache")
    for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
        if Path(path).exists():
            shutil.copy2(path, root / path)
    return root


def mount_into(root: DebianRoot, inner: str, source: Path) -> None:
    """Bind a folder of this machine into a root."""
    place = root / inner
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", str(source), str(place)], check=True)


def install_packages(root: DebianRoot, packages: Iterable[str]) -> None:
    """Install Debian packages, as the documents ask for."""
    root.script(f"apt-get -qq update && apt-get -qq install -y --no-install-recommends {' '.join(packages)} >/dev/null")


def own_pip_cache(root: DebianRoot, user: str) -> None:
    """Give a user a place for pip's downloads, which pip uses only if the user owns it."""
    root.run(["install", "-d", "-o", user, "-g", user, f"/cache/{user}"])


def processes_below(folder: Path) -> list[int]:
    """Return the processes whose root is in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "root").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def mounts_below(folder: Path) -> list[str]:
    """Return the places of mounts in a folder."""
    lines = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    return [place for line in lines if (place := line.split()[1]).startswith(f"{folder}/")]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
