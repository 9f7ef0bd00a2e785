"""devicemsg: real processes run a fake `osascript` that keeps what it was given."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.core.process.test_starting import gone
from tests.facts import mentions
from tests.waiting import LIMITS_S

from tocsin.channels.contract import COMMONMARK, Outgoing, Receipt, SendResult
from tocsin.channels.devicemsg import ADVICE, DevicemsgAdapter, is_modern, normalise_handle
from tocsin.core.errors import FailureKind
from tocsin.testing.fakes import build_adapter

NUMBER = "+15551234567"
# Keeps arguments and input of its n-th run, then does what `play.<n>` says.
FAKE = """#!/bin/sh
cd "$(dirname "$0")" || exit 99
n=1
while [ -e "argv.$n" ]; do n=$((n + 1)); done
for argument in "$@"; do printf '%s\\0' "$argument"; done > "argv.$n"
cat > "stdin.$n"
if [ -e "play.$n" ]; then . "./play.$n"; fi
"""


class OnNewMac(DevicemsgAdapter):
    """The adapter on macOS 14."""

    def macos_version(self) -> str:
        return "14.5"


class Impatient(OnNewMac):
    """The adapter with less patience than 30 seconds."""

    timeout_s = 0.5


class OnOldMac(DevicemsgAdapter):
    """The adapter on macOS 10.15."""

    def macos_version(self) -> str:
        return "10.15.7"


@dataclass(frozen=True)
class Mac:
    """A directory with the fake commands, and what they were given."""

    place: Path

    @property
    def env(self) -> dict[str, str]:
        command = str(self.place / "command")
        return {"DEVICEMSG_PLATFORM": "darwin", "DEVICEMSG_OSASCRIPT": command, "DEVICEMSG_PGREP": command}

    def adapter(self, kind: type[DevicemsgAdapter] = OnNewMac, **env: str) -> DevicemsgAdapter:
        return build_adapter(kind, {**self.env, **env})

    def plays(self, *scripts: str) -> None:
        """Let the first runs of the command do this; every later one succeeds."""
        for number, script in enumerate(scripts, 1):
            (self.place / f"play.{number}").write_text(script)

    def fails(self, *errors: int) -> None:
        """Let the first runs fail with these numbers of AppleScript."""
        self.plays(*(f'echo "31:40: execution error: Messages got an error. ({n})" >&2; exit 1' for n in errors))

    def arguments(self) -> list[list[str]]:
        """List the arguments of every run."""
        raw = [self.place / f"argv.{n}" for n in range(1, len(self.runs()) + 1)]
        return [path.read_bytes().decode().split("\0")[:-1] for path in raw]

    def scripts(self) -> list[str]:
        """List the input of every run."""
        return [(self.place / f"stdin.{n}").read_text() for n in range(1, len(self.runs()) + 1)]

    def runs(self) -> list[Path]:
        return list(self.place.glob("argv.*"))


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    place = tmp_path / "a folder's $(name)"
    place.mkdir()
    (place / "command").write_text(FAKE)
    (place / "command").chmod(0o755)
    return Mac(place)


def kind_of(receipt: Receipt) -> FailureKind | None:
    return receipt.failure.kind if receipt.failure else None


# --- what is sent


async def test_a_text_is_handed_over_as_data_and_the_script_comes_by_standard_input(mac: Mac):
    result = await mac.adapter().send(NUMBER, "hello")
    assert result == SendResult(True, "devicemsg", NUMBER, message="accepted by Messages")
    assert mac.arguments() == [["-l", "AppleScript", "-", NUMBER, "hello"]]
    (script,) = mac.scripts()
    assert "with timeout of 25 seconds" in script
    assert "first account whose service type is iMessage and enabled is true" in script
    assert "send theText to participant theTarget of theAccount" in script
    assert "hello" not in script
    assert NUMBER not in script
    assert "{" not in script


HOSTILE = [
    "-e",
    "--",
    "-l JavaScript -e 1",
    'say "hi" \\ & quit',
    "it's",
    "$(touch pwned) `touch pwned` ${HOME}",
    "; touch pwned | cat && false > pwned",
    '" & (do shell script "touch pwned") & "',
    "line one\nline two\n\n\tline four",
    " leading and trailing ",
    "😀 e\u0301 👩\u200d👩\u200d👧 العربية 漢字",
    "%s %n {0} {account} *?[a]",
    "\x01\x1b[31m\x7f",
    "x" * 20_000,
    "😀" * 20_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_every_text_arrives_byte_for_byte(mac: Mac, text: str):
    assert (await mac.adapter().send(NUMBER, text)).ok
    assert mac.arguments() == [["-l", "AppleScript", "-", NUMBER, text]]
    assert not (mac.place / "pwned").exists()


@pytest.mark.parametrize("name", ["-e", "--", 'Ann "x" & quit', "O'Hara", "$(touch pwned)", "Zoë 😀"])
async def test_every_name_arrives_byte_for_byte(mac: Mac, name: str):
    mac.plays(f"printf '1\\n{NUMBER}\\n'")
    assert (await mac.adapter().send(name, "hello")).ok
    assert mac.arguments() == [
        ["-l", "AppleScript", "-", name],
        ["-l", "AppleScript", "-", NUMBER, "hello"],
    ]


async def test_sms_is_used_only_when_it_is_set(mac: Mac):
    assert (await mac.adapter(DEVICEMSG_SERVICE="SMS").send(NUMBER, "hello")).ok
    assert "first account whose service type is SMS " in mac.scripts()[0]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("+1 (555) 123-4567", "+15551234567"),
        ("+49.171.1234567", "+491711234567"),
        ("+44 20\u20117946\u20130958", "+442079460958"),
        ("+1 [555] 1234567", "+15551234567"),
        ("ann.lee+x@example.org", "ann.lee+x@example.org"),
        (" ann@example.org ", "ann@example.org"),
    ],
)
async def test_targets_are_normalised(mac: Mac, written: str, sent: str):
    result = await mac.adapter().send(written, "hello")
    assert (result.ok, result.target) == (True, written)
    assert mac.arguments()[0][3] == sent


@pytest.mark.parametrize("target", ["+12", "+0555123456", "+1555x", "ann@", "@ann", "a@b@example.org", "a@x, b@y.z"])
async def test_a_mistyped_number_or_address_is_not_looked_up_as_a_name(mac: Mac, target: str):
    assert repr(target) in (await mac.adapter().send(target, "hello")).error
    assert mac.runs() == []


@pytest.mark.parametrize("text", ["a\0b", "\0"])
async def test_a_null_character_is_refused_before_anything_starts(mac: Mac, text: str):
    assert "NUL" in (await mac.adapter().send(NUMBER, text)).error
    assert mac.runs() == []


async def test_over_20000_characters_are_refused_before_anything_starts(mac: Mac):
    assert "20,001 characters, limit 20,000" in (await mac.adapter().send(NUMBER, "x" * 20_001)).error
    assert mac.runs() == []


# --- which words the script uses


@pytest.mark.parametrize(
    ("version", "modern"),
    [
        ("10.15.7", False),
        ("10.9", False),
        ("10.16", True),
        ("11.0", True),
        ("14.5", True),
        ("26.1", True),
        ("", True),
    ],
)
def test_the_words_of_the_script_are_chosen_by_the_version_of_macos(version: str, modern: bool):
    assert is_modern(version) is modern


async def test_macos_10_15_gets_the_words_it_knows(mac: Mac):
    assert (await mac.adapter(OnOldMac).send(NUMBER, "hello")).ok
    (script,) = mac.scripts()
    assert "first service whose service type is iMessage" in script
    assert "to buddy theTarget of" in script


@pytest.mark.parametrize("code", [-2740, -2741])
@pytest.mark.parametrize(
    ("machine", "words"), [(OnNewMac, ["participant", "buddy"]), (OnOldMac, ["buddy", "participant"])]
)
async def test_a_script_that_does_not_compile_is_tried_in_the_other_words(
    mac: Mac, code: int, machine: type[DevicemsgAdapter], words: list[str]
):
    mac.fails(code)
    assert (await mac.adapter(machine).send(NUMBER, "hello")).ok
    assert [f"to {word} theTarget" in script for word, script in zip(words, mac.scripts(), strict=True)] == [
        True,
        True,
    ]


async def test_a_script_that_compiles_in_neither_form_is_an_error(mac: Mac):
    mac.fails(-2741, -2741)
    assert ADVICE[-2741] in (await mac.adapter().send(NUMBER, "hello")).error
    assert len(mac.runs()) == 2


# --- what errors mean


@pytest.mark.parametrize(
    ("code", "remedy", "kind"),
    [
        (-1743, "Privacy & Security > Automation", FailureKind.PERMANENT),
        (-1728, "no such recipient or account", FailureKind.PERMANENT),
        (-1719, "no such recipient or account", FailureKind.PERMANENT),
        (-600, "open Messages", FailureKind.TRANSIENT),
        (-609, "open Messages", FailureKind.TRANSIENT),
        (-1712, "check Messages before you send again;", FailureKind.AMBIGUOUS),
        (-9999, "Messages got an error", FailureKind.PERMANENT),
    ],
)
async def test_every_error_number_comes_with_its_remedy(mac: Mac, code: int, remedy: str, kind: FailureKind):
    mac.fails(code)
    receipt = await mac.adapter().transmit(Outgoing(NUMBER, "hello"))
    assert f"({code})" in receipt.result.error
    assert remedy in receipt.result.error
    assert kind_of(receipt) is kind
    assert (receipt.failure and receipt.failure.provider_code) == str(code)
    assert receipt.result.error.startswith("outcome unknown: ") is (kind is FailureKind.AMBIGUOUS)
    assert len(mac.runs()) == 1


async def test_a_missing_permission_names_the_launch_agent(mac: Mac):
    mac.fails(-1743)
    assert "LaunchAgent" in (await mac.adapter().send(NUMBER, "hello")).error


async def test_a_number_in_brackets_of_a_run_that_succeeded_means_nothing(mac: Mac):
    mac.plays("echo 'a warning (-2741)' >&2")
    assert (await mac.adapter().send(NUMBER, "hello")).ok
    assert len(mac.runs()) == 1


async def test_a_failure_without_a_word_shows_the_exit_code(mac: Mac):
    mac.plays("exit 7")
    assert (await mac.adapter().send(NUMBER, "hello")).error.endswith("exit code 7")


async def test_a_script_that_hangs_is_killed_with_all_it_started_and_the_outcome_is_unknown(mac: Mac):
    assert DevicemsgAdapter.timeout_s == 30.0
    mac.plays("sleep 60 & echo $! > new; mv new child; wait")
    for timeout_s in LIMITS_S:
        adapter = mac.adapter(Impatient)
        adapter.timeout_s = timeout_s
        receipt = await adapter.transmit(Outgoing(NUMBER, "hello"))
        if (mac.place / "child").exists():
            break
    assert receipt.result.error.startswith("outcome unknown: ")
    assert f" {timeout_s:g} s" in receipt.result.error
    assert kind_of(receipt) is FailureKind.AMBIGUOUS
    assert await gone(int((mac.place / "child").read_text()))


async def test_a_missing_osascript_names_the_setting(mac: Mac):
    error = (await mac.adapter(DEVICEMSG_OSASCRIPT="/nonexistent/osascript").send(NUMBER, "hello")).error
    assert mentions(error, "/nonexistent/osascript", "No such file or directory")
    assert error.endswith("check DEVICEMSG_OSASCRIPT")


# --- names of contacts


@pytest.mark.parametrize(
    ("found", "sent"),
    [
        (["+1 (555) 123-4567"], "+15551234567"),
        (["+15551234567", "+1 555 123 4567"], "+15551234567"),
        (["+15551234567", "ann@example.org"], "+15551234567"),
        (["ann@example.org"], "ann@example.org"),
        (["missing value", "0171 1234567", "ann@example.org"], "ann@example.org"),
    ],
)
async def test_the_name_of_one_contact_stands_for_its_only_number_or_else_its_only_address(
    mac: Mac, found: list[str], sent: str
):
    lines = "\n".join(["1", *found])
    mac.plays(f"cat <<'END'\n{lines}\nEND\n")
    assert (await mac.adapter().send("Ann Lee", "hello")).ok
    assert mac.arguments() == [
        ["-l", "AppleScript", "-", "Ann Lee"],
        ["-l", "AppleScript", "-", sent, "hello"],
    ]
    assert 'tell application "Contacts"' in mac.scripts()[0]


@pytest.mark.parametrize("count", [0, 2, 17])
async def test_a_name_that_no_or_several_contacts_have_is_never_guessed(mac: Mac, count: int):
    mac.plays(f"echo {count}")
    error = (await mac.adapter().send("Ann Lee", "hello")).error
    assert mentions(error, f"{count} ", "'Ann Lee'", "+15551234567")
    assert len(mac.runs()) == 1


@pytest.mark.parametrize(
    ("found", "count"),
    [([], 0), (["0171 1234567"], 0), ([NUMBER, "+491711234567"], 2), (["a@example.org", "b@example.org"], 2)],
)
async def test_a_contact_without_exactly_one_number_or_address_is_never_guessed(mac: Mac, found: list[str], count: int):
    mac.plays("".join(f"echo '{line}'\n" for line in ["1", *found]))
    error = (await mac.adapter().send("Ann Lee", "hello")).error
    assert mentions(error, "'Ann Lee'", f" {count} ")
    assert len(mac.runs()) == 1


async def test_a_missing_permission_for_contacts_is_told(mac: Mac):
    mac.fails(-1743)
    assert "Contacts" in (await mac.adapter().send("Ann Lee", "hello")).error
    assert len(mac.runs()) == 1


async def test_contacts_that_do_not_answer_leave_no_doubt_that_nothing_was_sent(mac: Mac):
    mac.fails(-1712)
    receipt = await mac.adapter().transmit(Outgoing("Ann Lee", "hello"))
    assert receipt.result.error.startswith("Contacts ")
    assert kind_of(receipt) is FailureKind.TRANSIENT
    assert len(mac.runs()) == 1


async def test_a_lookup_that_prints_nothing_finds_no_contact(mac: Mac):
    assert (await mac.adapter().send("Ann Lee", "hello")).error.startswith("0 ")


@pytest.mark.parametrize("target", ["Ann", "0171 1234567", "911", "", "+", "tel:+15551234567"])
def test_what_is_neither_number_nor_address_is_no_handle(target: str):
    assert normalise_handle(target) == ""


# --- the connection test


async def test_the_connection_test_finds_the_running_app(mac: Mac):
    assert await mac.adapter().test_connection() == SendResult(True, "devicemsg", "", message="connected as Messages")
    assert mac.arguments() == [["-x", "Messages"]]


async def test_the_connection_test_says_that_the_app_is_not_running(mac: Mac):
    mac.plays("exit 1")
    error = (await mac.adapter().test_connection()).error
    assert error.startswith("Messages ")


@pytest.mark.parametrize("exit_code", [2, 3])
async def test_the_connection_test_shows_why_it_could_not_look(mac: Mac, exit_code: int):
    mac.plays(f"echo 'pgrep: cannot look' >&2; exit {exit_code}")
    error = (await mac.adapter().test_connection()).error
    assert "pgrep: cannot look" in error
    assert error.endswith("check DEVICEMSG_PGREP")


async def test_a_missing_pgrep_names_the_setting(mac: Mac):
    error = (await mac.adapter(DEVICEMSG_PGREP="/nonexistent/pgrep").test_connection()).error
    assert error.endswith("check DEVICEMSG_PGREP")


# --- other platforms


@pytest.mark.parametrize("platform", ["linux", "win32"])
async def test_elsewhere_every_call_is_an_error_result_and_nothing_starts(mac: Mac, platform: str):
    adapter = mac.adapter(DEVICEMSG_PLATFORM=platform)
    results = [
        await adapter.send(NUMBER, "hello"),
        await adapter.send("Ann Lee", "hello"),
        await adapter.test_connection(),
    ]
    assert [mentions(result.error, "macOS", platform) for result in results] == [True] * 3
    assert mac.runs() == []


def test_the_registry_can_tell_where_it_works():
    spec = DevicemsgAdapter.spec
    assert spec.platform == "darwin"
    assert spec.platform_variable is not None
    assert (spec.platform_variable.name, spec.platform_variable.default) == ("DEVICEMSG_PLATFORM", "")


async def test_markdown_arrives_as_plain_text_and_in_parts_if_it_must(mac: Mac):
    source = "# Done\n\n- **a** [b](https://c.d)\n\n```py\n  x\n```\n\n|n|v|\n|-|-|\n|1|2|"
    receipt = await mac.adapter().transmit(Outgoing(NUMBER, source, parse_mode=COMMONMARK))
    assert receipt.result.ok
    assert mac.arguments()[0][-1] == "Done\n\n• a b (https://c.d)\n\n  x\n\nn: 1\nv: 2"
    receipt = await mac.adapter().transmit(Outgoing(NUMBER, "word " * 5_000, parse_mode=COMMONMARK))
    assert (receipt.result.ok, receipt.parts_sent) == (True, 2)
    assert all(len(arguments[-1]) <= 20_000 for arguments in mac.arguments())
