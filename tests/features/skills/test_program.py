"""What keeps the program of a skill from starting, found before anybody runs it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.features.skill_records import SkillWarning
from tocsin.features.skills.program import doubts_about


@pytest.fixture
def doubts(tmp_path: Path) -> Callable[..., list[tuple[str, str]]]:
    """Write `run` with this content and mode, and look at a command beside it."""

    def doubts(command: str, content: str = "", mode: int = 0o755) -> list[tuple[str, str]]:
        file = tmp_path / "run"
        file.write_text(content, newline="")
        file.chmod(mode)
        return [(found.detail, found.fix) for found in doubts_about(tmp_path, command, which, which)]

    return doubts


def which(program: str) -> str:
    """Find what every system has, wherever this one has it."""
    if program in {"sh", "bash", "cat", "python3"}:
        return f"/usr/bin/{program}"
    return (shutil.which(program) or "") if "/" in program else ""


@pytest.mark.parametrize(
    "command", ["./run", './run "$1"', "A=1 B='2 3' ./run", "exec ./run", "./run;echo", "./run|cat"]
)
def test_a_script_that_is_not_executable_is_told_with_the_chmod(doubts, tmp_path: Path, command: str):
    assert doubts(command, "#!/bin/sh\n", 0o644) == [("./run is not executable", f"chmod +x {tmp_path}/run")]
    assert doubts(command, "#!/bin/sh\n") == []


def test_a_path_with_a_blank_is_quoted_in_the_chmod(tmp_path: Path):
    (tmp_path / "my run").touch(mode=0o644)
    assert list(doubts_about(tmp_path, "'./my run'", which, which)) == [
        SkillWarning("./my run is not executable", f"chmod +x '{tmp_path}/my run'")
    ]


@pytest.mark.parametrize(
    ("shebang", "detail"),
    [
        ("#!/usr/bin/no-such-shell", "the interpreter of ./run was not found: /usr/bin/no-such-shell"),
        ("#! /usr/bin/env no-such-shell", "the interpreter of ./run was not found: no-such-shell"),
        ("#!/usr/bin/env -S no-such-shell -x", "the interpreter of ./run was not found: no-such-shell"),
    ],
)
def test_an_interpreter_that_is_not_there_is_named(doubts, shebang: str, detail: str):
    assert [found for found, _ in doubts("./run", f"{shebang}\necho\n")] == [detail]


@pytest.mark.parametrize(
    "shebang", ["#!/bin/sh", "#! /bin/sh -eu", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -x", "#!"]
)
def test_an_interpreter_that_is_there_is_fine(doubts, shebang: str):
    assert doubts("./run", f"{shebang}\necho\n") == []


@pytest.mark.parametrize(("command", "mode"), [("./run", 0o755), ("sh run", 0o644), ("bash ./run x", 0o644)])
def test_line_ends_of_windows_are_told_with_the_command_that_removes_them(doubts, tmp_path: Path, command, mode):
    name = command.split()[0] if command == "./run" else command.split()[1]
    ((detail, fix),) = doubts(command, "#!/bin/sh\r\necho\r\n", mode)
    assert mentions(detail, name, "CR", "LF")
    assert fix == f"sed -i 's/\\r$//' {tmp_path}/run"


@pytest.mark.parametrize("command", ["./nope", "./nope --all | sort", "/usr/bin/no-such-program"])
def test_a_file_that_does_not_exist_is_told(doubts, command: str):
    ((detail, fix),) = doubts(command)
    assert mentions(detail, command.split(maxsplit=1)[0])
    assert "command" in fix


@pytest.mark.parametrize("command", ["sh nope.sh", "sh -eu nope.sh", "python3 nope.sh 1", "exec sh nope.sh"])
def test_a_script_that_an_interpreter_would_not_find_is_told(doubts, command: str):
    assert "nope.sh" in doubts(command)[0][0]


def test_a_folder_is_no_program(doubts, tmp_path: Path):
    (tmp_path / "work").mkdir()
    assert "./work" in doubts("./work")[0][0]


def test_a_program_that_does_not_exist_is_told(doubts):
    detail, fix = doubts("no-such-program -x")[0]
    assert ("no-such-program" in detail, mentions(fix, "`command`", "skill.yaml")) == (True, True)


def test_a_program_that_the_sandbox_hides_is_told(tmp_path: Path):
    (found,) = doubts_about(tmp_path, "mine", lambda name: f"/home/me/bin/{name}", lambda _: "")
    assert "sandbox" in found.detail


@pytest.mark.parametrize(
    "command",
    [
        *("cd work && ./later.sh", "if true; then ./later.sh; fi", "for x in 1 2; do echo $x; done", "test -f x"),
        *("[ -f x ]", ". ./later.sh", "$PROGRAM x", '"$1"', "( ./later.sh )", "{ echo; }", "! false", "A=1"),
        *("set -eu\n./later.sh", "> out", "~/bin/mine", "./$1", "export A=1", "cat <<END\nx\nEND", "sh -c 'echo x'"),
        *("python3 -m json.tool", "python3 - x", "sh", "sh $1", "# nothing\necho", "printf '%s' \"it's\"", "./*.sh"),
        *("`which ls`", "while :; do :; done", "f() { echo; }; f", "sh -c '\necho\n'", "no'such", "./nope>x"),
        *('python3 "$HOME/x.py"', "exec 2>&1; echo", "trap : EXIT"),
    ],
)
def test_what_only_the_shell_can_know_is_left_to_it(doubts, command: str):
    assert doubts(command) == []
