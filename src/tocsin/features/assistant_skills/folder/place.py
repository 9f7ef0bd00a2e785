"""The folder that a run may read, and its files."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.watching.ignored_files import IgnoreRules
from tocsin.features.assistant_skills.activation import acts_on
from tocsin.features.assistant_skills.folder.confined import ConfinedFolder, parts_of
from tocsin.features.assistant_skills.model import AssistantSkill

MAX_FILES = 1000


@dataclass(frozen=True, slots=True)
class SkillPlace:
    """A folder, and files and directories in it; an empty path is the folder itself."""

    root: Path
    paths: tuple[str, ...] = ("",)


def place_of(root: Path, asked: Sequence[Path]) -> SkillPlace:
    """Return the paths below a folder; raises ConfigError for one that is elsewhere."""
    top = os.path.realpath(root)
    found = []
    for path in asked:
        # The directory is resolved and the last name is not: a link is refused when it is opened.
        real = str(Path(os.path.realpath(path.parent), path.name)) if path.name else str(path)
        relative = os.path.relpath(real, top)
        if relative == ".":
            found.append("")
            continue
        if relative.split("/")[0] == "..":
            raise ConfigError(f"{path} is not below {top}", hint="a run can inspect only one folder")
        found.append("/".join(parts_of(relative)))
    return SkillPlace(Path(top), tuple(found) or ("",))


def files_for(skill: AssistantSkill, folder: ConfinedFolder, paths: Sequence[str]) -> Iterator[str]:
    """Yield the files that are named, and those of named directories that the skill acts on and git does not ignore."""
    rules, count = IgnoreRules(folder.path), 0
    for path in paths:
        if path and not folder.is_directory(path):
            yield path
            continue
        for found in folder.files(path):
            if acts_on(skill, found) and not rules.ignores(found):
                count += 1
                if count > MAX_FILES:
                    return
                yield found
