"""Requests to doors: taken, refused, and stored before they are answered."""

import gzip
import sqlite3

import pytest
from tests.features.doors.conftest import TEST, FrontBench, gzip_bomb

from tocsin.core.storage.database import DatabaseError
from tocsin.core.text.redaction import MASK
from tocsin.messaging.inbound.model import Backlog


async def test_a_json_body_becomes_a_message_of_the_profile(front: FrontBench):
    address = await front.add()
    body = {"title": "Disk full", "message": "/var has 1 % left", "level": "warning", "url": "https://example.org/d"}

    answer = await front.post(f"/in/{address.token}", body)
    [sent] = await front.work()

    assert (answer.status, answer.json()["status"]) == (200, "accepted")
    assert (sent.channel, sent.target, sent.message) == ("echo", "alerts", "/var has 1 % left")
    assert sent.content == {
        "title": "Disk full",
        "type": "warning",
        "priority": 4,
        "click": "https://example.org/d",
    }


async def test_the_answer_comes_after_the_commit_and_before_the_worker(front: FrontBench):
    address = await front.add()

    answer = await front.post(f"/in/{address.token}", {"message": "kept"})

    assert answer.status == 200
    assert await front.deliveries() == []
    front.open()  # another process takes over
    assert [each.message for each in await front.work()] == ["kept"]


