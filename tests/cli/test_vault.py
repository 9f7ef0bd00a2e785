"""tocsin vault: by standard input and by prompt; settings and skills from the vault; no value where none belongs."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.conftest import Cli, Done
from tests.facts import mentions
from tests.waiting import PATIENCE_S

from tocsin_standins import StandinCluster

CANARY = 'canary "example" päss/wörd+ & <vault>'


@pytest.fixture
def vault(cli: Cli) -> Cli:
    """The command with a vault that has one secret."""
    assert cli("vault", "init").code == 0
    assert set_(cli, "API_KEY", CANARY).code == 0
    return cli


def set_(cli: Cli, name: str, value: str) -> Done:
    return cli("vault", "set", name, stdin=value.encode() + b"\n")


def typed(cli: Cli, arguments: list[str], answers: dict[str, str]) -> tuple[int, str]:
    """Run a command at a terminal, and answer each of its prompts; return exit code and what the terminal showed."""
    screen, terminal = pty.openpty()
    command = [cli.tocsin, *arguments]
    child = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=cli.home, env=cli.env)
    os.close(terminal)
    seen, asked = b"", iter([*answers.items(), ("no further prompt", "")])
    prompt, answer = next(asked)
    while select.select([screen], [], [], PATIENCE_S)[0]:
        try:
            seen += os.read(screen, 65536)  # which may end in the middle of a character
        except OSError:  # Linux: the last one who had the terminal open is gone
            break
        if prompt.encode() in seen:
            os.write(screen, f"{answer}\n".encode())
            prompt, answer = next(asked)
    os.close(screen)
    return child.wait(PATIENCE_S), seen.decode()


# --- the commands


def test_a_value_comes_back_exactly_and_only_from_get(vault: Cli):
    assert vault("vault", "get", "API_KEY").out == f"{CANARY}\n"
    assert vault("vault", "get", "API_KEY", "--json").json() == {"name": "API_KEY", "value": CANARY}
    key = "-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n"
    vault("vault", "set", "DEPLOY_KEY", stdin=key.encode())
    assert vault("vault", "get", "DEPLOY_KEY").out == key


def test_no_command_and_no_file_but_get_shows_a_value(vault: Cli):
    recovery = "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"
    done = [
        set_(vault, "OTHER", CANARY),
        vault("vault", "list"),
        vault("vault", "list", "--json"),
        vault("vault", "status", "--json"),
        vault("vault", "status"),
        vault("vault", "rotate", "OTHER", "--generate"),
        vault("vault", "rotate", "API_KEY", stdin=CANARY.encode()),  # the same value
        vault("vault", "recipients", "add", recovery, "--note", "recovery"),
        vault("vault", "recipients", "list", "--json"),
        vault("vault", "recipients", "remove", recovery, "--yes"),
        vault("vault", "rekey", "--yes"),
        vault("vault", "delete", "OTHER", "--yes"),
        vault("config", "show", "--all", "--json"),
        vault("doctor", "--offline"),
        vault("--verbose", "vault", "set", "A-B", stdin=CANARY.encode()),
        vault("audit", "tail", "--json"),
    ]
    shown = "".join(each.out + each.err for each in done)
    kept = b"".join(path.read_bytes() for path in vault.data_dir.rglob("*") if path.is_file())
    for form in (CANARY, json.dumps(CANARY), json.dumps(CANARY)[1:-1], CANARY.encode().hex()):
        assert form not in shown
        assert form.encode() not in kept
    assert [each.code for each in done] == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, done[13].code, 2, 0]
    actions = [entry["action"] for entry in vault.audit_log()]
    assert actions == [
        "vault.init", "vault.set", "vault.set", "vault.rotate", "vault.recipients", "vault.recipients", "vault.rekey",
        "vault.delete",
    ]  # fmt: skip


def test_a_value_on_the_command_line_is_wrong_usage(vault: Cli):
    done = vault("vault", "set", "API_KEY", "a-value")
    assert (done.code, "a-value" in vault("vault", "get", "API_KEY").out) == (2, False)


@pytest.mark.parametrize(
    ("value", "code", "sentence"),
    [
        (b"", 2, "the value is empty"),
        (b"\n", 2, "the value is empty"),
        (b"canary\xff", 2, "standard input is not UTF-8 text"),
        (b"canary\0", 2, "the value contains a NUL character"),
        (b"c" * (1024**2 + 1), 2, "standard input is larger than 1,048,576 bytes"),
    ],
    ids=["empty", "a line end", "binary", "NUL", "too long"],
)
def test_a_bad_value_is_refused_with_a_sentence_and_the_old_one_stays(
    vault: Cli, value: bytes, code: int, sentence: str
):
    done = vault("vault", "set", "API_KEY", stdin=value)
    assert (done.code, sentence in done.err, "canary" in done.err) == (code, True, False)
    assert vault("vault", "get", "API_KEY").out == f"{CANARY}\n"


def test_a_value_of_one_mebibyte_is_kept(vault: Cli):
    assert vault("vault", "set", "LARGE", stdin=b"x" * 1024**2 + b"\n").code == 0
    assert len(vault("vault", "get", "LARGE").out) == 1024**2 + 1


def test_a_prompt_does_not_echo_and_asks_twice(vault: Cli):
    code, seen = typed(vault, ["vault", "set", "TYPED"], {"Value of TYPED": "by hand", "Repeat it:": "by hand"})
    assert (code, "by hand" in seen, "TYPED" in seen) == (0, False, True)
    assert vault("vault", "get", "TYPED").out == "by hand\n"
    code, seen = typed(vault, ["vault", "set", "TYPED"], {"Value of TYPED": "one", "Repeat it:": "another"})
    assert code == 2


def test_deleting_asks_and_without_a_terminal_needs_yes(vault: Cli):
    done = vault("vault", "delete", "API_KEY")
    assert (done.code, "add --yes" in done.err) == (2, True)
    code, seen = typed(vault, ["vault", "delete", "API_KEY"], {"[y/N]": "n"})
    assert code == 1
    code, seen = typed(vault, ["vault", "delete", "API_KEY"], {"[y/N]": "y"})
    assert (code, "API_KEY" in seen) == (0, True)
    assert vault("vault", "get", "API_KEY").code == 1


def test_without_a_vault_every_command_says_how_to_make_one(cli: Cli):
    for words in (["set", "A"], ["get", "A"], ["list"], ["rekey", "--yes"], ["recipients", "list"], ["import"]):
        done = cli("vault", *words, stdin=b"x")
        assert (done.code, "`tocsin vault init`" in done.err) == (1, True), words
    assert cli("vault", "status", "--json").json()["initialized"] is False
    assert cli("vault", "status").code == 0


def test_the_other_backend_goes_on_with_the_same_files(vault: Cli):
    vault.env["VAULT_BACKEND"] = "age"
    assert vault("vault", "get", "API_KEY").out == f"{CANARY}\n"
    assert set_(vault, "OTHER", "by age").code == 0
    vault.env["VAULT_BACKEND"] = "pyrage"
    assert vault("vault", "get", "OTHER").out == "by age\n"


# --- import


def test_import_moves_the_secrets_of_env_files_and_leaves_comments_without_values(vault: Cli):
    env = vault.home / ".env"
    env.write_text(
        "# my settings\nSMTP_HOST=mail.example.org\n"
        f"export SMTP_PASS={shlex.quote(CANARY)}\n\nGATEWAY_TOKEN=a-token-x\n"
    )
    env.chmod(0o640)
    code, seen = typed(vault, ["vault", "import"], {"[y/N]": "n"})
    assert (code, CANARY in env.read_text()) == (1, True)
    done = vault("vault", "import", "--yes", "--json")
    assert done.json() == [{"file": str(env), "names": ["GATEWAY_TOKEN", "SMTP_PASS"]}]
    assert CANARY not in seen + done.out + done.err
    assert env.read_text() == (
        "# my settings\nSMTP_HOST=mail.example.org\n# SMTP_PASS is in the vault\n\n# GATEWAY_TOKEN is in the vault\n"
    )
    assert env.stat().st_mode & 0o777 == 0o640
    sources = {entry["name"]: entry["source"] for entry in vault("config", "show", "--json").json()}
    assert (sources["SMTP_PASS"], sources["SMTP_HOST"]) == ("vault", str(env))
    assert vault("vault", "get", "SMTP_PASS").out == f"{CANARY}\n"
    assert vault("vault", "import", "--yes").code == 1


# --- settings


@pytest.fixture
def kept(wired: Cli) -> Cli:
    """The command with the token of one channel in the vault, and those of the others in the environment."""
    wired("vault", "init")
    set_(wired, "TEAMCHAT_BOT_TOKEN", wired.env.pop("TEAMCHAT_BOT_TOKEN"))
    return wired


def test_an_older_copy_is_told_everywhere_and_used_after_a_question(vault: Cli):
    older = (vault.data_dir / "vault.enc").read_bytes()
    set_(vault, "API_KEY", "a-newer-value")
    (vault.data_dir / "vault.enc").write_bytes(older)
    assert vault("vault", "get", "API_KEY").code == 1
    assert vault("vault", "status", "--json").json()["locked"]
    assert "older copy" in vault("doctor", "--offline").out
    assert vault("vault", "accept").code == 2  # nobody answers
    assert vault("vault", "accept", "--yes").code == 0
    assert vault("vault", "get", "API_KEY").out == f"{CANARY}\n"
    assert vault("vault", "accept", "--yes").code == 1
    assert [each["action"] for each in vault.audit_log()][-2:] == ["vault.accept", "vault.get"]


def test_a_token_from_the_vault_sends(kept: Cli, town: StandinCluster):
    done = kept("send", "teamchat", "#ops", "hello", "--json")
    assert (done.code, done.json()["ok"]) == (0, True)
    assert kept("config", "show").out.count("vault\n") == 1


def test_the_environment_wins_over_the_vault(kept: Cli, town: StandinCluster):
    assert kept("send", "teamchat", "#ops", "hello", env={"TEAMCHAT_BOT_TOKEN": "xoxb-wrong"}).code == 1


LOCKED = {
    "broken": ("the vault is damaged", lambda d: (d / "vault.enc").write_bytes((d / "vault.enc").read_bytes()[:-9])),
    "open to others": ("other users can access", lambda d: (d / "vault.enc").chmod(0o644)),
    "without its identity": ("is missing", lambda d: (d / "identity.txt").unlink()),
}


@pytest.mark.parametrize("how", LOCKED)
def test_a_locked_vault_stops_what_needs_it_with_one_sentence_and_nothing_else(
    kept: Cli, town: StandinCluster, how: str
):
    sentence, lock = LOCKED[how]
    lock(kept.data_dir)
    needs = kept("send", "teamchat", "#ops", "hello")
    assert needs.code == 1
    assert "set TEAMCHAT_BOT_TOKEN" in needs.err
    assert sentence in needs.err
    other = kept("send", "botchat", "1001", "hello")
    assert (other.code, other.err) == (0, "")
    assert sentence in kept("channels").err
    assert sentence in kept("doctor", "--offline").out
    assert kept("vault", "status").code == 1


def test_a_malformed_value_names_the_vault_and_can_be_corrected(kept: Cli):
    set_(kept, "TEAMCHAT_BOT_TOKEN", "two words")
    done = kept("channels")
    assert (done.code, mentions(done.err, "TEAMCHAT_BOT_TOKEN", "vault")) == (2, True)
    assert "two words" not in done.err
    assert set_(kept, "TEAMCHAT_BOT_TOKEN", "xoxb-corrected").code == 0
    assert kept("channels").code == 0


# --- skills


def test_a_skill_gets_the_secrets_that_it_names_masked_in_its_output_with_one_audit_entry(vault: Cli):
    set_(vault, "OTHER", "not-for-it")
    folder = vault.data_dir / "skills" / "show"
    folder.mkdir(parents=True)
    (folder / "skill.yaml").write_text(
        "name: show\ndescription: Show.\ncommand: 'env; printf %s \"$API_KEY\" | wc -c'\n"
        "permissions: [vault]\nvault: [API_KEY]\n"
    )
    done = vault("skills", "run", "show")
    assert done.code == 0, done.err
    assert re.search(r"^API_KEY=\[secret\]$", done.out, re.MULTILINE)
    assert f"{len(CANARY.encode())}\n" in done.out
    assert "OTHER" not in done.out
    reads = [entry for entry in vault.audit_log() if entry["action"] == "vault.get"]
    assert [(entry["source"], entry["metadata"]["names"], entry["metadata"]["reader"]) for entry in reads] == [
        ("vault", ["API_KEY"], "skill:show")
    ]
    vault("vault", "delete", "API_KEY", "--yes")
    done = vault("skills", "run", "show")
    assert (done.code, "'API_KEY'" in done.err) == (1, True)


def test_a_start_without_a_vault_imports_nothing_of_it(cli: Cli):
    probe = (
        "import sys; from tocsin.cli.main import run; run(['channels']);"
        "print('pyrage' in sys.modules, 'tocsin.features.vault.store' in sys.modules)"
    )
    python = Path(cli.tocsin).with_name("python")
    done = subprocess.run([python, "-c", probe], env=cli.env, cwd=cli.home, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False False\n")


# --- where a value must not be


def test_a_value_that_a_run_gets_is_in_no_process_list_and_in_no_file_but_the_vault(vault: Cli, tmp_path: Path):
    seen = tmp_path / "process-list"
    command = f'cat /proc/[0-9]*/cmdline > {seen}; echo "$KEY"; printf %s "$KEY" | base64 >&2'
    added = vault("cron", "add", "deploy", "0 3 * * *", command, "--env", "KEY=${vault:API_KEY}")
    assert added.code == 0, added.err
    done = vault.process("cron", "run", "deploy")
    told = [done.out + done.err, *(vault(*words).out for words in (("runs", "list"), ("status",), ("audit", "tail")))]
    assert done.code == 0
    assert b"cron\0run\0deploy" in seen.read_bytes()
    forms = {form for value in (CANARY, f"{CANARY}\n") for form in _forms(value)}
    assert not [form for form in forms for text in told if form in text.encode()]
    assert not [form for form in forms if form in seen.read_bytes()]
    kept = [path for path in vault.data_dir.rglob("*") if path.is_file() and path.name != "vault.enc"]
    assert {"tocsin.db", "audit.log"} <= {path.name for path in kept}
    assert not [path for path in kept for form in forms if form in path.read_bytes()]


def _forms(value: str) -> list[bytes]:
    raw = value.encode()
    return [
        raw,
        b64encode(raw).rstrip(b"="),
        urlsafe_b64encode(raw).rstrip(b"="),
        quote(value).encode(),
        raw.hex().encode(),
    ]
