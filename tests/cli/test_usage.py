"""How the command is called: help, options, and mistakes told in a sentence."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions

from tocsin import __version__
from tocsin.cli.main import commands_by_name

SUBCOMMANDS = {"config": ("show",), "audit": ("tail", "search", "verify")}
CALLS = [(name,) for name in commands_by_name()] + [(name, sub) for name, subs in SUBCOMMANDS.items() for sub in subs]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_the_help_of_every_command_shows_an_example_of_it(cli: Cli, call: tuple[str, ...]):
    done = cli(*call, "--help")
    assert (done.code, done.err) == (0, "")
    assert re.search(rf"^examples?:.*tocsin {call[0]}", done.out, re.MULTILINE | re.DOTALL), done.out
    assert "--data-dir" in done.out


def test_the_help_lists_every_command_with_what_it_does(cli: Cli):
    done = cli("--help")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert [name for name, entry in commands_by_name().items() if f"{name} {entry.help}" not in words] == []


def test_the_version_is_printed(cli: Cli):
    done = cli.process("--version")
    assert (done.code, done.out, done.err) == (0, f"tocsin {__version__}\n", "")


def test_a_misspelt_command_is_refused_with_the_one_that_was_meant(cli: Cli):
    done = cli.process("chanels")
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, "'chanels'", "'channels'", "tocsin --help")


@pytest.mark.parametrize(
    "call",
    [
        ("vault", "get", "1X"),
        ("jobs", "create", ""),
        ("memory", "search", ""),
        ("tokens", "create", "a b", "--scope", "read"),
        ("cron", "add", "x", "61 * * * *", "true"),
        ("cron", "run", "x", "--param", "y"),
    ],
    ids=" ".join,
)
def test_input_that_can_never_be_right_is_wrong_usage(cli: Cli, call: tuple[str, ...]):
    done = cli(*call)
    assert (done.code, done.out) == (2, "")


def test_an_unknown_choice_is_refused_with_what_there_is(cli: Cli):
    done = cli("completion", "powershell")
    assert done.code == 2
    assert mentions(done.err, "'powershell'", "bash, zsh, tcsh")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--quiet",), "COMMAND"),
        (("send", "email", "ops@example.org"), "message"),
        (("notify",), "profile, message"),
        (("test",), "channel"),
        (("audit",), "SUBCOMMAND"),
        (("audit", "tail", "-n", "0"), "whole number from 1"),
        (("audit", "tail", "-n", "many"), "whole number from 1"),
        (("send", "email", "ops@example.org", "hello", "--loud"), "--loud"),
        (("test", "email", "again"), "again"),
        (("deliveries", "list", "--status", "ded"), "did you mean 'dead'?"),
        (("--data-dir", "", "channels"), "--data-dir"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_names_what_is_wrong(cli: Cli, arguments: tuple[str, ...], named: str):
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert named in done.err
    assert re.fullmatch(r"tocsin[\w ]*: .+\n  hint: see tocsin[\w ]* --help\S*.*\n", done.err), done.err


def test_without_a_word_the_commands_are_listed(cli: Cli):
    done = cli()
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, "usage: tocsin", "First steps:", "setup")


@pytest.mark.parametrize(
    ("call", "corrected"),
    [
        (("send", "slack", "#ops", "a", "b", "c"), "tocsin send slack '#ops' 'a b c'"),
        (("-q", "send", "slack", "#ops", "--queue", "a", "b"), "tocsin -q send slack '#ops' --queue 'a b'"),
        (
            ("notify", "oncall", "disk", "full", "--env-file", "full"),
            "tocsin notify oncall 'disk full' --env-file full",
        ),
        (("publish", "slack", "#ops", "a", "b"), "tocsin publish slack '#ops' 'a b'"),
        (("ask", "what", "is", "it?"), "tocsin ask 'what is it?'"),
        (("triggers", "test", "disk", "home"), "tocsin triggers test 'disk home'"),
        (("audit", "search", "disk", "home"), "tocsin audit search 'disk home'"),
        (("ssh", "run", "--host", "web1", "df", "/"), "tocsin ssh run --host web1 'df /'"),
        (("memory", "set", "printer", "second", "floor"), "tocsin memory set printer 'second floor'"),
        (("jobs", "create", "Fix", "it"), "tocsin jobs create 'Fix it'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_text_without_quotes_is_shown_with_them(cli: Cli, call: tuple[str, ...], corrected: str):
    done = cli(*call)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f": {corrected}\n"), done.err


def test_an_unknown_option_behind_a_text_is_not_taken_for_a_word_of_it(cli: Cli):
    assert "unrecognized arguments: b --loud\n  hint: see" in cli("send", "slack", "#ops", "a", "b", "--loud").err


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (("send", "slack", "#ops", "--", "-5 degrees", "--queue"), "(options must precede `--`)"),
        (("--queue", "send", "slack", "#ops", "a"), "(options must follow the name of the command)"),
        (("--queue", "send", "slack", "#ops", "--", "a"), "(options must follow the name of the command)"),
    ],
    ids=("behind --", "before the command", "before the command, with -- behind"),
)
def test_a_known_option_in_the_wrong_place_is_told_its_place(cli: Cli, call: tuple[str, ...], place: str):
    assert f"unrecognized arguments: --queue {place}\n" in cli(*call).err


def test_words_with_one_dash_behind_a_command_are_told_to_need_quotes(cli: Cli):
    done = cli("ssh", "run", "--host", "web1", "rm", "-rf", "/")
    assert done.code == 2
    assert mentions(done.err, "quotes", "tocsin ssh run --help")


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (("deliveries", "list", "--sattus", "dead"), "--status"),
        (("send", "email", "ops@example.org", "hi", "--sbuject=Disk"), "--subject"),
        (("--jsno", "channels"), "--json"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(cli: Cli, call: tuple[str, ...], meant: str):
    done = cli(*call)
    assert (done.code, done.out) == (2, "")
    assert f"'{meant}'" in done.err


@pytest.mark.parametrize(
    "call",
    [
        ("--json", "chanels"),
        ("send", "email", "--json"),
        ("send", "email", "ops@example.org", "a", "b", "--json"),
        ("audit", "tail", "-n", "0", "--json"),
        ("completion", "powershell", "--json"),
        ("skills", "run", "--json"),
        ("--jso", "test"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_a_json_document_too(cli: Cli, call: tuple[str, ...]):
    done = cli(*call)
    assert done.code == 2
    document = done.json()
    assert list(document) == ["ok", "code", "error", "hint"]
    assert (document["ok"], document["code"]) == (False, "wrong-usage")
    assert document["error"] in done.err
    assert document["hint"] in done.err


@pytest.mark.parametrize(
    "call",
    [
        ("vault", "set", "NAME", "hunter22"),
        ("vault", "set", "NAME=hunter22"),
        ("vault", "set", "NAME", "--value=hunter22"),
        ("vault", "rotate", "NAME", "hunter22"),
        ("dashboard", "hash-password", "hunter22"),
    ],
    ids=" ".join,
)
def test_a_secret_that_is_given_as_an_argument_is_refused_and_not_repeated(cli: Cli, call: tuple[str, ...]):
    done = cli("--json", *call)
    assert done.code == 2
    assert "hunter22" not in done.out + done.err


def test_a_word_like_an_option_behind_two_minuses_asks_for_no_json(cli: Cli):
    done = cli("send", "email", "--", "ops@example.org", "a", "--json")
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize(
    "call",
    [
        ("--json", "--data-dir", "{data}", "profiles"),
        ("profiles", "--json", "--data-dir", "{data}"),
        ("--data-dir={data}", "profiles", "--json"),
        ("--json", "profiles", "--data-dir", "{data}"),
        ("-q", "--json", "profiles", "-v", "--data-dir={data}"),
    ],
    ids=" ".join,
)
def test_global_options_may_stand_before_and_after_the_command(cli: Cli, call: tuple[str, ...]):
    elsewhere = cli.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "profiles.yaml").write_text("oncall: [{channel: teamchat, target: C1}]\n")
    env = {"TEAMCHAT_BOT_TOKEN": "xoxb-1-made-up"}
    done = cli(*(word.replace("{data}", str(elsewhere)) for word in call), env=env)
    assert done.code == 0, done.err
    assert [profile["name"] for profile in done.json()] == ["oncall"]


def test_global_options_may_stand_between_a_group_and_its_command(cli: Cli):
    assert cli("audit", "--json", "tail").json() == []
    assert cli("audit", "tail", "--json").json() == []


def test_the_command_line_wins_over_the_environment_for_the_data_directory(cli: Cli):
    done = cli("--data-dir", str(cli.home / "mine"), "--json", "config", "show")
    found = {setting["name"]: setting for setting in done.json()}["TOCSIN_DATA_DIR"]
    assert (found["value"], found["source"]) == (str(cli.home / "mine"), "--data-dir")


def test_quiet_leaves_out_notes_and_keeps_errors(cli: Cli):
    assert cli("profiles").err.count("\n") == 1
    assert cli("profiles", "-q").err == ""
    assert "Unknown profile" in cli("-q", "notify", "nobody", "hello").err


def test_verbose_shows_what_the_program_logs(cli: Cli):
    cli.write_profiles("oncall: 5\n")
    assert cli("profiles").err.count("\n") < cli("profiles", "-v").err.count("\n")


@pytest.mark.parametrize(
    ("call", "package", "extra"),
    [
        (("demo",), "aiohttp", "demo"),
        (("demo",), "trustme", "demo"),
        (("ask", "hello"), "pydantic_ai", "chat"),
        (("voice", "install"), "pywhispercpp", "voice"),
    ],
)
def test_a_command_without_its_package_says_what_to_install(cli: Cli, call: tuple[str, ...], package: str, extra: str):
    (cli.home / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    model = {"CHAT_PROVIDER": "openai", "CHAT_MODEL": "x", "OPENAI_API_KEY": "sk-" + "a" * 30}
    done = cli.process(*call, "--json", env={"PYTHONPATH": str(cli.home), **model})
    assert done.code != 0
    needs = (
        f"the demo needs more packages: {package}" if extra == "demo" else rf"{package}[a-z-]*: package not installed"
    )
    assert re.search(rf"^tocsin: {needs.replace('_', '.')}$", done.err, re.MULTILINE)
    assert f'pip install "tocsin[{extra}]"' in done.err
    assert done.json()["ok"] is False


def test_a_package_that_belongs_to_every_installation_is_named_too(cli: Cli):
    (cli.home / "sitecustomize.py").write_text("import sys\nsys.modules['dotenv'] = None\n")
    (cli.home / ".env").write_text("SMTP_HOST=mail.example\n")
    done = cli.process("channels", env={"PYTHONPATH": str(cli.home)})
    assert done.code == 2
    assert done.err.startswith("tocsin: dotenv: package not installed\n")


def test_exit_handlers_of_others_run_and_keep_the_exit_code_of_the_command(tmp_path: Path):
    work = "import atexit, tocsin.cli.main as m; atexit.register(print, 'done'); m.main(['send', '--no-such-option'])"
    env = {"TOCSIN_DATA_DIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", work], env=env, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "done\n")


def test_help_lists_every_command_in_six_groups_and_first_what_a_newcomer_needs(cli: Cli):
    shown = cli("--help").out
    groups = re.findall(r"^([A-Z][^\n]*):\n((?:  +\S[^\n]*\n)+)", shown, re.MULTILINE)
    listed = {title: re.findall(r"^  (\S+)", body, re.MULTILINE) for title, body in groups}
    assert listed["First steps"] == ["setup", "demo", "up", "send", "status"]
    assert (next(iter(listed)), len(listed)) == ("First steps", 6)
    assert sorted(name for names in listed.values() for name in names) == sorted(commands_by_name())
