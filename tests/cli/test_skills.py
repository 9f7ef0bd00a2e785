"""`tocsin skills`: list, show and run, as a person at a terminal and a program see them."""

import re
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, end
from tests.core.process.test_starting import alive
from tests.facts import mentions


class Skilled(Cli):
    """The command with skills in its data directory."""

    def write(self, name: str, command: str, more: str = "") -> Path:
        folder = self.data_dir / "skills" / name
        folder.mkdir(parents=True)
        manifest = f"name: {name}\ndescription: Does {name}.\ncommand: {command!r}\n{more}"
        (folder / "skill.yaml").write_text(manifest)
        return folder


def row(out: str, name: str) -> list[str]:
    """Return the words of the row of one skill; eight are shipped beside it."""
    return next(line.split() for line in out.splitlines() if line.split()[0] == name)


@pytest.fixture
def skilled(tmp_path: Path) -> Skilled:
    return Skilled(tmp_path, {})


def test_skills_are_listed_with_what_they_lack(skilled: Skilled):
    skilled.write("backup", "true", "dependencies: [no-such-tool]")
    skilled.write("hello", "echo")
    done = skilled.process("skills", "list")
    assert done.out.splitlines()[0].split() == ["name", "kind", "state", "description"]
    assert row(done.out, "backup") == ["backup", "runnable", "missing:", "no-such-tool", "Does", "backup."]
    assert row(done.out, "hello") == ["hello", "runnable", "ok", "Does", "hello."]


def test_a_broken_skill_is_listed_with_file_line_and_reason_and_the_others_are_there(skilled: Skilled):
    skilled.write("hello", "echo")
    folder = skilled.write("broken", "echo", "dependancies: [a]\n")
    done = skilled("skills", "list")
    assert (done.code, skilled("skills", "list", "--json").code) == (2, 2)
    assert "hello" in done.out
    assert mentions(done.err, f"{folder}/skill.yaml:4:1: ", "'dependancies'", "'dependencies'")


def test_a_skill_whose_script_is_not_executable_is_told_with_the_chmod(skilled: Skilled):
    folder = skilled.write("backup", './backup.sh "$1"')
    (folder / "backup.sh").write_text("#!/bin/sh\n")
    for command in (("list",), ("show", "backup"), ("lint",)):
        done = skilled("skills", *command)
        assert done.code == 0
        assert mentions(done.err, "backup: ./backup.sh", "chmod +x ")
    assert row(skilled("skills", "list").out, "backup")[:3] == ["backup", "runnable", "warning"]
    (folder / "backup.sh").chmod(0o755)
    assert skilled("skills", "list").err == ""


def write_instructions(skilled: Skilled, name: str, *lines: str) -> Path:
    file = skilled.data_dir / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(("---", *lines, "---", "# How", "")))
    return file


def test_a_skill_of_the_assistant_with_a_forbidden_tool_is_listed_as_invalid_with_its_line(skilled: Skilled):
    file = write_instructions(skilled, "reviewer", "name: reviewer", f"description: {'d' * 60}", "tools: [Bash, Task]")
    done = skilled("skills", "list")
    assert row(done.out, "reviewer") == ["reviewer", "assistant", "error"]
    assert mentions(done.err, f"{file}:4:9: tools[0]: ", "Bash")
    assert mentions(done.err, f"{file}:4:15: tools[1]: ", "Task")


def test_a_mistake_of_the_instructions_counts_beside_a_manifest(skilled: Skilled):
    skilled.write("hello", "echo hello")
    file = write_instructions(skilled, "hello", "name: Hello", "description: Greets.")
    done = skilled("skills", "list")
    assert row(done.out, "hello")[:3] == ["hello", "runnable", "error"]
    assert f"{file}:2:7: name: 'Hello'" in done.err
    done = skilled("skills", "run", "hello")
    assert (done.code, done.out) == (2, "")
    assert f"{file}:2:7: " in done.err


