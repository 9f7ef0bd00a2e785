"""Where settings come from, config show, init and completion."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from dotenv import dotenv_values
from tests import command_line
from tests.cli.conftest import TOCSIN, Cli
from tests.facts import mentions

import tocsin
from tocsin.providers.chat import HOW_TO_CONFIGURE
from tocsin_standins import StandinCluster

TOKEN = "xoxb-100000000001-example-example-example"


def settings(cli: Cli, *options: str, **env: str) -> dict[str, dict[str, str]]:
    return {setting["name"]: setting for setting in cli("config", "show", "--json", *options, env=env).json()}


# --- malformed


def test_a_broken_env_file_is_refused_with_its_line(cli: Cli):
    (cli.home / ".env").write_text("DASHBOARD_USER=anna\n\nthis is not a setting\n")
    done = cli.process("channels")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"tocsin: {cli.home}/.env:3: ")


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("GATEWAY_PORT", "65536", "a whole number from 1 to 65535"),
        ("SMTP_PORT", "smtp", "a whole number from 1 to 65535"),
        ("AUDIT_REDACT", "maybe", "true or false"),
        ("TEAMCHAT_API_URL", "slack.com", "an http or https URL"),
        ("ENVIRONMENT", "prod", "one of: development, production"),
        ("TRUSTED_PROXIES", "10.0.0.300", "addresses or networks"),
        ("BOTCHAT_PARSE_MODE", "rtf", "one of: Markdown"),
    ],
)
@pytest.mark.parametrize("command", [("channels",), ("send", "email", "ops@example.org", "hello"), ("gateway",)])
def test_a_malformed_value_stops_with_name_value_and_what_is_accepted(
    cli: Cli, name: str, value: str, accepted: str, command: tuple[str, ...]
):
    done = cli(*command, env={name: value})
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, name, f"'{value}'", "environment", accepted)


@pytest.mark.parametrize(("name", "value"), [("TEAMCHAT_BOT_TOKEN", "two words"), ("BOTCHAT_BOT_TOKEN", "nonsense")])
def test_a_malformed_secret_is_not_shown(cli: Cli, name: str, value: str):
    done = cli("channels", env={name: value})
    assert done.code == 2
    assert mentions(done.err, name, "environment")
    assert value not in done.err


def test_an_error_of_the_configuration_is_a_json_document_too(cli: Cli):
    done = cli("channels", "--json", env={"GATEWAY_PORT": "x"})
    assert done.code == 2
    assert done.json()["code"] == "invalid-config"


def test_a_missing_env_file_is_named(cli: Cli):
    done = cli("--env-file", "nowhere.env", "channels")
    assert done.code == 2
    assert mentions(done.err, "nowhere.env", "No such file or directory")


# --- misspelt


TYPO = "TEAMCHAT_BOT_TOKNE"
TOLD = f"tocsin: {{}}: unknown setting {TYPO}\n  hint: did you mean TEAMCHAT_BOT_TOKEN?\n"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("send", "teamchat", "#ops", "hello"), 1),
        (("send", "-q", "--json", "teamchat", "#ops", "hello"), 1),
        (("test", "teamchat"), 1),
        (("ask", "hello"), 2),
        (("channels",), 0),
        (("channels", "--json"), 0),
        (("config", "show"), 0),
        (("config", "show", "--json"), 0),
    ],
)
def test_a_command_that_lacks_a_setting_tells_what_was_misspelt(cli: Cli, command: tuple[str, ...], code: int):
    done = cli(*command, env={TYPO: TOKEN})
    assert done.code == code
    assert done.err.endswith(TOLD.format("environment"))
    assert TOKEN not in done.out + done.err


def test_a_misspelt_setting_of_an_env_file_has_its_line(cli: Cli):
    (cli.home / ".env").write_text(f"# settings\nSMTP_HOST=mail.example\n{TYPO}={TOKEN}\n")
    assert cli("send", "teamchat", "#ops", "hello").err.endswith(TOLD.format(f"{cli.home}/.env:3"))


def test_a_command_that_works_says_nothing_of_it(wired: Cli):
    done = wired("send", "teamchat", "#ops", "hello", env={"GATEWAY_PROT": "8101"})
    assert (done.code, done.err) == (0, "")


# --- where values come from


def test_only_the_env_file_of_the_working_directory_is_read_where_there_is_one(cli: Cli):
    cli.data_dir.mkdir()
    (cli.data_dir / ".env").write_text("DASHBOARD_USER=data\nSMTP_HOST=data.example\nGATEWAY_PORT=8103\n")
    assert settings(cli)["GATEWAY_PORT"]["source"] == str(cli.data_dir / ".env")
    (cli.home / ".env").write_text("DASHBOARD_USER=here\nSMTP_HOST=here.example\n")
    found = settings(cli, DASHBOARD_USER="environment")
    assert [
        (found[name]["value"], found[name]["source"]) for name in ("DASHBOARD_USER", "SMTP_HOST", "GATEWAY_PORT")
    ] == [
        ("environment", "environment"),
        ("here.example", str(cli.home / ".env")),
        ("8100", "default"),
    ]


LACKING = {
    ("dashboard", "link"): "set DASHBOARD_USER and DASHBOARD_PASS, then start the dashboard again",
    ("ask", "hello"): HOW_TO_CONFIGURE,
    ("bot",): "set BOTCHAT_BOT_TOKEN",
    ("gateway",): "set GATEWAY_TOKEN (or ALLOW_INSECURE_BIND=true to override)",
    ("store", "migrate", "--to", "redis"): "set REDIS_URL",
}


@pytest.mark.parametrize("command", LACKING, ids=" ".join)
def test_an_error_about_a_missing_setting_names_the_files_that_were_read(cli: Cli, command: tuple[str, ...]):
    env = {"GATEWAY_HOST": "0.0.0.0", "REDIS_URL": "off", "LOG_LEVEL": "error"}
    own = cli.data_dir / ".env"
    nothing = f"  hint: {LACKING[command]}; settings were read from the environment; {own} does not exist\n"
    assert nothing in cli(*command, env=env).err
    own.parent.mkdir(exist_ok=True)
    own.touch(0o600)
    (cli.home / ".env").touch(0o600)
    done = cli(*command, "--json", env=env)
    read = f"settings were read from the environment and {cli.home}/.env; {own} was not read"
    assert done.json()["hint"] == f"{LACKING[command]}; {read}"


def test_the_doctor_warns_of_an_env_file_that_another_one_hides(cli: Cli):
    cli("init")
    (cli.home / ".env").touch(0o600)
    findings = cli("doctor", "--offline", "--json", env={"GATEWAY_PORT": "1"}).json()["findings"]
    found = [(finding["state"], finding["detail"]) for finding in findings if finding["subject"] == ".env"]
    hidden = f"{cli.data_dir}/.env is ignored, because Tocsin reads {cli.home}/.env"
    assert found == [("ok", str(cli.home / ".env")), ("warning", hidden)]


def test_an_env_file_that_is_named_replaces_both_others(cli: Cli):
    (cli.home / ".env").write_text("SMTP_HOST=here.example\n")
    (cli.home / "other.env").write_text("SMTP_USER=other\n")
    found = settings(cli, "--env-file", "other.env")
    assert (found["SMTP_HOST"]["value"], found["SMTP_USER"]["value"]) == ("", "other")


def test_a_secret_may_come_from_a_file(wired: Cli, town: StandinCluster):
    secret = wired.home / "token"
    secret.write_text(town.teamchat.token + "\n")
    env = {"TEAMCHAT_BOT_TOKEN": "", "TEAMCHAT_BOT_TOKEN_FILE": str(secret)}
    assert wired("send", "teamchat", "#ops", "hello", env=env).code == 0
    assert settings(wired, **env)["TEAMCHAT_BOT_TOKEN"]["source"] == f"{secret} (TEAMCHAT_BOT_TOKEN_FILE)"


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), ("", "empty file"), ("a b", "a value in")])
def test_a_file_that_holds_no_usable_secret_is_named(cli: Cli, content: str | None, reason: str):
    secret = cli.home / "token"
    if content is not None:
        secret.write_text(content)
    done = cli("channels", env={"TEAMCHAT_BOT_TOKEN_FILE": str(secret)})
    assert done.code == 2
    assert str(secret) in done.err
    assert reason in done.err


# --- config show


def test_config_show_names_value_and_source_of_what_is_set(cli: Cli):
    (cli.home / ".env").write_text("SMTP_HOST=mail.example\n")
    done = cli("config", "show", env={"GATEWAY_PORT": "8109"})
    rows = [line.split(maxsplit=2) for line in done.out.splitlines()[1:]]
    assert rows == [
        ["TOCSIN_DATA_DIR", str(cli.data_dir), "environment"],
        ["GATEWAY_PORT", "8109", "environment"],
        ["SMTP_HOST", "mail.example", f"{cli.home}/.env"],
    ]
    assert "--all" in done.err


def test_config_show_all_has_the_defaults_too(cli: Cli):
    out = cli("config", "show", "--all").out
    assert re.search(r"RATE_LIMIT_PER_IP +60 ", out)
    assert "value of SMTP_USER" in out
    assert re.search("TEAMCHAT_API_URL +https://slack.com/api", out)


def test_config_show_names_the_data_directory_in_force_when_none_is_set(cli: Cli):
    found = settings(cli, TOCSIN_DATA_DIR="", XDG_DATA_HOME=str(cli.home / "share"))["TOCSIN_DATA_DIR"]
    assert (found["value"], found["source"]) == (str(cli.home / "share" / "tocsin"), "default")


WRITTEN = {
    "ALLOWED_CHAT_IDS": ("12,-1007, 5", "5, 12, -1007"),
    "TRUSTED_PROXIES": ("10.0.0.0/8,192.0.2.0/24", "10.0.0.0/8, 192.0.2.0/24"),
    "REDIS_URL": ("off", "off"),
    "FORCE_HTTPS": ("yes", "true"),
    "AUDIT_REDACT": ("0", "false"),
    "GATEWAY_PORT": ("8109", "8109"),
    "SMTP_FROM": ("Alerts <alerts@example.org>", "Alerts <alerts@example.org>"),
    "SMTP_CA_FILE": ("/etc/ca.pem", "/etc/ca.pem"),
    "ENVIRONMENT": ("Production", "production"),
}


def test_config_show_prints_values_as_one_would_write_them(cli: Cli):
    found = settings(cli, **{name: given for name, (given, _) in WRITTEN.items()})
    shown = {name: found[name]["value"] for name in WRITTEN}
    assert shown == {name: expected for name, (_, expected) in WRITTEN.items()}
    assert {name: settings(cli, **shown)[name]["value"] for name in WRITTEN} == shown


@pytest.mark.parametrize(("environment", "forced"), [("development", "false"), ("production", "true")])
def test_config_show_says_whether_https_is_enforced_when_nobody_wrote_it_down(cli: Cli, environment: str, forced: str):
    found = settings(cli, ENVIRONMENT=environment)["FORCE_HTTPS"]
    assert (found["value"], found["source"]) == (forced, "default")


def test_no_default_is_shown_in_the_spelling_of_python(cli: Cli):
    assert [s for s in settings(cli).values() if re.search(r"[(){}\[\]]|None|True|False", s["value"])] == []


def test_config_show_masks_secrets(cli: Cli):
    env = {"TEAMCHAT_BOT_TOKEN": TOKEN, "SMTP_PASS": "made-up password", "DASHBOARD_PASS": "a made-up one"}
    for options in ([], ["--json"], ["--all"]):
        done = cli("config", "show", *options, env=env)
        assert done.code == 0
        assert [value for value in env.values() if value in done.out + done.err] == []
        assert "[secret]" in done.out


# --- init


SECRETS = ("DASHBOARD_PASS", "GATEWAY_TOKEN")


def test_init_writes_an_env_file_for_its_owner_alone_with_random_secrets(cli: Cli):
    done = cli("init")
    assert (done.code, done.err) == (0, "")
    path = cli.data_dir / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    values = dotenv_values(path)
    assert values.keys() == {"DASHBOARD_USER", *SECRETS}
    assert values["DASHBOARD_USER"] == "operator"
    assert all(len(values[name] or "") >= 20 and values[name] not in done.out for name in SECRETS)
    path.unlink()
    cli("init")
    assert [name for name in SECRETS if dotenv_values(path)[name] == values[name]] == []


def test_what_init_wrote_is_read_in_every_directory(cli: Cli):
    cli("init")
    elsewhere = cli.home / "elsewhere"
    elsewhere.mkdir()
    for directory in (cli.home, elsewhere, Path("/")):
        done = command_line.call(["config", "show"], env=cli.env, cwd=directory, program=TOCSIN)
        assert str(cli.data_dir / ".env") in done.out


def test_init_writes_to_the_working_directory_when_asked_or_in_its_own_checkout(cli: Cli):
    other = cli.home / "other"
    (other / "src").mkdir(parents=True)
    for directory, options, expected in (
        (cli.home, ["--here"], cli.home),
        (other, ["--data-dir", str(cli.home / "apart")], cli.home / "apart"),
        (other, ["--env-file", "named"], other),
    ):
        init = ["init", "--json", *options]
        done = command_line.call(init, env=cli.env, cwd=directory, program=TOCSIN)
        assert Path(done.json()["env_file"]).parent == expected, done.err
    (other / "src" / "tocsin").symlink_to(Path(tocsin.__file__).parent)
    done = command_line.call(["init", "--json"], env=cli.env, cwd=other, program=TOCSIN)
    assert done.json()["env_file"] == str(other / ".env")


def test_init_names_the_next_steps_so_that_they_can_be_copied(cli: Cli, tmp_path):
    empty = tmp_path / "no-tocsin-here"
    empty.mkdir()
    out = cli("init", env={"PATH": str(empty)}).out
    assert f"  2. {cli.tocsin} doctor  " in out
    assert f"  4. {cli.tocsin} dashboard link  " in out
    assert "http://127.0.0.1:8200" in out
    options = ("--data-dir", "my data", "--env-file", "my.env")
    out = cli("init", *options, env={"PATH": str(cli.tocsin.parent)}).out
    assert "  2. tocsin --data-dir 'my data' --env-file my.env doctor  " in out


def test_init_lists_every_other_setting_commented_out(cli: Cli):
    cli("init")
    text = (cli.data_dir / ".env").read_text()
    assert [name for name in settings(cli) if f"{name}=" not in text] == []


def test_init_says_that_a_file_here_is_read_only_here(cli: Cli):
    assert cli("init", "--here").err
    assert cli("init", "--env-file", "other.env").err == ""


def test_init_tells_of_another_file_that_is_read_in_this_directory(cli: Cli):
    (cli.home / ".env").write_text("MINE=1\n")
    done = cli("init")
    assert done.code == 0
    assert f"{cli.home}/.env" in done.err
    assert cli("init", "-q", "--here").code == 2


def test_init_does_not_overwrite(cli: Cli):
    (cli.home / ".env").write_text("MINE=1\n")
    done = cli("init", "--here")
    assert done.code == 2
    assert "already exists" in done.err
    assert (cli.home / ".env").read_text() == "MINE=1\n"


def test_init_does_not_write_through_a_link(cli: Cli):
    (cli.home / "there").touch()
    cli.data_dir.mkdir()
    (cli.data_dir / ".env").symlink_to(cli.home / "there")
    assert cli("init").code == 2
    assert (cli.home / "there").read_text() == ""


def test_what_init_writes_satisfies_the_doctor(cli: Cli):
    cli("init")
    findings = cli("doctor", "--offline", "--json", env={"GATEWAY_PORT": "1"}).json()["findings"]
    mine = [finding for finding in findings if finding["subject"] in ("settings", ".env", "security")]
    assert [finding["state"] for finding in mine] == ["ok"]


def test_init_keeps_a_data_directory_that_was_asked_for(cli: Cli):
    wanted = cli.home / "my data #1's"
    cli("init", "--data-dir", str(wanted), "--env-file", "my.env")
    found = settings(cli, "--env-file", "my.env", TOCSIN_DATA_DIR="")
    assert found["TOCSIN_DATA_DIR"]["value"] == str(wanted)


def test_init_as_json_names_file_and_user(cli: Cli):
    assert cli("init", "--json").json() == {"env_file": str(cli.data_dir / ".env"), "dashboard_user": "operator"}


def test_init_where_nothing_can_be_written_is_a_sentence(cli: Cli):
    done = cli("init", "--env-file", "no/such/directory/.env")
    assert done.code == 2
    assert "No such file or directory" in done.err
    done = cli.shell("mkdir gone && cd gone && rmdir ../gone && tocsin init --here")
    assert done.code == 2
    assert "Traceback" not in done.err


# --- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_prints_a_script_that_knows_every_command(cli: Cli, shell: str):
    done = cli("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert all(name in done.out for name in ("channels", "notify", "verify"))
    assert cli("completion", shell, "--json").json() == {"shell": shell, "script": done.out.removesuffix("\n")}


def test_completion_for_bash_is_bash_that_completes(cli: Cli):
    script = cli.home / "completion.bash"
    script.write_text(cli("completion", "bash").out)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    ask = f'. {script}; COMP_WORDS=(tocsin cha); COMP_CWORD=1; _shtab_tocsin; echo "${{COMPREPLY[@]}}"'
    asked = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, env=os.environ, check=False)
    assert asked.stdout.split() == ["channels"], asked.stderr
