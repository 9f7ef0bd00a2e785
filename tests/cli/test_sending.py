"""channels, test and send, against the stand-ins."""

import re
import subprocess

import pytest
from tests.cli.conftest import TOCSIN, Cli, end
from tests.facts import mentions
from tests.waiting import PATIENCE_S, until

from tocsin_standins import Fault, StandinCluster
from tocsin_standins.mail import LOGIN_REFUSED

NETWORK = ("botchat", "email", "guildchat", "teamchat")
RESULT = ["ok", "channel", "target", "message", "error"]
LABELS = {"teamchat": "Slack", "botchat": "Telegram", "guildchat": "Discord", "email": "E-mail"}
NOTES = {"teamchat": "ts=", "botchat": "id=", "guildchat": "id=", "email": "message-id="}


# --- channels


def test_channels_are_listed_with_what_each_one_still_needs(cli: Cli):
    done = cli.process("channels", env={"GUILDCHAT_BOT_TOKEN": "made-up"})
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines()[1:]}
    assert {"telegram", "messages", "email", "discord", "slack"} < rows.keys()
    assert "configured" in rows["discord"]
    assert "missing TEAMCHAT_BOT_TOKEN" in rows["slack"]
    assert all(name in rows["email"] for name in ("SMTP_HOST", "SMTP_USER", "SMTP_PASS"))
    assert "unavailable (needs darwin)" in rows["messages"]


def test_channels_as_json_has_the_documented_fields(wired: Cli):
    listed = wired("channels", "--json").json()
    fields = ["channel", "configured", "missing", "available", "aliases", "target", "max_length", "inbound"]
    assert [list(channel) for channel in listed] == [fields] * len(listed)
    assert [channel["channel"] for channel in listed if channel["configured"]] == list(NETWORK)
    known = {
        "teamchat": 40_000,
        "botchat": 4_096,
        "guildchat": 2_000,
        "email": None,
        "devicemsg": 20_000,
    }
    lengths = {channel["channel"]: channel["max_length"] for channel in listed}
    assert lengths | known == lengths


def test_devicemsg_is_listed_as_configured_on_darwin_alone(cli: Cli):
    listed = cli("channels", "--json", env={"DEVICEMSG_PLATFORM": "darwin"}).json()
    assert [channel["channel"] for channel in listed if channel["configured"]] == ["devicemsg"]


# --- test


@pytest.mark.parametrize("channel", NETWORK)
def test_a_test_names_the_account_and_sends_nothing(wired: Cli, town: StandinCluster, channel: str):
    done = wired("test", channel)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{LABELS[channel]}: connected as tocsin")
    assert town.recorder.of() == []


def test_a_test_of_teamchat_names_bot_and_workspace(wired: Cli):
    assert wired.process("test", "teamchat", "--json").json() == {
        "ok": True,
        "channel": "teamchat",
        "target": "",
        "message": "connected as tocsin (Stand-in)",
        "error": "",
    }


def test_a_test_of_devicemsg_off_darwin_is_an_error_result(cli: Cli):
    done = cli("test", "devicemsg", "--json")
    assert done.code == 1
    assert "darwin" in done.json()["error"]


@pytest.mark.parametrize(
    ("channel", "variable", "value", "remedy"),
    [
        ("teamchat", "TEAMCHAT_BOT_TOKEN", "xoxb-1-wrong-example", "invalid_auth"),
        ("botchat", "BOTCHAT_BOT_TOKEN", "1:wrong_example", "401"),
        ("guildchat", "GUILDCHAT_BOT_TOKEN", "wrong.example", "401"),
        ("email", "SMTP_PASS", "wrong", "535"),
    ],
)
def test_wrong_credentials_fail_with_the_remedy(wired: Cli, channel: str, variable: str, value: str, remedy: str):
    done = wired("test", channel, env={variable: value})
    assert (done.code, done.out) == (1, "")
    assert remedy in done.err
    assert variable in done.err


# --- send


@pytest.mark.parametrize("channel", NETWORK)
def test_a_message_reaches_its_target(wired: Cli, town: StandinCluster, channel: str):
    target = town.samples()[channel]
    done = wired("send", channel, target, "Disk 91 % full – now")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"sent on {LABELS[channel]} to {target} ({NOTES[channel]}")
    assert [item.text for item in town.recorder.of(channel)] == ["Disk 91 % full – now"]


