"""Build the image from deploy/Dockerfile: each of its instructions is executed in a Debian root."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.install_proof.debian import SYSTEM_PATH, DebianRoot, Steps, copy_root

INSTRUCTION = re.compile(r"^([A-Z]+)\s+(.*)$", re.DOTALL)
# What python:3.12-slim has and Debian's minimal system has not.
BASE_PACKAGES = ("python3", "python3-venv", "ca-certificates")


@dataclass
class Stage:
    """A stage of the build: its root, and the state that its instructions have set."""

    root: DebianRoot
    env: dict[str, str] = field(default_factory=lambda: {"PATH": SYSTEM_PATH})
    user: str = "root"
    workdir: str = "/"


def parse(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments; lines are joined and comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found, pending = [], ""
    for line in lines:
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1] + "\n"
            continue
        if match := INSTRUCTION.match(pending):
            joined = match[2].replace("\n", "\\\n" if match[1] == "RUN" else " ")
            found.append((match[1], joined))
        pending = ""
    return found


def build(source: Path, base: DebianRoot, folder: Path, arguments: Mapping[str, str], steps: Steps) -> Stage:
    """Execute all instructions of the Dockerfile in a checkout; return the last stage."""
    stages: dict[str, Stage] = {}
    known, stage = dict(arguments), Stage(base)
    for name, value in parse((source / "deploy" / "Dockerfile").read_text("utf-8")):
        if name == "FROM":
            stage = Stage(copy_root(base, folder / f"stage{len(stages)}"))
            stages[value.partition(" AS ")[2] or str(len(stages))] = stage
        elif name == "ARG":
            word, _, default = value.partition("=")
            stage.env.setdefault(word, known.setdefault(word, default.strip('"')))
        elif name == "ENV":
            for pair in value.split():
                word, _, text = pair.partition("=")
                stage.env[word] = text.replace("$PATH", stage.env["PATH"])
        elif name == "RUN":
            with steps.step(f"RUN {value.splitlines()[0][:60]}"):
                stage.root.run(["sh", "-ec", value], home="/", **stage.env)
        elif name == "COPY":
            _copy(value.split(), source, stage, stages)
        elif name == "USER":
            stage.user = value
        elif name == "WORKDIR":
            stage.workdir = value
    return stage


def _copy(words: Sequence[str], source: Path, stage: Stage, stages: Mapping[str, Stage]) -> None:
    if words[0].startswith("--from="):
        source, words = stages[words[0].removeprefix("--from=")].root.path, words[1:]
    *origins, target = words
    place = stage.root / target
    for each in origins:
        origin = source / each.lstrip("/")
        if target.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, place, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(origin, place)
