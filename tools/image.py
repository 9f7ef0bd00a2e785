"""Build the image in a fresh Debian root without a container engine, and use it: `python -m tools.image`.

Executes every instruction of deploy/Dockerfile in roots made by mmdebstrap, then starts the services there as the
image's user and sends a message, as the demo does. Needs root, and the packages mmdebstrap and python3 of Debian. The
downloads are kept below `.cache/image`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.town_thread import town_on_a_thread

from tocsin_standins import StandinCluster

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache" / "image"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
# What python:3.12-slim has and Debian's minimal system has not.
BASE_PACKAGES = "python3,python3-venv,ca-certificates"
INSTRUCTION = re.compile(r"^([A-Z]+)\s+(.*)$", re.DOTALL)
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PORTS = {"GATEWAY_PORT": "18100", "DASHBOARD_PORT": "18200"}


class Stage(NamedTuple):
    """A root file system, and the state that its instructions have set."""

    root: Path
    env: dict[str, str]


def parse(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments; lines are joined and comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", "\\\n", "\n".join(lines))
    found, pending = [], ""
    for line in joined.split("\n"):
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + "\n"
            continue
        if match := INSTRUCTION.match(pending):
            found.append(
                (match[1], match[2].replace("\n", " ") if match[1] != "RUN" else match[2].replace("\n", "\\\n"))
            )
        pending = ""
    return found


def main() -> int:
    """Build, use, and print how long each step took; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__)
    parser.add_argument("--extras", default="", help="extras to build in, such as `chat`")
    arguments = parser.parse_args()
    if os.geteuid() or not shutil.which("mmdebstrap"):
        sys.exit("this needs root, and mmdebstrap (apt-get install mmdebstrap)")
    CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="tocsin-image-") as folder:
        try:
            final, user, workdir = build(Path(folder), {"EXTRAS": arguments.extras})
            with town_on_a_thread() as town:
                return use(final, user, workdir, town)
        finally:
            for mount in sorted(_mounts(folder), reverse=True):
                subprocess.run(["umount", "--lazy", mount], check=False)


def build(folder: Path, arguments: Mapping[str, str]) -> tuple[Stage, str, str]:
    """Execute all instructions; return the last stage, its user and its working directory."""
    base = folder / "base"
    sources = [str(path) for path in Path("/etc/apt/sources.list.d").glob("debian.sources")]
    _timed(
        "a Debian root",
        ["mmdebstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", "bookworm", str(base), *sources],
    )
    stages: dict[str, Stage] = {}
    stage, user, workdir, known = Stage(base, {}), "root", "/", dict(arguments)
    for name, value in parse(DOCKERFILE.read_text("utf-8")):
        if name == "FROM":
            root = folder / f"stage{len(stages)}"
            subprocess.run(["cp", "-a", str(base), str(root)], check=True)
            stage, user, workdir = Stage(root, {"PATH": os.defpath + ":/usr/sbin:/sbin"}), "root", "/"
            stages[value.partition(" AS ")[2] or str(len(stages))] = stage
            _mount(root)
        elif name == "ARG":
            word, _, default = value.partition("=")
            stage.env.setdefault(word, known.setdefault(word, default.strip('"')))
        elif name == "ENV":
            for pair in value.split():
                word, _, text = pair.partition("=")
                stage.env[word] = text.replace("$PATH", stage.env["PATH"])
        elif name == "RUN":
            _timed(value.split("\n")[0][:60], _inside(stage, "root", "/", ["sh", "-ec", value]))
        elif name == "COPY":
            _copy(value.split(), stage, stages)
        elif name == "USER":
            user = value
        elif name == "WORKDIR":
            workdir = value
    return stage, user, workdir


