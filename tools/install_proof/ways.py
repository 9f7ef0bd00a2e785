"""The ways of running Tocsin, each with the commands of the documents: an image, a wheel, a checkout."""

import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.docs.pages import blocks
from tests.ports import free_port
from tools.install_proof.debian import ROOT, DebianRoot, Steps, copy_root, install_packages, mount_into, own_pip_cache
from tools.install_proof.image import BASE_PACKAGES, Stage, build
from tools.install_proof.installation import Installation

COMMIT_FILE = ".commit"


def commands_of(page: str, heading: str) -> list[str]:
    """Return the blocks of shell directly below a heading of a page, in this checkout."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    own = [block for block in blocks("sh") if block.page == page]
    return [block.text for block in own if _heading_above(lines, block.line) == heading]


def _heading_above(lines: Sequence[str], line: int) -> str:
    return next(text for text in reversed(lines[: line - 1]) if re.match(r"#+ ", text))


def export(commit: str, place: Path, version: str = "") -> Path:
    """Write the files of a commit to a folder, with another version in them if one is given."""
    place.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place)], input=archive, check=True)
    (place / COMMIT_FILE).write_text(commit)
    if version:
        module = place / "src" / "tocsin" / "__init__.py"
        text = module.read_text("utf-8")
        module.write_text(re.sub(r"^__version__ = .*$", f'__version__ = "{version}"', text, flags=re.MULTILINE))
    return place


class Way(ABC):
    """One way of running: how the documents install, upgrade, back up and restore it."""

    name: str
    prefix = "/opt/tocsin"

    def __init__(self, folder: Path, base: DebianRoot, settings: Mapping[str, str], steps: Steps) -> None:
        self.folder, self.base, self.settings, self.steps = folder / self.name, base, settings, steps
        self.folder.mkdir(parents=True)
        self.backup = self.folder / "backup"
        self.backup.mkdir()
        self.roots = 0

    @abstractmethod
    def install(self, source: Path) -> Installation:
        """Install the version in a folder into an empty root, with its settings."""

    @abstractmethod
    def upgrade(self, old: Installation, source: Path) -> Installation:
        """Replace the program by the version in a folder; services are stopped afterwards."""

    @abstractmethod
    def back_up(self, installation: Installation) -> None:
        """Write a backup, of running services where the documents say so; they are stopped afterwards."""

    @abstractmethod
    def restore(self, installation: Installation) -> None:
        """Restore the backup onto a new installation."""

    def new_root(self) -> DebianRoot:
        """Return an empty root."""
        self.roots += 1
        return copy_root(self.base, self.folder / f"root{self.roots}")

    def is_installed(self, root: DebianRoot, source: Path) -> bool:
        """Return whether a root has every module of the version in a folder."""
        [package] = (root / self.prefix).glob("lib/python3*/site-packages/tocsin")
        command = ["diff", "-rq", "--exclude=__pycache__", str(source / "src" / "tocsin"), str(package)]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        return not [line for line in found if not line.startswith(f"Only in {package}")]

    def values(self) -> tuple[dict[str, str], tuple[int, int]]:
        """Return the settings with free ports, and the ports."""
        ports = free_port(), free_port()
        return {**self.settings, "GATEWAY_PORT": str(ports[0]), "DASHBOARD_PORT": str(ports[1])}, ports


def lines(values: Mapping[str, str]) -> str:
    """Return settings as lines of a file."""
    return "".join(f"{name}={value}\n" for name, value in values.items())


class ImageWay(Way):
    """The image, run as its user; the volume is a folder that outlives the container."""

    name = "image"

    def install(self, source: Path) -> Installation:
        return self._container(self._built(source), self._volume())

    def upgrade(self, old: Installation, source: Path) -> Installation:
        # `up -d --build`: a new container of the new image with the volume of the old one.
        old.stop()
        return self._container(self._built(source), old.data_path)

    def back_up(self, installation: Installation) -> None:
        installation.stop()  # `docker compose stop`, then `cp --archive`
        subprocess.run(["cp", "-a", str(installation.data_path), str(self.backup / "data")], check=True)

    def restore(self, installation: Installation) -> None:
        subprocess.run(["cp", "-a", f"{self.backup}/data/.", str(installation.data_path)], check=True)

    def _built(self, source: Path) -> Stage:
        self.roots += 1
        folder = self.folder / f"build{self.roots}"
        folder.mkdir()
        base = self.folder / "base"
        if not base.exists():
            with self.steps.step("what the base image has: Python"):
                python = copy_root(self.base, self.folder / "python")
                install_packages(python, BASE_PACKAGES)
                (python / "usr/bin/python").symlink_to("python3")
                # Without its mounts, so that the stages of builds are copies of it.
                subprocess.run(["cp", "-a", "--one-file-system", str(python.path), str(base)], check=True)
        return build(source, DebianRoot(base), folder, {"EXTRAS": ""}, self.steps)

    def _volume(self) -> Path | None:
        return None

    def _container(self, stage: Stage, volume: Path | None) -> Installation:
        data = "/var/lib/tocsin"
        if volume is None:  # an engine gives a new volume the contents and the owner of the image's folder
            volume = self.folder / f"volume{self.roots}"
            subprocess.run(["cp", "-a", str(stage.root / data), str(volume)], check=True)
        mount_into(stage.root, data, volume)
        values, ports = self.values()
        return Installation(stage.root, ["tocsin"], stage.user, stage.workdir, data, ports, {**stage.env, **values})


class WheelWay(Way):
    """A wheel in an environment of one user."""

    name = "wheel"
    user, home, prefix = "anna", "/srv/anna", "/srv/anna/tocsin"

    def install(self, source: Path) -> Installation:
        root = self.new_root()
        with self.steps.step("apt-get install python3-venv"):
            install_packages(root, ["python3-venv"])
        root.run(["useradd", "--create-home", "--home-dir", self.home, "--shell", "/bin/sh", self.user])
        own_pip_cache(root, self.user)
        [commands] = commands_of("docs/guide.md", "### For one user")
        with self.steps.step("pip install of the wheel, tocsin init"):
            self._run(root, commands, source)
        values, ports = self.values()
        data = f"{self.home}/.local/share/tocsin"
        installation = Installation(root, [f"{self.home}/tocsin/bin/tocsin"], self.user, self.home, data, ports)
        installed = (root / data / ".env").read_text("utf-8")
        own = "".join(line for line in installed.splitlines(keepends=True) if line.partition("=")[0] not in values)
        installation.write({".env": own + lines(values)})
        return installation

    def upgrade(self, old: Installation, source: Path) -> Installation:
        old.stop()
        _, commands, _ = commands_of("docs/operation.md", "## For one user")
        self._run(old.root, commands.replace("tocsin doctor", "tocsin doctor --offline || test $? -lt 2"), source)
        return old

    def back_up(self, installation: Installation) -> None:
        installation.stop()
        commands, _, _ = commands_of("docs/operation.md", "## For one user")
        self._run(installation.root, commands)
        subprocess.run(["cp", "-a", str(installation.root / self.home / "tocsin-backup"), str(self.backup)], check=True)

    def restore(self, installation: Installation) -> None:
        kept = installation.root / self.home / "tocsin-backup"
        subprocess.run(["cp", "-a", str(self.backup / "tocsin-backup"), str(kept)], check=True)
        *_, commands = commands_of("docs/operation.md", "## For one user")
        self._run(installation.root, commands)
        installation.ports = self._ports_in(installation)

    def _ports_in(self, installation: Installation) -> tuple[int, int]:
        text = (installation.data_path / ".env").read_text("utf-8")
        found = dict(line.split("=", 1) for line in text.splitlines() if line[:1] not in {"#", ""})
        return int(found["GATEWAY_PORT"]), int(found["DASHBOARD_PORT"])

    def _run(self, root: DebianRoot, commands: str, source: Path | None = None) -> None:
        if source is not None:
            wheel = build_wheel(source)
            subprocess.run(["cp", str(wheel), str(root / self.home)], check=True)
            commands = re.sub(r"\./tocsin-\S+\.whl", f"./{wheel.name}", commands)
        root.script(commands, self.user, self.home)


def build_wheel(source: Path) -> Path:
    """Return the wheel of a folder; it is built once."""
    dist = source / "dist"
    if not dist.exists():
        call = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", call, str(dist)], cwd=source, capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"the wheel could not be built: {done.stderr.decode()[-2000:]}")
    [wheel] = dist.glob("*.whl")
    return wheel
