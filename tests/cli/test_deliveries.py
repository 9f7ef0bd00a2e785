"""deliveries, publish, worker, and what `--queue` does."""

import json
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, end
from tests.delivery.conftest import RedisServer
from tests.facts import mentions
from tests.waiting import PATIENCE_S

from tocsin.messaging.outbound.idempotency import LEASE_S
from tocsin_standins import Fault, StandinCluster

Until = Callable[[Callable[[], Any]], Any]
UNKNOWN = "019a0f5c-4b1e-7c3a-9f10-2b8d7c6e5f40"
FIELDS = [
    "id", "channel", "target", "message", "source", "status", "policy", "attempts", "next_attempt_at", "not_before",
    "expires_at", "idempotency_key", "parts_sent", "parts_total", "provider_id", "error", "error_class", "created_at",
    "finished_at", "duration_ms", "dismissed",
    "key", "operation", "revision", "note", "thread", "content", "format",
]  # fmt: skip
STATES = ["queued", "sending", "retry_wait", "sent", "dead", "uncertain", "cancelled", "expired", "superseded"]
# Nothing of the tests' machine: a Redis at the usual address is somebody else's.
OFF = {"REDIS_URL": "off"}


@pytest.fixture
def wired(tmp_path: Path, town: StandinCluster) -> Cli:
    return Cli(tmp_path, {**town.environment(), **OFF})


def queue(cli: Cli, message: str = "hello", channel: str = "teamchat", target: str = "#ops") -> str:
    done = cli("send", channel, target, message, "--queue", "--json")
    assert done.code == 0, done.err
    return str(done.json()["id"])


def test_a_channel_that_there_is_not_is_wrong_usage_with_the_likely_one(cli: Cli):
    done = cli("deliveries", "list", "--channel", "slakc", "--json")
    assert done.code == 2
    assert (done.json()["code"], done.json()["error"]) == ("wrong-usage", "--channel: unknown channel slakc")
    assert mentions(done.err, "tocsin deliveries list", "--channel", "slakc", "discord", "'slack'")


def listed(cli: Cli, *options: str) -> list[dict[str, Any]]:
    done = cli("deliveries", "list", "--json", *options)
    assert (done.code, done.err) == (0, "")
    return list(done.json())


# --- send --queue, notify --queue


def test_a_queued_message_is_told_with_its_id_and_not_sent(wired: Cli, town: StandinCluster):
    done = wired("send", "slack", "#ops", "hello", "--queue")
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()
    (delivery,) = listed(wired)
    assert first == f"queued on Slack to #ops as {delivery['id']}"
    assert "worker" in second
    assert (delivery["status"], delivery["source"], delivery["message"]) == ("queued", "cli", "hello")
    assert town.recorder.of() == []
    (entry,) = wired.audit_log()
    assert (entry["action"], entry["source"], entry["metadata"]["delivery"]) == ("msg.queue", "cli", delivery["id"])
    assert "hello" not in (wired.data_dir / "audit.log").read_text()


def test_a_queued_message_as_json_is_the_delivery(wired: Cli):
    done = wired("--json", "send", "teamchat", "#ops", "-", "--queue", stdin=b"from a pipe\n")
    assert (done.code, done.err) == (0, "")
    assert list(done.json()) == FIELDS
    assert (done.json()["message"], done.json()["status"]) == ("from a pipe", "queued")


@pytest.mark.parametrize(
    "words", [("smoke", "#ops", "hello"), ("teamchat", "", "hello"), ("teamchat", "#ops", " "), ("devicemsg", "1", "x")]
)
def test_what_a_direct_send_refuses_is_refused_with_the_same_reason(wired: Cli, words: tuple[str, ...]):
    direct, queued = wired("send", *words, "--json"), wired("send", *words, "--queue", "--json")
    assert (direct.code, queued.code) == (1, 1)
    reason = queued.json()
    assert reason["ok"] is False
    assert direct.json()["error"].startswith(reason["error"])
    assert reason["hint"] in direct.json()["error"]
    assert [entry["action"] for entry in wired.audit_log()] == ["msg.send"]