def test_lint_tells_mistakes_doubts_and_hints_and_fails_for_mistakes_alone(skilled: Skilled):
    skilled.write("slow", "no-such-program")
    hinting = write_instructions(skilled, "public", "name: public", "description: Short.", "colour: red")
    done = skilled("skills", "lint")
    assert done.code == 0
    description, colour, tools, total = done.out.splitlines()
    assert mentions(description, f"{hinting}:3:14: description: ", "50", "200", "6")
    assert mentions(colour, f"{hinting}:4:1: ", "'colour'")
    assert mentions(tools, f"{hinting}:2:1: ", "'tools'", "Read, Grep, Glob")
    assert total.split(":")[0] == "10 skills"
    assert mentions(done.err, "slow: ", "no-such-program")
    write_instructions(skilled, "bad", "name: worse", "description: Short.")
    assert skilled("skills", "lint").code == 1
    assert skilled("skills", "lint", "public").code == 0
    (found,) = skilled("skills", "lint", "bad", "--json").json()
    assert (found["name"], found["valid"]) == ("bad", False)
    assert [error["line"] for error in found["errors"]] == [2]


def test_without_skills_of_ones_own_it_says_where_they_go(skilled: Skilled):
    done = skilled("skills", "list")
    assert (done.code, len(done.out.splitlines())) == (0, 9)
    assert "skill.yaml" in done.err


def test_showing_a_skill_tells_the_level_of_the_sandbox(skilled: Skilled):
    skilled.write("hello", "echo", "dependencies: [cat]\n")
    document = skilled("skills", "show", "hello", "--json").json()
    assert document["sandbox"]["level"] in {"bubblewrap", "limits"}
    assert document["dependencies"][0]["found"]
    shown = skilled("skills", "show", "hello").out
    assert re.search(rf"^sandbox +{document['sandbox']['level']}\b", shown, re.MULTILINE)


def test_showing_a_skill_as_json_answers_the_activation_questions_and_gives_its_instructions(skilled: Skilled):
    skilled.write("hello", "echo")
    program = skilled("skills", "show", "hello", "--json").json()
    assert [check["ok"] for check in program["checks"]][:2] == [True, True]
    assert program["body"] is None
    assistant = skilled("skills", "show", "code-reviewer", "--json").json()
    assert [check["question"] for check in assistant["checks"]] == [check["question"] for check in program["checks"]]
    assert assistant["body"]


def test_an_unknown_skill_is_told_with_the_likely_one(skilled: Skilled):
    skilled.write("backup", "echo")
    done = skilled("skills", "run", "bakcup")
    assert done.code == 1
    assert "'bakcup'" in done.err
    assert "'backup'" in done.err


def test_a_run_shows_both_outputs_as_they_are(skilled: Skilled):
    skilled.write("hello", "echo out; echo err >&2")
    done = skilled("skills", "run", "hello")
    assert (done.code, done.out, done.err) == (0, "out\n", "err\n")


def test_a_failed_run_ends_with_1_and_says_why(skilled: Skilled):
    skilled.write("sad", "exit 3")
    done = skilled("skills", "run", "sad")
    assert (done.code, mentions(done.err, "sad: failed: ", "exit code 3")) == (1, True)


def test_a_missing_dependency_ends_with_1_and_nothing_has_started(skilled: Skilled):
    folder = skilled.write("backup", "touch started", "dependencies: [no-such-tool]")
    done = skilled("skills", "run", "backup")
    assert (done.code, done.out) == (1, "")
    assert "no-such-tool" in done.err
    assert not (folder / "started").exists()


def test_what_follows_the_name_goes_to_the_skill(skilled: Skilled):
    skilled.write("say", 'printf "%s|" "$@"')
    assert skilled("skills", "run", "say", "-x", "a b", "--mode", "--json").out == "-x|a b|--mode|--json|\n"
    assert skilled("skills", "run", "say", "--", "--mode", "--", "x").out == "--mode|--|x|\n"


@pytest.mark.parametrize("words", ["--mode sandboxed where", "where --mode sandboxed", "where --mode=sandboxed"])
def test_our_options_may_stand_before_the_name_or_right_behind_it(skilled: Skilled, words: str):
    skilled.write("where", 'env; echo "args: $*"')
    done = skilled("skills", "run", *words.split(), "web", env={"EDITOR": "ed"})
    assert "EDITOR" not in done.out
    assert "args: web" in done.out