async def test_a_request_that_was_queued_but_not_noted_is_not_sent_twice(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", {"message": "once"})
    await front.work()
    database = front.bench.app.stores.database
    body = b'{"message": "once"}'
    facts = '{"method": "POST", "route": "", "path": {}, "query": {}, "headers": {}}'

    def forget(connection: sqlite3.Connection) -> None:  # as if the process had died in between
        connection.execute("UPDATE door_requests SET state = 'stored', facts = ?, body = ?", [facts, body])

    await database.write(forget)
    front.open()

    assert len(await front.work()) == 1


@pytest.mark.parametrize(
    ("body", "headers", "text"),
    [
        (b"text=hello&level=error", (("Content-Type", "application/x-www-form-urlencoded"),), "hello"),
        (b"It works", (("Content-Type", "application/x-www-form-urlencoded"),), "It works"),
        (b"plain", (), "plain"),
        (b"gr\xfc\xdfe", (("Content-Type", "text/plain; charset=latin-1"),), "grüße"),
        (b"\xff\xfe", (("Content-Type", "text/plain; charset=nonsense"),), "\ufffd\ufffd"),
        (b'{"message": "no type"}', (), "no type"),
        (b'{"message": "cut o', (("Content-Type", "application/json"),), '{"message": "cut o'),
        (gzip.compress(b'{"message": "packed"}', mtime=0), (("Content-Encoding", "gzip"),), "packed"),
        (
            b'--x\r\nContent-Disposition: form-data; name="payload"\r\n\r\n{"message": "in a form"}\r\n--x--\r\n',
            (("Content-Type", "multipart/form-data; boundary=x"),),
            "in a form",
        ),
    ],
)
async def test_a_body_of_any_kind_is_taken(front: FrontBench, body: bytes, headers: tuple, text: str):
    address = await front.add()

    assert (await front.post(f"/in/{address.token}", body, *headers)).status == 200

    assert [each.message for each in await front.work()] == [text]


async def test_what_is_not_valid_json_is_sent_as_text_with_a_note(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", b'{"message": "cut o', ("Content-Type", "application/json"))
    await front.work()

    assert "not valid JSON" in (await front.last()).note


async def test_a_body_nested_too_deeply_is_text(front: FrontBench):
    address = await front.add()
    for depth in (60, 100_000):
        body = b"[" * depth + b"]" * depth
        assert (await front.post(f"/in/{address.token}", body)).status == 200
    await front.work()

    assert (await front.last()).state == "sent"


async def test_a_token_of_no_door_is_refused(front: FrontBench):
    await front.add()

    assert (await front.post("/in/nonsense", {"message": "x"})).status == 404
    assert await front.work() == []


async def test_a_removed_door_refuses_at_once_and_sends_what_it_took(front: FrontBench):
    address = await front.add()
    await front.post(f"/in/{address.token}", {"message": "before"})
    await front.doors.remove("alerts", TEST)

    assert (await front.post(f"/in/{address.token}", {"message": "after"})).status == 404
    assert [each.message for each in await front.work()] == ["before"]


async def test_a_name_is_free_again_after_a_removal(front: FrontBench):
    first = await front.add()
    await front.doors.remove("alerts", TEST)
    second = await front.add()

    assert first.token != second.token


async def test_only_listed_addresses_may_send(front: FrontBench):
    address = await front.add(sources=["10.0.0.0/8", "::1"])

    assert (await front.post(f"/in/{address.token}", b"x", peer="192.0.2.1")).status == 403
    assert (await front.post(f"/in/{address.token}", b"x", peer="10.1.2.3")).status == 200


async def test_beyond_the_limit_of_a_door_senders_are_asked_to_retry(front: FrontBench):
    address = await front.add(rate=2)

    answers = [await front.post(f"/in/{address.token}", b"x") for _ in range(3)]

    assert [each.status for each in answers] == [200, 200, 503]
    assert answers[2].header("retry-after") == "30"


async def test_a_store_that_fails_is_a_503_with_retry_after(front: FrontBench):
    address = await front.add()
    await front.bench.app.stores.database.aclose()

    answer = await front.post(f"/in/{address.token}", b"x")

    assert answer.status == 503
    assert answer.header("retry-after")
    with pytest.raises(DatabaseError):
        await front.doors.all()


@pytest.mark.parametrize("packed", [False, True], ids=["large", "bomb"])
async def test_a_body_that_is_too_large_is_refused(front: FrontBench, packed: bool):
    address = await front.add()
    body = gzip_bomb() if packed else b"x" * (8 * 1024 * 1024 + 1)

    answer = await front.post(f"/in/{address.token}", body, *([("Content-Encoding", "gzip")] if packed else []))

    assert answer.status == 413
    assert (await front.last()).state == "refused"


async def test_a_body_that_was_cut_off_is_not_stored(front: FrontBench):
    address = await front.add()

    await front.client.request("POST", f"/in/{address.token}", body=[b'{"message": ', b'"x"}'], cut_off=True)

    assert await front.work() == []


@pytest.mark.parametrize("header", ["X-GitHub-Delivery", "webhook-id", "Idempotency-Key"])
async def test_a_repeated_delivery_is_one_message(front: FrontBench, header: str):
    address, other = await front.add(), await front.add("other")

    answers = [await front.post(f"/in/{address.token}", {"message": "x"}, (header, "42")) for _ in range(3)]
    await front.post(f"/in/{other.token}", {"message": "x"}, (header, "42"))

    assert len({each.json()["id"] for each in answers}) == 1
    assert len(await front.work()) == 2


async def test_a_get_without_a_message_only_tries_the_address(front: FrontBench):
    address = await front.add()

    assert (await front.client.get(f"/in/{address.token}")).json() == {"status": "ready", "door": "alerts"}
    assert (await front.client.get("/in/nonsense")).status == 404
    assert (await front.client.get(f"/in/{address.token}?msg=by+query")).status == 200
    assert [each.message for each in await front.work()] == ["by query"]


async def test_neither_a_token_nor_a_secret_is_stored_with_a_request(front: FrontBench):
    address = await front.add(secret="correct horse")
    headers = (("Authorization", "Bearer correct horse"), ("X-Note", f"see {address.token}"))
    answer = await front.post(f"/in/{address.token}?t={address.token}", {"message": "correct horse"}, *headers)
    assert answer.status == 200

    def facts(connection: sqlite3.Connection) -> str:
        return str(connection.execute("SELECT facts FROM door_requests").fetchone()["facts"])

    stored = await front.bench.app.stores.database.read(facts)
    await front.work()

    assert address.token not in stored
    assert "correct horse" not in stored
    assert MASK in (await front.last()).payload


async def test_an_unknown_profile_is_told_to_the_operator_with_the_message(front: FrontBench, tmp_path):
    address = await front.add(profile="quiet")
    (tmp_path / "profiles.yaml").write_text("oncall:\n- {channel: echo, target: alerts}\n")
    await front.post(f"/in/{address.token}", {"message": "important"})
    await front.work()

    last = await front.last()
    assert (last.state, "Unknown profile" in last.note) == ("failed", True)
    assert "important" in front.bench.notices[0].body


async def test_what_a_problem_sends_is_edited_and_a_new_problem_is_a_new_message(front: FrontBench):
    address = await front.add()
    for status in ("error", "error", "ok", "error"):
        await front.post(f"/in/{address.token}", {"message": f"it is {status}", "status": status, "id": "db"})
    sent = await front.work()

    keys = [each.key for each in sent]
    assert (len(set(keys)), keys[0] == keys[1] == keys[2]) == (2, True)


async def test_a_target_with_on_resolve_message_gets_a_new_one_at_the_end(front: FrontBench, tmp_path):
    (tmp_path / "profiles.yaml").write_text("oncall:\n- {channel: echo, target: alerts, on_resolve: message}\n")
    address = await front.add()
    for status in ("error", "ok"):
        await front.post(f"/in/{address.token}", {"message": f"it is {status}", "status": status, "id": "db"})
    first, second = await front.work()

    assert (bool(first.key), second.key) == (True, "")


async def test_logs_and_metrics_show_the_template_of_a_path(front: FrontBench, caplog: pytest.LogCaptureFixture):
    address = await front.add()
    caplog.set_level("DEBUG")
    await front.post(f"/in/{address.token}", {"message": "x"})
    await front.work()

    assert address.token not in caplog.text
    exposed = front.metrics.text({}, Backlog(), front.clock.now()).decode()
    assert (address.token in exposed, "/in/{token}" in exposed) == (False, True)
