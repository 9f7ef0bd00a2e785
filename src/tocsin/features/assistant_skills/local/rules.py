"""The skills that work without a model, by name."""

from collections.abc import Sequence
from contextlib import suppress

from tocsin.features.assistant_skills.folder.confined import ConfinedFolder, ConfinementError
from tocsin.features.assistant_skills.folder.place import MAX_FILES, files_for
from tocsin.features.assistant_skills.local.commit_message import GitChange, propose_message
from tocsin.features.assistant_skills.local.dependencies import audit_dependencies
from tocsin.features.assistant_skills.local.secrets import scan_secrets
from tocsin.features.assistant_skills.model import DEPENDENCIES, AssistantSkill, SkillOutput
from tocsin.features.skill_records import SkillFinding


def look_at_commit(change: GitChange) -> SkillOutput:
    """Return the output of `git-commit-helper` for a change."""
    notes = () if change.files else ("git has no changes and no commits here",)
    return SkillOutput(tuple(propose_message(change)), len(change.files), notes)


def look_at_files(skill: AssistantSkill, folder: ConfinedFolder, paths: Sequence[str]) -> SkillOutput:
    """Return the findings of a skill in files; an unreadable file is noted and does not end the run. Blocks."""
    scan = _dependencies if skill.name == DEPENDENCIES else _secrets
    findings, notes, count = list[SkillFinding](), list[str](), 0
    for path in files_for(skill, folder, paths):
        count += 1
        try:
            findings += scan(folder, path)
        except ConfinementError as error:
            notes.append(error.sentence())
    if count == MAX_FILES:
        notes.append(f"only the first {MAX_FILES} files were checked")
    return SkillOutput(tuple(findings), count, tuple(notes))


def _secrets(folder: ConfinedFolder, path: str) -> list[SkillFinding]:
    return scan_secrets(path, _settled(folder, path))


def _dependencies(folder: ConfinedFolder, path: str) -> list[SkillFinding]:
    def read(other: str) -> bytes | None:
        with suppress(ConfinementError):
            return folder.read(other)
        return None

    return audit_dependencies(path, _settled(folder, path), read)


def _settled(folder: ConfinedFolder, path: str) -> bytes:
    """Return the content of a file that did not change while it was read; one that keeps changing is refused."""
    for _ in range(3):
        before = folder.stamp(path)
        content = folder.read(path)
        if folder.stamp(path) == before:
            return content
    raise ConfinementError(f"{path} changed during reading", hint="the next change is checked")