@pytest.mark.parametrize("channel", NETWORK)
def test_send_as_json_prints_the_send_result_and_nothing_else(wired: Cli, town: StandinCluster, channel: str):
    target = town.samples()[channel]
    done = wired("--json", "send", channel, target, "hello")
    result = done.json()
    assert (list(result), done.err) == (RESULT, "")
    assert (result["ok"], result["channel"], result["target"], result["error"]) == (True, channel, target, "")
    assert result["message"].startswith(NOTES[channel])


@pytest.mark.parametrize(("alias", "channel"), [("slack", "teamchat"), ("Telegram", "botchat"), ("smtp", "email")])
def test_an_alias_is_understood_and_results_show_the_kind(wired: Cli, town: StandinCluster, alias: str, channel: str):
    assert wired("send", alias, town.samples()[channel], "hello", "--json").json()["channel"] == channel


def test_a_refusal_is_exit_code_1_with_cause_and_remedy(wired: Cli):
    done = wired("send", "teamchat", "#nowhere", "hello")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("tocsin: channel_not_found: wrong ID or name")


def test_a_refusal_as_json_is_the_send_result_with_exit_code_1(wired: Cli):
    done = wired("send", "teamchat", "#nowhere", "hello", "--json")
    assert (done.code, done.err) == (1, "")
    result = done.json()
    assert (list(result), result["ok"], result["message"]) == (RESULT, False, "")
    assert "channel_not_found" in result["error"]


@pytest.mark.parametrize("command", [("send", "{}", "somewhere", "hello"), ("test", "{}")])
def test_an_unknown_channel_is_a_failed_result_that_names_the_likely_one(cli: Cli, command: tuple[str, ...]):
    done = cli(*(word.format("teamcaht") for word in command), "--json")
    assert done.code == 1
    assert done.json()["error"].startswith("Unknown channel: teamcaht")
    assert "'teamchat'" in done.json()["error"]


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [("telegarm", "telegram"), ("slakc", "slack"), ("botchta", "botchat"), ("emial", "email"), ("nochan", "")],
)
def test_the_likely_channel_is_one_that_people_type(cli: Cli, typed: str, suggested: str):
    error = cli("send", typed, "somewhere", "hello", "--json").json()["error"]
    assert error.endswith(f" (did you mean '{suggested}'?)" if suggested else ", webpush")


LACKING = [("send", "{}", "#ops", "hello"), ("send", "--queue", "{}", "#ops", "hello"), ("test", "{}")]


@pytest.mark.parametrize("command", [*LACKING, ("publish", "{}", "#ops", "hello")])
@pytest.mark.parametrize(("typed", "shown"), [("slack", "slack"), ("teamchat", "Slack")])
def test_an_unconfigured_channel_is_named_as_it_was_typed_with_the_settings_to_set_and_where(
    cli: Cli, command: tuple[str, ...], typed: str, shown: str
):
    (cli.home / ".env").touch()
    done = cli(*(word.format(typed) for word in command), env={"REDIS_URL": "off"})
    assert done.code == 1
    assert mentions(done.err, "Unknown channel", shown, f"TEAMCHAT_BOT_TOKEN in {cli.home}/.env)")


@pytest.mark.parametrize("command", LACKING)
def test_the_result_of_an_unconfigured_channel_is_unknown_channel(cli: Cli, command: tuple[str, ...]):
    done = cli(*(word.format("slack") for word in command), "--json")
    assert done.json()["error"] == "Unknown channel: teamchat (not configured; set TEAMCHAT_BOT_TOKEN)"


def test_a_refused_login_carries_the_servers_words(wired: Cli, town: StandinCluster):
    town.mail.faults.push(LOGIN_REFUSED)
    done = wired("send", "email", "ops@example.org", "hello")
    assert done.code == 1
    assert "535 5.7.8" in done.err


