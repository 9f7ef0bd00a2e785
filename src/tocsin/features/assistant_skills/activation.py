"""Whether a skill acts on a file: four checks; and why no service checks the file, if so."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from tocsin.core.errors import ConfigError
from tocsin.core.reading.path_patterns import compiled_patterns
from tocsin.features.assistant_skills.model import AssistantSkill
from tocsin.features.skill_records import ActivationCheck

VALID, ENABLED, MATCHES, NOT_EXCLUDED = (
    "is the definition valid?",
    "is it enabled?",
    "does a pattern match?",
    "is the file not excluded?",
)


def activation(skill: AssistantSkill, path: str) -> tuple[ActivationCheck, ...]:
    """Return the four questions with their answers; `path` starts at the watched folder, with `/` between names."""
    definition = skill.definition
    if definition is None or skill.errors:
        mistakes = "; ".join(map(str, skill.errors))
        unknown = "unknown while the definition has an error"
        rest = (ActivationCheck(question, None, unknown) for question in (ENABLED, MATCHES, NOT_EXCLUDED))
        return ActivationCheck(VALID, False, f"{skill.file}:{mistakes}"), *rest
    matching = first_match(definition.file_patterns, path)
    excluding = first_match(definition.exclude_patterns, path)
    if not definition.file_patterns:
        matched = "without file_patterns, it checks all files"
    else:
        matched = f"{matching} matches" if matching else f"no pattern matches: {', '.join(definition.file_patterns)}"
    return (
        ActivationCheck(VALID, True, "it has no errors"),
        ActivationCheck(ENABLED, definition.enabled, f"enabled: {'true' if definition.enabled else 'false'}"),
        ActivationCheck(MATCHES, bool(matching) or not definition.file_patterns, matched),
        ActivationCheck(
            NOT_EXCLUDED, not excluding, f"excluded by {excluding}" if excluding else "no pattern excludes it"
        ),
    )


def unwatched(folders: Sequence[Path], file: Path) -> str:
    """Return why no service checks a file; empty if one does."""
    if not folders:
        return "SKILLS_WATCH is empty: files are checked only while `tocsin skills watch` runs"
    if not any(file.is_relative_to(folder) for folder in folders):
        return f"not in a folder of SKILLS_WATCH: {', '.join(map(str, folders))}"
    return ""


def questions(skill: AssistantSkill, path: str) -> list[ActivationCheck]:
    """Return the four questions with their answers; without a path, those about patterns have no answer."""
    unasked = {MATCHES, NOT_EXCLUDED} if not path and skill.definition and not skill.errors else set()
    return [
        ActivationCheck(each.question, None, "give the path of a file") if each.question in unasked else each
        for each in activation(skill, path or ".")
    ]


def path_below(folders: Sequence[Path], file: str) -> str:
    """Return a file as patterns see it: from the watched folder that it is in, or from the root; raises ConfigError."""
    path = PurePath(os.path.normpath(file))
    if path.is_absolute():
        tops = [folder for folder in folders or (Path("/"),) if path.is_relative_to(folder)]
        if not tops:
            raise ConfigError(f"{path} is not in a watched folder", hint="use a path relative to the watched folder")
        path = path.relative_to(tops[0])
    if path.parts[:1] == ("..",):
        raise ConfigError(f"{path} is outside the watched folder", hint="use a path inside it")
    return path.as_posix()


def acts_on(skill: AssistantSkill, path: str) -> bool:
    """Whether all four checks succeed."""
    definition = skill.definition
    if definition is None or skill.errors or not definition.enabled:
        return False
    wanted = not definition.file_patterns or compiled_patterns(definition.file_patterns).take(path)
    return wanted and not compiled_patterns(definition.exclude_patterns).take(path)


def first_match(patterns: Sequence[str], path: str) -> str:
    """Return the last pattern that matches a path, as in `.gitignore`; empty if none matches."""
    if not patterns:
        return ""
    is_taken, index = compiled_patterns(tuple(patterns)).deciding(path)
    return patterns[index] if is_taken and index is not None else ""