def test_a_standard_run_has_our_environment_without_our_secrets(skilled: Skilled):
    skilled.write("env", "env")
    env = {"GATEWAY_TOKEN": "gate-keeper-1", "COPY": "gate-keeper-1", "SMTP_PASS": "mail-keeper-1", "EDITOR": "ed"}
    done = skilled("skills", "run", "env", env=env)
    assert "EDITOR=ed" in done.out
    assert not [word for word in ("GATEWAY_TOKEN", "COPY", "SMTP_PASS", "keeper") if word in done.out]


def test_input_is_a_text_or_our_own_standard_input(skilled: Skilled):
    skilled.write("cat", "cat")
    assert skilled("skills", "run", "cat", "--input", "typed").out == "typed\n"
    assert skilled("skills", "run", "--input", "-", "cat", stdin=b"piped").out == "piped\n"
    assert skilled("skills", "run", "cat", stdin=b"piped").out == ""


def test_the_time_limit_can_be_shortened(skilled: Skilled):
    skilled.write("slow", "sleep 60")
    done = skilled("skills", "run", "slow", "--timeout", "1")
    assert (done.code, mentions(done.err, "slow: timed_out: ", "1 s")) == (1, True)


def test_a_run_without_a_name_is_wrong_usage(skilled: Skilled):
    done = skilled("skills", "run", "--timeout", "5")
    assert (done.code, done.err.startswith("tocsin skills run: ")) == (2, True)


@pytest.mark.parametrize("words", [["--timeout", "301"], ["--timeout", "0"], ["--mode", "wild"], ["--mode"]])
def test_an_option_that_makes_no_sense_is_wrong_usage(skilled: Skilled, words: list[str]):
    skilled.write("slow", "true")
    assert skilled("skills", "run", *words, "slow").code == 2
    assert skilled("skills", "run", "slow", *words).code == 2


@pytest.mark.parametrize("words", [["--json", "run", "sad", "x"], ["run", "sad", "--json", "x"]])
def test_with_json_the_run_is_the_one_document(skilled: Skilled, words: list[str]):
    skilled.write("sad", "echo out; exit 3")
    done = skilled("skills", *words)
    run = done.json()
    assert (done.code, run["status"], run["exit_code"], run["output"]["tail"]) == (1, "failed", 3, "out")
    assert (run["kind"], run["subject_name"], run["params"]["args"]) == ("skill", "sad", ["x"])


def test_each_run_writes_one_audit_entry(skilled: Skilled):
    skilled.write("hello", "true")
    skilled.write("sad", "false")
    for name in ("hello", "sad"):
        skilled("skills", "run", name)
    skilled("skills", "list")
    found = [(entry["action"], entry["source"], entry["detail"]) for entry in skilled.audit_log()]
    assert found == [("skill.run", "cli", "hello succeeded"), ("skill.run", "cli", "sad failed")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_ending_the_command_ends_the_skill_and_what_it_started(skilled: Skilled, until, number: int, code: int):
    folder = skilled.write("slow", "sleep 60 & echo $! > below; wait; sleep 60")
    with skilled.running("skills", "run", "slow") as child:
        below = int(until(lambda: (folder / "below").exists() and (folder / "below").read_text().strip()))
        assert end(child, number)[0] == code
    until(lambda: not alive(below))  # the kernel ends what was in a sandbox in its own time
    run = skilled("skills", "show", "slow", "--json").json()["last_run"]
    assert run["status"] == "interrupted"


def test_output_appears_while_the_skill_runs(skilled: Skilled):
    skilled.write("slow", "echo begun; sleep 60")
    with skilled.running("skills", "run", "slow") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        end(child)


def test_a_terminal_cannot_be_driven_by_what_a_skill_prints(skilled: Skilled):
    skilled.write("evil", r"printf '\033]0;pwned\007\033[2Jon a line\033\b'")
    assert skilled("skills", "run", "evil").out == "on a line\\u001b\\u0008\n"


def test_the_help_has_an_example(skilled: Skilled):
    for words in (["skills"], ["skills", "list"], ["skills", "show"], ["skills", "run"]):
        assert "tocsin skills" in skilled(*words, "--help").out