@pytest.mark.parametrize("target", ["-1001234567890", "-1001234567890/7"])
def test_a_target_that_starts_with_a_minus_is_taken_as_it_is(wired: Cli, town: StandinCluster, target: str):
    result = wired("send", "botchat", target, "hello", "--json").json()
    assert result["target"] == target
    assert "no target" not in result["error"]  # whether there is such a chat is the provider's business


def test_words_after_two_minuses_are_no_options(wired: Cli, town: StandinCluster):
    done = wired("send", "email", "--", "ops@example.org", "-v is not an option here")
    assert done.code == 0, done.err
    done = wired("send", "email", "--", "-ops@example.org", "--json")
    assert done.code == 0, done.err
    assert [(item.target, item.text) for item in town.recorder.of("email")] == [
        ("ops@example.org", "-v is not an option here"),
        ("-ops@example.org", "--json"),
    ]


def test_every_send_and_test_leaves_one_audit_entry_without_the_text(wired: Cli):
    wired("send", "teamchat", "#ops", "the text is nobody's business")
    wired("send", "teamchat", "#nowhere", "hello")
    wired("send", "bogus", "x", "hello")
    wired("test", "teamchat")
    entries = wired.audit_log()
    assert [(entry["action"], entry["source"], entry["metadata"]["ok"]) for entry in entries] == [
        ("msg.send", "cli", True),
        ("msg.send", "cli", False),
        ("msg.send", "cli", False),
        ("msg.test", "cli", True),
    ]
    assert "nobody's business" not in (wired.data_dir / "audit.log").read_text()


# --- the message from standard input


def test_a_minus_as_message_reads_standard_input_without_the_last_line_end(wired: Cli, town: StandinCluster):
    done = wired("send", "email", "ops@example.org", "-", stdin=b"Backup\nall done\n")
    assert done.code == 0, done.err
    (received,) = town.recorder.of("email")
    assert (received.subject, received.text) == ("Backup", "all done")


def test_bytes_that_are_no_utf8_arrive_as_replacement_characters(wired: Cli, town: StandinCluster):
    assert wired("send", "teamchat", "#ops", "-", stdin=b"caf\xe9 \xff\xfe").code == 0
    assert [item.text for item in town.recorder.of("teamchat")] == ["caf\ufffd \ufffd\ufffd"]


def test_arguments_that_are_no_utf8_arrive_as_replacement_characters(wired: Cli, town: StandinCluster):
    assert wired("send", "teamchat", "#ops", b"caf\xe9").code == 0
    assert [item.text for item in town.recorder.of("teamchat")] == ["caf\ufffd"]


@pytest.mark.parametrize("command", [("send", "email", "ops@example.org", "-"), ("notify", "oncall", "-")])
def test_more_than_4_mib_are_refused_before_anything_is_sent(
    wired: Cli, town: StandinCluster, command: tuple[str, ...]
):
    done = wired(*command, stdin=b"x" * (4 * 1024 * 1024 + 1))
    assert (done.code, done.out) == (2, "")
    assert "4 MiB" in done.err
    assert town.recorder.of() == []


def test_an_endless_standard_input_is_refused_too(wired: Cli):
    done = wired.shell("tocsin send email ops@example.org - < /dev/zero")
    assert done.code == 2
    assert "4 MiB" in done.err


def test_an_empty_standard_input_is_an_empty_message(wired: Cli, town: StandinCluster):
    done = wired("send", "email", "ops@example.org", "-", stdin=b"\n")
    assert done.code == 1
    assert town.recorder.of() == []


def test_a_closed_standard_input_is_a_sentence(wired: Cli):
    done = wired.shell("tocsin send email ops@example.org - <&-")
    assert done.code == 2
    assert "standard input" in done.err
    assert "Traceback" not in done.err


def test_a_standard_input_that_cannot_be_read_is_a_sentence(wired: Cli):
    done = wired.shell("tocsin send email ops@example.org - 0>/dev/null")
    assert (done.code, done.out) == (2, "")
    assert mentions(done.err, "standard input", "Bad file descriptor")


def test_bytes_that_are_no_utf8_are_told(wired: Cli):
    done = wired("send", "teamchat", "#ops", "-", stdin=b"caf\xe9")
    assert mentions(done.err, "standard input", "UTF-8", "byte 4")


# --- the subject of a mail