def test_a_profile_is_queued_as_far_as_it_can_be(wired: Cli, town: StandinCluster):
    wired.write_profiles(
        "oncall:\n- {channel: teamchat, target: '#ops'}\n- {channel: devicemsg, target: '+15551234567'}\n"
    )
    done = wired("notify", "oncall", "hello", "--queue", "--json")
    assert done.code == 1
    outcome = done.json()
    assert (outcome["ok"], outcome["sent"], outcome["failed"]) == (False, 1, 1)
    (delivery,) = listed(wired)
    assert outcome["results"][0]["message"] == f"delivery={delivery['id']}"
    assert outcome["results"][1]["error"].startswith("Unknown channel: devicemsg")
    assert town.recorder.of() == []
    assert [entry["action"] for entry in wired.audit_log()] == ["msg.queue"]


def test_a_queued_profile_is_told_in_a_table(wired: Cli):
    wired.write_profiles("oncall:\n- {channel: teamchat, target: '#ops'}\n")
    done = wired("notify", "oncall", "hello", "--queue")
    assert (done.code, done.err) == (0, "")
    assert "queued (delivery=" in done.out.splitlines()[1]


# --- deliveries


def test_deliveries_are_listed_newest_first_in_a_table(wired: Cli):
    first = queue(wired, "one")
    wired("send", "teamchat", "#nowhere", "two")
    done = wired("deliveries", "list")
    assert (done.code, done.err) == (0, "")
    head, newest, oldest = done.out.splitlines()
    assert head.split() == ["id", "created", "channel", "target", "status", "tries", "next", "try", "outcome"]
    assert oldest.split()[0] == first.rpartition("-")[2][:8]
    assert oldest.split()[3:7] == ["Slack", "#ops", "queued", "0"]
    assert newest.split()[3:7] == ["Slack", "#nowhere", "dead", "1"]
    assert "channel_not_found" in newest


def test_an_empty_list_is_no_error(cli: Cli):
    assert cli("deliveries", "list", "--json").json() == []
    done = cli("deliveries", "list")
    assert (done.code, done.out, done.err.count("\n")) == (0, "", 1)


