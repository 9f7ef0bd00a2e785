"""The folder of skills: what is one, what is wrong with one, and that the others are not affected."""

from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.features.skills.model import Kind, Manifest, Permission, Skill, UnknownSkillError
from tocsin.features.skills.store import SkillFolder

GOOD = """\
name: backup
description: Make a backup.
command: ./backup.sh "$1"
permissions: [network, vault, network]
dependencies: [tar, zstd, g++]
timeout_seconds: 120
"""


class Writer:
    def __init__(self, path: Path) -> None:
        self.folder = SkillFolder(path / "skills")

    def __call__(self, name: str, text: str) -> SkillFolder:
        path = self.folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self.folder

    def mistakes(self, text: str) -> list[str]:
        return [str(error.problem) for error in self("backup/skill.yaml", text).get("backup").errors]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    return Writer(tmp_path)


def test_a_manifest_is_read_with_all_its_fields(write: Writer):
    skill = write("backup/skill.yaml", GOOD).get("backup")
    assert skill == Skill(
        "backup",
        Kind.RUNNABLE,
        "Make a backup.",
        write.folder.path / "backup",
        Manifest(
            "backup",
            "Make a backup.",
            './backup.sh "$1"',
            (Permission.NETWORK, Permission.VAULT),
            ("tar", "zstd", "g++"),
            120,
        ),
    )
    assert (skill.valid, skill.runnable) == (True, True)


def test_what_a_manifest_leaves_out_is_nothing_and_five_minutes(write: Writer):
    skill = write("x/skill.yaml", "name: x\ndescription: d\ncommand: c\n").get("x")
    assert skill.manifest == Manifest("x", "d", "c", (), (), 300)


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ("name: other", "1:7: name: 'other' differs from the name of the folder, 'backup'"),
        ("comand: x", "7:1: unknown key 'comand'"),
        ("command: again", "7:1: duplicate key 'command' (first in line 3)"),
        ("timeout_seconds: 301", "6:18: timeout_seconds: expected a whole number from 1 to 300, found 301"),
        ("timeout_seconds: 0", "6:18: timeout_seconds: expected a whole number from 1 to 300, found 0"),
        ("permissions: [vualt]", "4:15: permissions[0]: 'vualt' is not one of: network, vault (did you mean 'vault'?)"),
        (
            "permissions: [vault]\nvault: [A-B]",
            "5:9: vault[0]: 'A-B' is not a secret name: use letters, digits and _",
        ),
        ("permissions: vault", "4:14: permissions: expected a list, found text"),
        ("dependencies: [../tar]", "5:16: dependencies[0]: '../tar' is not a program name"),
        ("dependencies: ['tar zip']", "5:16: dependencies[0]: 'tar zip' is not a program name"),
        ("dependencies: ['-v']", "5:16: dependencies[0]: '-v' is not a program name"),
        ("command: ''", "3:10: command: expected text, found only whitespace"),
        ("description: [a]", "2:14: description: expected text, found a list"),
    ],
)
def test_a_mistake_has_its_place_and_its_reason(write: Writer, change: str, mistake: str):
    key = change.partition(":")[0]
    lines = GOOD.splitlines()
    places = [n for n, line in enumerate(lines) if line.startswith(f"{key}:")]
    if places and change != "command: again":
        lines[places[0]] = change
    else:
        lines.append(change)
    found = write.mistakes("\n".join(lines) + "\n")
    assert [one for one in found if one.startswith(mistake)], found


def test_secrets_are_named_only_with_the_permission_to_have_them(write: Writer):
    without = GOOD.replace("permissions: [network, vault, network]", "vault: [API_KEY]")
    [mistake] = write.mistakes(without)
    assert mentions(mistake, "4:1", "`vault`")


def test_a_misspelled_key_is_told_with_the_likely_one(write: Writer):
    found = write.mistakes("name: backup\ndescripton: d\ncommand: c\n")
    assert mentions(found[1], "2:1: ", "'descripton'", "'description'")