def test_the_subject_of_a_mail_is_an_option(wired: Cli, town: StandinCluster):
    done = wired("send", "email", "ops@example.org", "--subject", "Disks of web1", "-", stdin=b"/ 91 %\n/home 12 %\n")
    assert done.code == 0, done.err
    wired.write_profiles("oncall: [{channel: email, target: ops@example.org}]\n")
    assert wired("notify", "oncall", "--subject", "Disks", "full").code == 0
    received = [(item.subject, item.text) for item in town.recorder.of("email")]
    assert received == [("Disks of web1", "/ 91 %\n/home 12 %"), ("Disks", "full")]


def test_a_subject_is_the_first_line_where_there_are_none(wired: Cli, town: StandinCluster):
    assert wired("send", "teamchat", "#ops", "--subject", "Disks", "91 % full").code == 0
    assert [item.text for item in town.recorder.of("teamchat")] == ["Disks\n91 % full"]


@pytest.mark.parametrize("subject", ["", " ", "two\nlines"])
def test_a_subject_that_is_no_line_is_wrong_usage(wired: Cli, town: StandinCluster, subject: str):
    done = wired("send", "email", "ops@example.org", "--subject", subject, "hello")
    assert done.code == 2
    assert "--subject" in done.err
    assert town.recorder.of() == []


def test_the_help_says_where_the_subject_of_a_mail_comes_from(cli: Cli):
    assert "--subject" in cli("send", "--help").out


# --- title, urgency and links

CONTENT = (
    "--title",
    "web1",
    "--priority",
    "high",
    "--action",
    "view,Graph,https://x.example/a,b",
    "--mention",
    "@here",
)


def test_the_options_of_a_message_reach_the_product_directly_and_by_the_queue(wired: Cli, town: StandinCluster):
    assert wired("send", "discord", "100000000000000002", "91 %", *CONTENT).code == 0
    [sent] = town.recorder.of("guildchat")
    assert isinstance(sent.body, dict)
    assert sent.body["embeds"][0]["title"] == "web1"
    assert sent.body["components"][0]["components"][0]["url"] == "https://x.example/a,b"
    queued = wired("send", "discord", "100000000000000002", "91 %", *CONTENT, "--queue", "--json")
    assert queued.json()["content"]["priority"] == 4


def test_a_dry_run_shows_each_target_and_sends_nothing(wired: Cli, town: StandinCluster):
    wired.write_profiles('oncall: [{channel: email, target: ops@example.org}, {channel: teamchat, target: "@anna"}]\n')
    shown = wired("notify", "oncall", "91 %", *CONTENT, "--dry-run", "--json")
    mail, refused = shown.json()
    assert shown.code == 1
    assert {each["field"]: each["support"] for each in mail["fields"]} == {
        "title": "native",
        "priority": "native",
        "actions": "degraded",
        "mention": "ignored",
    }
    assert [(each["text"], each["length"]) for each in mail["parts"]] == [("91 %", 4)]
    assert refused["error"]
    assert mentions(wired("send", "email", "ops@example.org", "91 %", *CONTENT, "--dry-run").out, "title", "91 %")
    assert town.recorder.of() == []


@pytest.mark.parametrize(
    "wrong", [("--priority", "9"), ("--click", "ftp://x.example"), ("--title", "x" * 251), ("--format", "rtf")]
)
def test_a_wrong_option_of_a_message_is_named_and_nothing_is_sent(
    wired: Cli, town: StandinCluster, wrong: tuple[str, str]
):
    done = wired("send", "teamchat", "#ops", "hello", *wrong)
    assert done.code == 1
    assert wrong[0].removeprefix("--").replace("format", "parse mode") in done.err
    assert town.recorder.of() == []


@pytest.mark.parametrize("wrong", [("--action", "open,Graph,https://x.example"), ("--type", "panic"), ("--title", " ")])
def test_an_option_that_cannot_be_read_is_wrong_usage(wired: Cli, town: StandinCluster, wrong: tuple[str, str]):
    assert wired("send", "teamchat", "#ops", "hello", *wrong).code == 2
    assert town.recorder.of() == []


