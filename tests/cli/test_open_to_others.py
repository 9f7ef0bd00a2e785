"""What others may write to is not run: rules, skills, and services in such a data directory."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens

SKILL = "name: greet\ndescription: Greets.\ncommand: ./greet.sh\n"
OFF = {"REDIS_URL": "off"}


@pytest.fixture
def skill(cli: Cli) -> Path:
    """The folder of a skill that works."""
    folder = cli.data_dir / "skills" / "greet"
    folder.mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "words").touch()
    (folder / "skill.yaml").write_text(SKILL)
    (folder / "greet.sh").write_text("#!/bin/sh\necho hello\n")
    for path in (cli.data_dir, *cli.data_dir.rglob("*")):
        path.chmod(0o755)
    return folder


@pytest.mark.parametrize("command", ["up", "gateway", "worker", "bot"])
@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_service_refuses_a_data_directory_that_others_may_write_to(wired: Cli, command: str, mode: int):
    wired.data_dir.mkdir()
    wired.data_dir.chmod(mode)
    done = wired(command, env=OFF)
    assert done.code == 2
    assert f"hint: chmod go-w {wired.data_dir}\n" in done.err
    assert list(wired.data_dir.iterdir()) == []


@pytest.mark.parametrize("place", ["..", ".", "skill.yaml", "greet.sh", "lib", "lib/words"])
def test_a_skill_that_others_may_write_to_is_listed_as_invalid_and_not_run(cli: Cli, skill: Path, place: str):
    assert cli("skills", "run", "greet").out == "hello\n"
    path = (skill / place).resolve()
    path.chmod(0o777)
    told = f"other users can write to {path}: chmod go-w {path}"
    for mode in ("standard", "sandboxed"):
        done = cli("skills", "run", "--mode", mode, "greet")
        assert (done.code, done.out) == (2, "")
        assert told in done.err
    (listed,) = [found for found in cli("skills", "list", "--json").json() if found["name"] == "greet"]
    assert (listed["valid"], listed["runnable"]) == (False, False)
    assert told in listed["errors"][0]["detail"]
    assert told in cli("skills", "lint").err
    findings = cli("doctor", "--offline", "--json").json()["findings"]
    assert [f for f in findings if f["subject"] == "skills" and f["state"] == "error" and str(path) in f["detail"]]
    path.chmod(0o755)
    assert cli("skills", "run", "greet").out == "hello\n"


def test_an_empty_skills_folder_that_others_may_write_to_is_named(cli: Cli):
    folder = cli.data_dir / "skills"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    findings = cli("doctor", "--offline", "--json").json()["findings"]
    assert ("error", "skills", f"chmod go-w {folder}") in [(f["state"], f["subject"], f["fix"]) for f in findings]


def test_rules_that_others_may_write_are_not_in_force(wired: Cli, free_port: int):
    wired.data_dir.mkdir()
    path = wired.data_dir / "triggers.yaml"
    path.write_text("- pattern: hello\n  command: echo hello\n")
    path.chmod(0o666)
    done = wired("triggers", "list")
    assert (done.code, f"hint: chmod go-w {path}\n" in done.err) == (2, True)
    findings = wired("doctor", "--offline", "--json").json()["findings"]
    assert ("error", "triggers", f"chmod go-w {path}") in [(f["state"], f["subject"], f["fix"]) for f in findings]
    with wired.running("up", env={**OFF, "GATEWAY_PORT": str(free_port)}) as child:
        lines = wait_until_it_listens(child)
        end(child)
    assert f"chmod go-w {path}" in json.dumps(lines)