def test_direct_sends_and_every_filter_show_in_the_list(wired: Cli):
    queued = queue(wired, "disk alarm")
    other = queue(wired, "disk is back", "botchat", "1001")
    wired("send", "teamchat", "#nowhere", "disk lost")
    dead, *_ = (delivery["id"] for delivery in listed(wired))
    asked = {
        ("--since", "2001-01-01", "--limit", "1000"): [dead, other, queued],
        ("--channel", "Telegram", "--search", "dis ba"): [other],
        ("--channel", "discord"): [],
        ("--status", "queued", "--target", "#ops"): [queued],
        ("--since", "9999-01-01T00:00:00Z"): [],
        ("-n", "2"): [dead, other],
    }
    assert {options: [d["id"] for d in listed(wired, *options)] for options in asked} == asked


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--status", "lost"),
        ("list", "--since", "yesterday"),
        ("list", "--since", "nan"),
        ("list", "--since", "1e300"),
        ("list", "-n", "0"),
        ("list", "-n", "1001"),
        ("list", "-n", "ten"),
        ("list", "-n", "²"),
        ("list", "-n", "0000001000000000"),
        ("list", "stray"),
        ("show",),
        ("cancel",),
        ("replay", "a", "b"),
        ("forget", UNKNOWN),
        (),
    ],
)
def test_wrong_usage_is_exit_code_2(cli: Cli, words: tuple[str, ...]):
    done = cli("deliveries", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err


@pytest.mark.parametrize("name", ["show", "replay", "dismiss", "retry", "cancel"])
@pytest.mark.parametrize("id_", [UNKNOWN, "x", b"\xff\xfe", ""])
def test_an_unknown_id_is_exit_code_1_with_a_hint(cli: Cli, name: str, id_: str | bytes):
    done = cli("deliveries", name, id_)
    assert (done.code, done.out) == (1, "")
    assert "tocsin deliveries list" in done.err
    assert cli.audit_log() == []


def test_one_delivery_is_shown_with_all_that_is_known(wired: Cli):
    id_ = queue(wired, "two\nlines \x1b[31m")
    assert list(wired("deliveries", "show", id_, "--json").json()) == FIELDS
    done = wired("deliveries", "show", id_)
    assert done.code == 0
    rows = dict(line.split(maxsplit=1) if " " in line else (line, "") for line in done.out.splitlines())
    assert list(rows) == ["field", *FIELDS]
    assert (rows["id"], rows["status"]) == (id_, "queued")
    assert rows["message"] == "two lines \\u001b[31m", "no message drives the terminal"


def test_what_waits_is_cancelled_and_replayed_with_one_entry_each(wired: Cli):
    id_ = queue(wired)
    assert wired("deliveries", "cancel", id_, "--json").json()["status"] == "cancelled"
    refused = wired("deliveries", "cancel", id_)
    assert (refused.code, refused.out) == (1, "")
    assert f"delivery {id_} is cancelled" in refused.err
    assert wired("deliveries", "replay", id_, "--json").json()["status"] == "queued"
    assert wired("deliveries", "replay", id_, "--json").json()["code"] == "invalid-transition"
    assert [(entry["action"], entry["source"]) for entry in wired.audit_log()] == [
        ("msg.queue", "cli"),
        ("msg.cancel", "cli"),
        ("msg.replay", "cli"),
    ]


def test_only_what_ended_unsent_is_dismissed_with_one_entry(wired: Cli):
    id_ = queue(wired)
    refused = wired("deliveries", "dismiss", id_)
    assert (refused.code, mentions(refused.err, "dead", "uncertain")) == (1, True)
    wired("send", "email", "no address", "hello")
    [failed] = wired("deliveries", "list", "--status", "dead", "--json").json()
    assert failed["dismissed"] is True
    assert wired("deliveries", "dismiss", failed["id"], "--json").json()["status"] == "dead"
    assert [entry["action"] for entry in wired.audit_log()] == ["msg.queue", "msg.send", "msg.dismiss"]


def test_every_command_takes_the_short_id_that_the_list_shows(wired: Cli):
    id_ = queue(wired)
    short = wired("deliveries", "list").out.splitlines()[1].split()[0]
    assert len(short) == 8
    assert wired("deliveries", "show", short, "--json").json()["id"] == id_
    assert wired("deliveries", "show", id_[:-1].upper(), "--json").json()["id"] == id_
    assert wired("deliveries", "cancel", short, "--json").json()["status"] == "cancelled"
    assert wired("deliveries", "replay", short, "--json").json()["status"] == "queued"
    refused = wired("deliveries", "retry", short)
    assert f"delivery {id_} is queued" in refused.err


def test_a_short_id_of_several_deliveries_is_an_error_that_names_them(wired: Cli):
    ids = [queue(wired, str(n)) for n in range(2)]
    done = wired("deliveries", "cancel", "01")
    assert (done.code, done.out) == (1, "")
    assert "01" in done.err
    assert all(id_ in done.err for id_ in ids)
    assert wired("deliveries", "counts", "--json").json()["queued"] == 2


def test_what_waits_is_listed_with_its_next_try_and_tried_now(wired: Cli):
    id_ = queue(wired)
    with closing(sqlite3.connect(wired.data_dir / "tocsin.db")) as database:
        database.execute(
            "UPDATE deliveries SET status = 'retry_wait', error = 'HTTP 502', due_mono = 1e12, next_attempt_at = ?",
            [time.time() + 3 * 3600 + 60],
        )
        database.commit()
    assert "in 3 h" in wired("deliveries", "list").out.splitlines()[1]
    assert wired("deliveries", "retry", id_[-12:], "--json").json()["status"] == "retry_wait"
    assert "now" in wired("deliveries", "list").out.splitlines()[1].split()
    assert [entry["action"] for entry in wired.audit_log()] == ["msg.queue", "msg.retry"]


def test_deliveries_are_counted_by_state(wired: Cli):
    queue(wired)
    wired("send", "teamchat", "#ops", "x")
    counts = wired("deliveries", "counts", "--json").json()
    assert list(counts) == STATES
    assert {state: n for state, n in counts.items() if n} == {"queued": 1, "sent": 1}
    rows = [line.split() for line in wired("deliveries", "counts").out.splitlines()]
    assert rows == [["status", "deliveries"], *([state, str(n)] for state, n in counts.items())]


@pytest.mark.parametrize(
    "words", [(), ("list",), ("show",), ("replay",), ("dismiss",), ("retry",), ("cancel",), ("counts",)]
)
def test_every_help_has_an_example(cli: Cli, words: tuple[str, ...]):
    done = cli("deliveries", *words, "--help")
    assert done.code == 0
    assert "tocsin deliveries" in done.out


# --- the record


@pytest.mark.parametrize("message", [b"caf\xe9", "\ufeffx\u2028y"])
def test_a_send_is_recorded_whatever_its_text(wired: Cli, message: str | bytes):
    assert wired("send", "teamchat", "#ops", message).code == 0
    assert [delivery["status"] for delivery in listed(wired)] == ["sent"]


def test_a_database_that_is_none_fails_no_direct_send_but_refuses_to_queue(wired: Cli, town: StandinCluster):
    wired.data_dir.mkdir()
    (wired.data_dir / "tocsin.db").write_bytes(b"this is no database" * 1000)
    direct = wired("send", "teamchat", "#ops", "hello")
    assert direct.code == 0
    assert direct.out.startswith("sent on Slack")
    assert direct.err
    assert len(town.recorder.of()) == 1
    for words in (("send", "teamchat", "#ops", "x", "--queue"), ("deliveries", "list"), ("deliveries", "counts")):
        done = wired(*words)
        assert (done.code, done.out) == (1, "")


# --- publish


def test_without_redis_a_published_message_is_in_the_queue(wired: Cli):
    done = wired("publish", "slack", "#ops", "hello")
    assert (done.code, done.err) == (0, "")
    (delivery,) = listed(wired)
    assert done.out == f"published: queue {delivery['id']}\n"
    assert (delivery["channel"], delivery["message"], delivery["source"]) == ("teamchat", "hello", "cli")


def test_with_a_redis_that_is_gone_a_published_message_is_in_the_queue(wired: Cli, free_port: int):
    done = wired("publish", "teamchat", "#ops", "-", "--json", stdin=b"hello\n",
                 env={"REDIS_URL": f"redis://127.0.0.1:{free_port}"})  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.json() == {"published": f"queue {listed(wired)[0]['id']}"}


def test_with_redis_a_published_message_is_on_the_stream_and_a_worker_sends_it(
    wired: Cli, town: StandinCluster, private_redis: RedisServer, until: Until
):
    env = {"REDIS_URL": private_redis.url}
    done = wired("publish", "teamchat", "#ops", "hello", env=env)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("published: outbound:teamchat ")
    assert private_redis.ask("XLEN", "outbound:teamchat") == ":1"
    assert listed(wired) == []
    with wired.running("worker", env=env) as child:
        until(lambda: town.recorder.of("teamchat"))
        until(lambda: private_redis.ask("XLEN", "outbound:teamchat") == ":0")
        assert end(child)[0] == 0
    assert [item.text for item in town.recorder.of()] == ["hello"]
    assert [delivery["status"] for delivery in listed(wired)] == ["sent"]
    assert [(entry["action"], entry["source"]) for entry in wired.audit_log()] == [
        ("msg.queue", "bus"),
        ("msg.send", "queue"),
    ]


def test_a_published_file_waits_on_the_bus_and_is_sent_by_the_worker_that_takes_it(
    wired: Cli, town: StandinCluster, private_redis: RedisServer, until: Until
):
    env, path = {"REDIS_URL": private_redis.url, "STORE": "redis"}, wired.home / "df.log"
    path.write_bytes(b"91 %")
    done = wired("publish", "teamchat", "#ops", "full", "--attach", str(path), env=env)
    assert (done.code, done.err) == (0, "")
    path.unlink()
    assert private_redis.ask("XLEN", "outbound:teamchat") == ":1"
    with wired.running("worker", env={**env, "TOCSIN_DATA_DIR": str(wired.home / "another host")}) as child:
        until(lambda: list(town.teamchat.files.values()) == [b"91 %"])
        assert end(child)[0] == 0


@pytest.mark.parametrize(("words", "attach"), [((), None), (("--no-files",), [])])
def test_an_edit_says_whether_it_removes_the_files_of_its_message(
    wired: Cli, words: tuple[str, ...], attach: list[object] | None
):
    assert wired("send", "teamchat", "#ops", "full", "--key", "disk", *words, "--queue").code == 0
    assert listed(wired)[0]["content"].get("attach") == attach


def test_files_are_attached_or_removed_and_not_both(wired: Cli):
    assert wired("send", "teamchat", "#ops", "full", "--attach", "a.log", "--no-files").code == 2


@pytest.mark.parametrize("words", [("smoke", "#ops", "x"), ("teamchat", "", "x"), ("teamchat", "#ops", "")])
def test_what_could_never_be_sent_is_not_published(wired: Cli, words: tuple[str, ...]):
    done = wired("publish", *words)
    assert (done.code, done.out) == (1, "")
    assert listed(wired) == []


# --- worker


def test_a_worker_sends_what_was_queued_before_and_while_it_runs(wired: Cli, town: StandinCluster, until: Until):
    first = queue(wired, "one")
    wired("send", "teamchat", "#ops", "two", "--queue")
    with wired.running("worker") as child:
        until(lambda: len(town.recorder.of("teamchat")) == 2)
        queue(wired, "three", "email", "ops@example.org")
        until(lambda: town.recorder.of("email"))
        until(lambda: wired("deliveries", "counts", "--json").json()["sent"] == 3)
        assert end(child)[0] == 0
    assert [item.text for item in town.recorder.of()] == ["one", "two", "three"]
    shown = wired("deliveries", "show", first, "--json").json()
    assert (shown["status"], shown["attempts"], shown["parts_sent"]) == ("sent", 1, 1)
    assert shown["provider_id"].startswith("ts=")
    actions = [entry["action"] for entry in wired.audit_log()]
    assert sorted(actions) == ["msg.queue"] * 3 + ["msg.send"] * 3


def test_a_cancelled_message_is_not_sent(wired: Cli, town: StandinCluster, until: Until):
    wired("deliveries", "cancel", queue(wired, "not this"))
    queue(wired, "but this")
    with wired.running("worker") as child:
        until(lambda: town.recorder.of("teamchat"))
        assert end(child)[0] == 0
    assert [item.text for item in town.recorder.of()] == ["but this"]


def test_a_worker_without_slots_is_refused_with_the_setting(wired: Cli):
    done = wired("worker", env={"DELIVERY_WORKERS": "0"})
    assert (done.code, done.out) == (2, "")
    assert "DELIVERY_WORKERS=0" in done.err
    assert "1 or more" in done.err


# --- the queue in Redis


def test_the_same_commands_work_with_the_queue_in_redis(
    wired: Cli, town: StandinCluster, private_redis: RedisServer, until: Until
):
    wired.env |= {"REDIS_URL": private_redis.url, "STORE": "redis"}
    id_ = queue(wired, "hello")
    assert [delivery["id"] for delivery in listed(wired, "--status", "queued", "--search", "hel")] == [id_]
    assert wired("deliveries", "cancel", id_, "--json").json()["status"] == "cancelled"
    assert wired("deliveries", "replay", id_, "--json").json()["status"] == "queued"
    assert wired("deliveries", "show", UNKNOWN).code == 1
    with wired.running("worker") as child:
        until(lambda: wired("deliveries", "counts", "--json").json()["sent"] == 1)
        assert end(child)[0] == 0
    assert [item.text for item in town.recorder.of()] == ["hello"]
    private_redis.kill()
    done = wired("deliveries", "list")
    assert (done.code, done.out) == (1, "")
    assert "Redis" in done.err
    assert wired("send", "teamchat", "#ops", "direct").code == 0


def test_a_queue_in_redis_without_a_redis_is_wrong_configuration(wired: Cli):
    done = wired("deliveries", "list", env={"STORE": "redis"})
    assert done.code == 2
    assert "REDIS_URL" in done.err


# --- a gateway that is killed


def begin_post(port: int, **headers: str) -> socket.socket:
    """Post a message and do not wait for the answer."""
    body = json.dumps({"channel": "teamchat", "target": "#ops", "message": "hello"})
    lines = [
        "POST /send HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
    return connection


def post(port: int, **headers: str) -> tuple[int, bytes, dict[str, Any]]:
    """Post a message; return the status, the head and the document of the answer."""
    with begin_post(port, **headers) as connection:
        raw = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = raw.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.lower(), json.loads(body)


def is_open(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S):
        return True
    return False


def set_leases(cli: Cli, ending: float) -> None:
    """Let the ten seconds, after which a key of a dead service is free, end at a time of the monotonic clock."""
    with closing(sqlite3.connect(cli.data_dir / "tocsin.db")) as connection, connection:
        connection.execute("UPDATE idempotency SET lease_until = ?", [ending])


def test_a_direct_send_during_which_the_gateway_is_killed_is_never_sent_again(
    wired: Cli, town: StandinCluster, free_port: int, until: Until
):
    env = {"GATEWAY_PORT": str(free_port)}
    town.teamchat.faults.push(Fault.stall(20))
    with wired.running("gateway", env=env) as child:
        until(lambda: is_open(free_port))
        with begin_post(free_port, Idempotency_Key="k"):
            until(lambda: town.recorder.of("teamchat"))
            child.kill()
            child.wait()
    with wired.running("gateway", env=env) as child:
        until(lambda: is_open(free_port))
        set_leases(wired, time.monotonic() + LEASE_S)  # however long the start took
        assert post(free_port, Idempotency_Key="k")[0] == 409
        set_leases(wired, 0)
        status, head, first = post(free_port, Idempotency_Key="k")
        assert (status, first["ok"], b"idempotent-replayed" in head) == (504, False, False)
        assert "outcome unknown" in first["error"]
        status, head, again = post(free_port, Idempotency_Key="k")
        assert (status, again, b"idempotent-replayed: true" in head) == (504, first, True)
        assert end(child)[0] == 0
    assert len(town.recorder.of("teamchat")) == 1


def test_a_queued_message_outlives_a_kill_right_after_its_answer_and_its_key_too(
    wired: Cli, town: StandinCluster, free_port: int, until: Until
):
    env = {"GATEWAY_PORT": str(free_port)}
    headers = {"Prefer": "respond-async", "Idempotency_Key": "k"}
    with wired.running("gateway", env={**env, "DELIVERY_WORKERS": "0"}) as child:
        until(lambda: is_open(free_port))
        status, _, first = post(free_port, **headers)
        child.kill()
    assert (status, first["status"]) == (202, "queued")
    with wired.running("gateway", env=env) as child:
        until(lambda: town.recorder.of("teamchat"))
        until(lambda: is_open(free_port))
        status, head, again = post(free_port, **headers)
        assert (status, again, b"idempotent-replayed: true" in head) == (202, first, True)
        assert f"location: /deliveries/{first['id']}".encode() in head
        until(lambda: wired("deliveries", "show", first["id"], "--json").json()["status"] == "sent")
        assert end(child)[0] == 0
    assert len(town.recorder.of("teamchat")) == 1