def test_a_message_with_a_key_is_edited_and_withdrawn(wired: Cli, town: StandinCluster):
    for text in ("firing", "resolved"):
        assert wired("send", "teamchat", "#ops", text, "--key", "disk").code == 0
    gone = wired("withdraw", "teamchat", "#ops", "disk", "--json")
    assert (gone.code, gone.json()["ok"]) == (0, True)
    assert [item.kind for item in town.recorder.of(kind="")] == ["message", "edit", "deletion"]


@pytest.mark.parametrize(
    ("channel", "target", "key"),
    [
        ("teamchat", "#ops", "nobody"),
        ("email", "ops@example.org", "disk"),
        ("pager", "x", "disk"),
        ("teamchat", "#ops", "a b"),
    ],
)
def test_what_cannot_be_withdrawn_is_a_failure_with_its_reason(wired: Cli, channel: str, target: str, key: str):
    done = wired("withdraw", channel, target, key)
    assert done.code == 1
    assert done.err.strip()


# --- what takes time


def test_one_wait_that_the_provider_asks_for_is_honoured(wired: Cli, town: StandinCluster):
    town.teamchat.faults.push(Fault.rate_limited(1))
    assert wired("send", "teamchat", "#ops", "hello").code == 0
    assert [item.text for item in town.recorder.of("teamchat")] == ["hello"]


def test_a_wait_that_is_too_long_fails_at_once_with_the_seconds(wired: Cli, town: StandinCluster):
    town.teamchat.faults.push(Fault.rate_limited(31))
    requests = town.teamchat.requests
    done = wired("send", "teamchat", "#ops", "hello")
    assert done.code == 1
    assert "31 s" in done.err
    assert town.teamchat.requests == requests + 1


@pytest.mark.parametrize("queued", [False, True], ids=["by a direct send", "by the queue"])
def test_a_throttled_send_and_a_held_one_give_one_piece_of_advice(wired: Cli, town: StandinCluster, queued: bool):
    # More than once: a direct send waits for no slow store, so it may not hear of the hold and ask the provider.
    town.guildchat.faults.push(Fault.rate_limited(120, scope="global"), times=3)
    send = ("send", "discord", "100000000000000002", "hello")
    if queued:
        wired(*send, "--queue")
        with wired.running("worker") as child:
            until(lambda: wired("deliveries", "list", "--json").json()[0]["error"])
            end(child)
    for _ in range(2):
        told, advice = wired(*send).err.removesuffix("\n").split("\n")
        assert re.fullmatch(
            "  hint: no part was sent: retry in [0-9.]+ s, or add --queue to have it retried automatically", advice
        )
        assert "again" not in told
        assert "queue" not in told


def test_a_lost_answer_is_an_unknown_outcome_and_nothing_is_sent_again(wired: Cli, town: StandinCluster):
    town.teamchat.faults.push(Fault.reset_after_accept())
    done = wired("send", "teamchat", "#ops", "hello")
    assert done.code == 1
    assert "outcome unknown" in done.err
    assert len(town.recorder.of("teamchat")) == 1


def test_a_provider_that_cannot_be_reached_is_a_sentence(wired: Cli, free_port: int):
    done = wired("send", "teamchat", "#ops", "hello", env={"TEAMCHAT_API_URL": f"http://127.0.0.1:{free_port}"})
    assert done.code == 1
    assert mentions(done.err, f"127.0.0.1:{free_port}", "Connection refused")


def test_plain_http_to_a_public_address_is_refused_before_the_token_travels(wired: Cli):
    done = wired("send", "teamchat", "#ops", "hello", env={"TEAMCHAT_API_URL": "http://teamchat.example.com"})
    assert done.code == 1
    assert "TEAMCHAT_API_URL" in done.err


def test_commands_at_the_same_time_share_the_data_directory(wired: Cli, town: StandinCluster):
    children = [
        subprocess.Popen([TOCSIN, "send", "teamchat", "#ops", f"message {n}"], env=wired.env, stdout=subprocess.DEVNULL)
        for n in range(6)
    ]
    assert [child.wait(PATIENCE_S) for child in children] == [0] * 6
    assert len(town.recorder.of("teamchat")) == 6
    assert wired("audit", "verify").out.startswith("ok: 6 ")
