"""What strangers write is data for a command, whatever it is and however long."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.triggers.conftest import Triggered, dependencies, received

from tocsin.core.config.settings import Settings
from tocsin.features.triggers.actions import (
    MAX_CAPTURES_BYTES,
    MAX_VALUE_BYTES,
    Firing,
    cut,
    fit,
    shell_command,
)
from tocsin.features.triggers.patterns import Pattern
from tocsin.features.triggers.rules import Match, Rule, TriggerAction
from tocsin.runs.service import Runs

GENERATED = 2_000
A_FIRING = 99  # groups of one pattern
BETWEEN = "␟"

# Each of these, read as code, makes the canary or breaks the words apart.
ATTACKS = (
    "$(touch canary)", "`touch canary`", ";touch canary;", "\ntouch canary\n", "&touch canary&", "|touch canary",
    "&&touch canary", "||touch canary", ">canary", ">>canary", "';touch canary;'", '";touch canary;"',
    ")touch canary(", "$(\ntouch${IFS}canary)", "${IFS}touch${IFS}canary", "$((`touch canary`))",
    "${x:=$(touch canary)}", "\\';touch canary", "\r\ntouch canary\r\n", "#\ntouch canary", "{touch,canary}",
    "<(touch canary)", "eval touch canary", "$'\\ntouch canary'",
    "*", "?", "[a-z]*", "~", "~root", "../*", ".", "/", "-rf", "--", "--help", "-e", "-n", "-", "--output=canary",
    "$1", "$@", "$*", "$#", "$0", "$$", "$!", "$HOME", "${PATH}", "$TRIGGER_MESSAGE", "%s", "%n%x", "\\", "\\0",
    "\\n", "\\c", "'", '"', "`", "$", "(", ")", "{", "}", "[", "]", "!", "!!", "=", "a=b", "\t", " ", "  ", "\x01",
    "\x1b[2J", "\x7f", "é", "😀", "\u202e", "\u2028", "\ufeff", "\U0010ffff", "\uff41", "x" * 300,
)  # fmt: skip


def hostile_captures() -> list[str]:
    """Return two thousand texts put together from what attackers write, some of them empty, some very long."""
    chance = Random(2031)
    captures = ["".join(chance.choices(ATTACKS, k=chance.randint(0, 6))) for _ in range(GENERATED - 20)]
    captures += ["".join(chance.choices(ATTACKS, k=1_000)) for _ in range(19)]
    return [*captures, "$(touch canary)" * 6_000]


async def test_hostile_captures_reach_the_command_byte_for_byte_and_run_nothing(triggered: Triggered):
    captures = hostile_captures()
    groups = BETWEEN.join(f"([^{BETWEEN}]*)" for _ in range(A_FIRING))
    # Quoted, as it should be, they arrive whole; without quotes, as it should not be, they still are no code.
    command = "printf '%s\\0' \"$@\" >> got; : $@ $TRIGGER_MESSAGE"
    triggered.write(f"- pattern: '^{groups}$'\n  reply: false\n  command: |\n    {command}\n")
    handler = triggered.handler()
    for start in range(0, GENERATED, A_FIRING):
        batch = captures[start : start + A_FIRING]
        batch += [""] * (A_FIRING - len(batch))
        assert await handler(received(BETWEEN.join(batch)))
    got = (triggered.data_dir / "got").read_bytes().split(b"\0")[:GENERATED]
    assert got == [capture.encode() for capture in captures]
    made = {path.name for path in triggered.data_dir.iterdir()}
    assert made == {"triggers.yaml", "got", "audit.log", "audit.log.head"} | {
        path.name for path in triggered.data_dir.glob("tocsin.db*")
    }


async def test_the_shell_of_the_test_would_notice_an_attack_that_is_code(triggered: Triggered):
    triggered.write('- pattern: ^(.*)$\n  command: eval "$1"\n')
    await triggered.handle("$(touch canary)")
    assert (triggered.data_dir / "canary").exists()


async def test_a_message_longer_than_the_system_takes_is_cut_and_the_rule_still_works(triggered: Triggered):
    triggered.write(
        "- pattern: '^(.*)$'\n  command: printf '%s %s %s' ${#1} ${#TRIGGER_MESSAGE} ${TRIGGER_TRUNCATED:-no}\n"
    )
    assert await triggered.answer("x" * MAX_VALUE_BYTES) == f"{MAX_VALUE_BYTES} {MAX_VALUE_BYTES} no"
    assert await triggered.answer("x" * 300_000) == f"{MAX_VALUE_BYTES} {MAX_VALUE_BYTES} 1"


async def test_secrets_of_ours_are_not_in_the_environment_of_a_command(triggered: Triggered):
    environ = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "GATEWAY_TOKEN": "geheim-4711", "COPY": "geheim-4711"}
    triggered.env = Settings.load(environ=environ, data_dir=triggered.data_dir).inheritable()
    answer = await triggered.write("- {pattern: go, command: env}").answer("go")
    assert "LANG=C.UTF-8" in answer
    assert "geheim" not in answer


async def test_captures_that_are_too_much_together_are_cut_and_the_rule_still_works(triggered: Triggered):
    nested = "(" * A_FIRING + ".*" + ")" * A_FIRING
    triggered.write(f"- pattern: '^{nested}$'\n  command: echo ${{#1}} ${{#5}} $# $TRIGGER_TRUNCATED\n")
    assert await triggered.answer("x" * 90_000) == f"90000 40000 {A_FIRING} 1"


@given(st.lists(st.text(), max_size=9), st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_the_command_is_one_word_and_each_capture_another(groups: list[str], command: str):
    captures = tuple(group.replace("\0", "") for group in groups)
    child = shell_command(firing(command, captures, "text"), MEANS)
    assert child.argv == ("/bin/sh", "-c", command, "trigger", *captures)
    assert (child.timeout_s, child.stdin, child.cwd) == (120.0, "", Path("/data"))


@given(st.text(alphabet=st.characters(codec=None)))
def test_every_message_can_stand_in_the_environment(text: str):
    child = shell_command(firing("x", (), text), MEANS)
    assert "\0" not in child.env["TRIGGER_MESSAGE"]
    child.env["TRIGGER_MESSAGE"].encode()
    assert child.env["PATH"] == "/bin"


def test_a_variable_of_the_environment_cannot_pretend_to_be_the_message():
    means = dependencies(NO_RUNS, {"TRIGGER_MESSAGE": "forged", "PATH": "/bin"}, Path("/data"))
    assert shell_command(firing("x", (), "real"), means).env["TRIGGER_MESSAGE"] == "real"


@given(st.text(), st.integers(0, 40))
def test_a_cut_text_is_a_beginning_that_fits(text: str, room: int):
    shortened = cut(text, room)
    assert text.startswith(shortened)
    assert len(shortened.encode()) <= room
    assert shortened == text or len(text[: len(shortened) + 1].encode()) > room


@pytest.mark.parametrize("length", [1, 60_000, 100_000, 120_000])
def test_captures_together_stay_below_the_limits(length: int):
    fitting = fit(["é" * length] * 9)
    assert len(fitting) == 9
    assert max(len(item.encode()) for item in fitting) <= MAX_VALUE_BYTES
    assert sum(len(item.encode()) for item in fitting) <= MAX_CAPTURES_BYTES


NO_RUNS: Runs = None  # type: ignore[assignment]  # nothing is run
MEANS = dependencies(NO_RUNS, {"PATH": "/bin"}, Path("/data"))


def firing(command: str, groups: tuple[str, ...], text: str) -> Firing:
    rule = Rule(1, 1, Pattern.compile("x"), TriggerAction.SHELL, command)
    return Firing(Match(rule, text, groups), received(text))