def use(stage: Stage, user: str, workdir: str, town: StandinCluster) -> int:
    """Start everything as the user of the image, and do what the demo shows; return the exit code."""
    settings = {
        "GATEWAY_TOKEN": "a-token-for-this-test-only",
        "DASHBOARD_USER": "anna",
        "DASHBOARD_PASS_FILE": "/run/dashboard_pass",  # every secret may come from a file
        **town.environment(),
        "REDIS_URL": "off",
        **PORTS,
    }
    (stage.root / "run" / "dashboard_pass").write_text("a long made-up password\n")
    service = Stage(stage.root, {**stage.env, **settings})
    version = subprocess.run(_inside(service, user, workdir, ["tocsin", "--version"]), check=True, capture_output=True)
    print(version.stdout.decode().strip())
    for program in ("ssh -V", "git --version", "age --version", "bwrap --version"):
        subprocess.run(_inside(service, user, workdir, program.split()), check=True, capture_output=True)
    process = subprocess.Popen(_inside(service, user, workdir, ["tocsin", "up"]), stderr=subprocess.PIPE)
    try:
        started = time.monotonic()
        health = _answer(f"http://127.0.0.1:{PORTS['GATEWAY_PORT']}/health", process)
        print(f"healthy after {time.monotonic() - started:.1f} s: {health['status']}")
        _answer(f"http://127.0.0.1:{PORTS['DASHBOARD_PORT']}/api/health", process)
        _call(service, user, workdir, "send", "slack", "#ops", "from the image")
        print("sent", [received.text for received in town.recorder.of("teamchat")])
        listed = json.loads(_call(service, user, workdir, "deliveries", "list", "--json"))
        print("recorded", len(listed))
    finally:
        process.terminate()
        code = process.wait(60)
    print(f"stopped with {code}")
    return code


def _call(stage: Stage, user: str, workdir: str, *words: str) -> bytes:
    """Return what a command prints in the root; raises CalledProcessError."""
    command = _inside(stage, user, workdir, ["tocsin", *words])
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def _answer(address: str, process: "subprocess.Popen[bytes]") -> dict[str, object]:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as found:  # noqa: S310  # our own address
                return dict(json.load(found))
        except OSError:
            time.sleep(0.2)
    sys.exit(f"the services ended: {process.stderr.read().decode() if process.stderr else ''}")


def _copy(words: Sequence[str], stage: Stage, stages: Mapping[str, Stage]) -> None:
    source = ROOT
    if words[0].startswith("--from="):
        source, words = stages[words[0].removeprefix("--from=")].root, words[1:]
    *sources, target = words
    place = stage.root / target.lstrip("/")
    for each in sources:
        origin = source / each.lstrip("/")
        if target.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(
                origin, place, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(origin, place)


def _inside(stage: Stage, user: str, workdir: str, command: Sequence[str]) -> list[str]:
    """Return the command that runs another one in a root; pip keeps its downloads."""
    env = {**stage.env, "PIP_CACHE_DIR": "/cache", "PIP_NO_CACHE_DIR": "0", "HOME": workdir, "LANG": "C.UTF-8"}
    env["PIP_CERT"] = CERTIFICATES
    own = [f"{name}={value}" for name, value in env.items()]
    script = f'cd {workdir} && exec "$@"'
    return ["chroot", f"--userspec={user}", str(stage.root), "env", "-i", *own, "sh", "-c", script, "sh", *command]


def _mount(root: Path) -> None:
    """Give a root what a container engine gives, and the settings of pip and apt of this machine."""
    for name, source in {"proc": "/proc", "dev": "/dev", "cache": str(CACHE)}.items():
        (root / name).mkdir(exist_ok=True)
        subprocess.run(["mount", "--bind", source, str(root / name)], check=True)
    for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", CERTIFICATES):
        if Path(path).exists():
            shutil.copy2(path, root / path.lstrip("/"))


def _mounts(folder: str) -> list[str]:
    lines = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    return [place for line in lines if (place := line.split()[1]).startswith(folder)]


def _timed(what: str, command: Sequence[str]) -> None:
    started = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(f"{time.monotonic() - started:6.1f} s  {what}", flush=True)
    if done.returncode:
        sys.exit(done.stdout.decode()[-3000:])


if __name__ == "__main__":
    sys.exit(main())