def test_an_empty_manifest_says_what_it_needs(write: Writer):
    [mistake] = write.mistakes("# later\n")
    assert mentions(mistake, "1:1: ", "name", "description", "command")


def test_a_broken_skill_is_listed_with_its_mistakes_and_the_others_are_not_affected(write: Writer):
    write("backup/skill.yaml", GOOD)
    write("broken/skill.yaml", "name: [")
    write("broken2/skill.yaml", "name: broken2")
    listed = {skill.name: skill.valid for skill in write.folder.all()}
    assert listed == {"backup": True, "broken": False, "broken2": False}
    assert not write.folder.get("broken").runnable


@pytest.mark.parametrize("name", ["Backup", "a--b", "-a", "a_b", "a.b", "ä", "x" * 65])
def test_a_folder_whose_name_cannot_be_a_skills_is_told(write: Writer, name: str):
    (skill,) = write(f"{name}/skill.yaml", GOOD).all()
    assert "valid" in skill.errors[0].problem.detail


def test_folders_without_a_skill_and_hidden_ones_are_none(write: Writer):
    write("notes/readme.txt", "x")
    write(".git/skill.yaml", GOOD)
    write("stray.yaml", GOOD)
    assert write.folder.all() == ()


def test_no_folder_at_all_is_no_skill(tmp_path: Path):
    assert SkillFolder(tmp_path / "none").all() == ()


@pytest.mark.parametrize("name", ["nope", "../secret", "", "a/b", "."])
def test_an_unknown_skill_is_told_with_those_there_are(write: Writer, name: str):
    write("backup/skill.yaml", GOOD)
    with pytest.raises(UnknownSkillError) as caught:
        write.folder.get(name)
    assert caught.value.hint.startswith("choose from backup")


def test_instructions_for_the_assistant_are_a_skill_that_cannot_be_run(write: Writer):
    text = "---\nname: notes\ndescription: >\n  Takes\n  notes.\nlicense: MIT\nmetadata: {a: [1]}\n---\n# How\n"
    skill = write("notes/SKILL.md", text).get("notes")
    assert (skill.kind, skill.description, skill.valid, skill.runnable) == (
        Kind.ASSISTANT,
        "Takes notes.",
        True,
        False,
    )


def test_a_skill_with_both_files_is_what_its_manifest_says(write: Writer):
    write("backup/SKILL.md", "---\nname: backup\ndescription: other\n---\n")
    skill = write("backup/skill.yaml", GOOD).get("backup")
    assert (skill.kind, skill.description, skill.runnable) == (Kind.RUNNABLE, "Make a backup.", True)


def test_a_folder_that_is_a_link_is_not_run(write: Writer, tmp_path: Path):
    write("backup/skill.yaml", GOOD)
    (write.folder.path / "linked").symlink_to(write.folder.path / "backup")
    skill = write.folder.get("linked")
    assert (skill.runnable, "symbolic" in skill.errors[0].problem.detail) == (False, True)


@pytest.mark.parametrize("file", ["skill.yaml", "SKILL.md"])
def test_a_file_that_is_a_link_is_not_read(write: Writer, tmp_path: Path, file: str):
    secret = tmp_path / "secret"
    secret.write_text("---\ndescription: correct horse\n---\n")
    folder = write.folder.path / "backup"
    folder.mkdir(parents=True)
    (folder / file).symlink_to(secret)
    skill = write.folder.get("backup")
    assert (skill.valid, skill.description) == (False, "")
    assert mentions(skill.errors[0].problem.detail, file)


def test_a_change_counts_at_once(write: Writer):
    write("backup/skill.yaml", GOOD)
    assert write.folder.get("backup").valid
    write("backup/skill.yaml", GOOD.replace("tar", "gzip"))
    manifest = write.folder.get("backup").manifest
    assert manifest is not None
    assert "gzip" in manifest.dependencies
