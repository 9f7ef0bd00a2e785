"""POST /send with title, urgency, links and mentions, and to a profile (docs/messages.md)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.web.asgi_client import Answer
from tests.web.conftest import GOOD, Gateway, MakeGateway, accepted
from tests.web.test_send import FIELDS, check_problem

from tocsin.core.http.transport import HttpResponse
from tocsin.delivery.dispatcher import channel_rules
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus

FULL = GOOD | {"title": "web1", "priority": "high", "type": "warning", "mention": "@here"}
ASYNC = ("Prefer", "respond-async")
REFUSED = HttpResponse(200, {}, b'{"ok": false, "error": "not_in_channel"}')


def profiles(folder: Path, *targets: str) -> None:
    """Write the profile `oncall` with targets on Slack."""
    entries = "".join(f'  - {{channel: slack, target: "{target}"}}\n' for target in targets)
    (folder / "profiles.yaml").write_text(f"oncall:\n{entries}")


def wire(gateway: Gateway) -> list[dict[str, Any]]:
    return [json.loads(sent.body) for sent in gateway.transport.sent]


def errors(answer: Answer) -> dict[str, str]:
    return {each["pointer"]: each["code"] for each in check_problem(answer, 422, "validation-failed")["errors"]}


async def test_a_message_with_fields_answers_like_a_plain_one_and_the_product_gets_them(gateway: Gateway):
    answer = await gateway.client.send(FULL)
    assert (answer.status, list(answer.json())) == (200, FIELDS)
    [body] = wire(gateway)
    assert body["blocks"][0]["text"]["text"] == "❗ web1"
    assert body["attachments"][0]["color"] == "#ECB22E"


async def test_each_wrong_field_is_pointed_at(gateway: Gateway):
    bad = GOOD | {"title": "a\nb", "priority": 9, "actions": [{"label": "x"}], "click": "ftp://x", "loud": True}
    assert set(errors(await gateway.client.send(bad))) == {
        "#/title",
        "#/priority",
        "#/actions/0/url",
        "#/click",
        "#/loud",
    }
    assert gateway.transport.sent == []


@pytest.mark.parametrize(("name", "given", "wrapped"), [("format", "plain", False), ("parse_mode", "mrkdwn", None)])
async def test_the_format_of_a_text_has_two_names(gateway: Gateway, name: str, given: str, wrapped: bool | None):
    assert (await gateway.client.send(GOOD | {name: given})).status == 200
    assert wire(gateway)[0].get("mrkdwn") is wrapped


@pytest.mark.parametrize(("alias", "status"), [("plain", 200), ("mrkdwn", 422)])
async def test_the_two_names_of_a_format_must_not_differ(gateway: Gateway, alias: str, status: int):
    answer = await gateway.client.send(GOOD | {"format": "plain", "parse_mode": alias})
    assert answer.status == status
    if status == 422:
        assert errors(answer) == {"#/parse_mode": "conflict"}
        assert gateway.transport.sent == []


async def test_a_queued_message_keeps_its_fields_and_shows_them(gateway: Gateway):
    answer = await gateway.client.send(FULL, ASYNC)
    assert answer.status == 202
    shown = (await gateway.client.get(f"/deliveries/{answer.json()['id']}")).json()
    assert shown["content"] == {"title": "web1", "priority": 4, "type": "warning", "mention": ["@here"]}


async def test_a_failed_direct_send_is_recorded_with_its_fields_so_that_a_replay_sends_them(gateway: Gateway):
    gateway.transport.script = [REFUSED]
    assert (await gateway.client.send(FULL | {"format": "plain"})).status == 422
    [kept] = (await gateway.client.get("/deliveries")).json()["items"]
    delivery = await gateway.app.outbox.get(kept["id"])
    assert (delivery.content["title"], delivery.parse_mode) == ("web1", "plain")


async def test_a_repeated_key_with_another_title_is_a_conflict(make_gateway: MakeGateway):
    gateway, key = make_gateway(), ("Idempotency-Key", "k1")
    gateway.transport.script = [accepted(), accepted()]
    assert (await gateway.client.send(FULL, key)).status == 200
    assert (await gateway.client.send(FULL, key)).header("idempotent-replayed") == "true"
    check_problem(await gateway.client.send(FULL | {"title": "web2"}, key), 422, "idempotency-key-reused")
    assert len(gateway.transport.sent) == 1


# --- to a profile


async def test_a_profile_answers_with_a_result_per_target(gateway: Gateway, tmp_path: Path):
    profiles(tmp_path, "#ops", "#dev")
    gateway.transport.script = [accepted(), accepted()]
    answer = await gateway.client.send({"profile": "oncall", "message": "hello", "title": "web1"})
    document = answer.json()
    assert (answer.status, document["ok"], document["profile"]) == (200, True, "oncall")
    assert [list(each) for each in document["results"]] == [FIELDS, FIELDS]
    assert [body["blocks"][0]["text"]["text"] for body in wire(gateway)] == ["web1", "web1"]


@pytest.mark.parametrize(("script", "status"), [([accepted(), REFUSED], 207), ([REFUSED, REFUSED], 422)])
async def test_the_status_says_what_became_of_the_targets(
    gateway: Gateway, tmp_path: Path, script: list[HttpResponse], status: int
):
    profiles(tmp_path, "#ops", "#dev")
    gateway.transport.script = list(script)
    answer = await gateway.client.send({"profile": "oncall", "message": "hello"})
    assert (answer.status, answer.json()["ok"]) == (status, False)


async def test_a_profile_is_queued_for_each_target_once_per_key(gateway: Gateway, tmp_path: Path):
    profiles(tmp_path, "#ops", "#dev")
    body = {"profile": "oncall", "message": "hello"}
    first = await gateway.client.send(body, ASYNC, ("Idempotency-Key", "k1"))
    again = await gateway.client.send(body, ASYNC, ("Idempotency-Key", "k1"))
    assert first.status == again.status == 202
    assert first.json() == again.json()
    assert len((await gateway.client.get("/deliveries")).json()["items"]) == 2


async def test_an_unknown_profile_is_not_found_and_a_profile_with_a_channel_is_refused(gateway: Gateway):
    check_problem(await gateway.client.send({"profile": "nobody", "message": "hello"}), 404, "not-found")
    assert errors(await gateway.client.send({"profile": "oncall", "channel": "slack", "message": "x"})) == {
        "#/channel": "unknown-key"
    }


@pytest.mark.parametrize("headers", [(), (ASYNC,), (("Idempotency-Key", "k1"),)])
async def test_a_profile_of_a_broken_file_is_not_ready_until_the_file_is_corrected(
    gateway: Gateway, tmp_path: Path, headers: tuple[tuple[str, str], ...]
):
    body = {"profile": "oncall", "message": "hello"}
    (tmp_path / "profiles.yaml").write_text("oncall:\n  - {chanel: slack, target: '#ops'}\n")
    detail = check_problem(await gateway.client.send(body, *headers), 503, "not-ready")["detail"]
    assert ("tocsin profiles" in detail, str(tmp_path) in detail) == (True, False)
    profiles(tmp_path, "#ops", "#dev")
    assert (await gateway.client.send(body, *headers)).status in {200, 202}


# --- with a key

EDITED = HttpResponse(200, {}, b'{"ok": true, "channel": "C0OPS", "ts": "1503435956.000247"}')


async def test_a_second_request_with_the_key_edits_the_message_directly(gateway: Gateway):
    gateway.transport.script = [EDITED, EDITED]
    for text in ("firing", "resolved"):
        assert (await gateway.client.send(GOOD | {"message": text, "key": "disk"})).status == 200
    assert [sent.url.rpartition("/")[2] for sent in gateway.transport.sent] == ["chat.postMessage", "chat.update"]
    newest, first = (await gateway.client.get("/deliveries")).json()["items"]
    assert [(each["operation"], each["revision"]) for each in (first, newest)] == [("send", 1), ("edit", 2)]


async def test_a_message_is_withdrawn_once_and_a_second_time_without_a_call(gateway: Gateway):
    gateway.transport.script = [EDITED, EDITED]
    assert (await gateway.client.send(GOOD | {"key": "disk"})).status == 200
    for _ in range(2):
        gone = await gateway.client.request("DELETE", "/messages/slack/disk?target=%23ops")
        assert (gone.status, gone.json()["ok"]) == (200, True)
    assert [sent.url.rpartition("/")[2] for sent in gateway.transport.sent] == ["chat.postMessage", "chat.delete"]


async def test_withdrawing_an_unknown_key_is_not_found_and_an_unknown_channel_is_refused(gateway: Gateway):
    check_problem(await gateway.client.request("DELETE", "/messages/slack/nobody?target=%23ops"), 404, "not-found")
    refused = await gateway.client.request("DELETE", "/messages/pager/disk?target=x")
    assert (refused.status, refused.json()["ok"]) == (404, False)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "target"),
        ("?target=", "target"),
        ("?target=%23ops&target=%23dev", "target"),
        ("?target=%23ops&colour=red", "colour"),
        ("?targets=%23ops", "did you mean 'target'?"),
    ],
)
async def test_a_wrong_parameter_of_a_withdrawal_is_refused_and_named(gateway: Gateway, query: str, named: str):
    answer = await gateway.client.request("DELETE", f"/messages/slack/disk{query}")
    assert named in check_problem(answer, 422, "validation-failed")["detail"]


async def test_withdrawing_a_waiting_message_cancels_it(gateway: Gateway):
    queued = await gateway.client.send(GOOD | {"key": "disk"}, ASYNC)
    gone = await gateway.client.request("DELETE", "/messages/slack/disk?target=%23ops")
    assert (gone.status, gone.json()["ok"]) == (200, True)
    assert (await gateway.client.get(f"/deliveries/{queued.json()['id']}")).json()["status"] == "cancelled"


async def sending(gateway: Gateway, answer: Answer) -> str:
    """Claim a queued message, as a worker does; return its ID."""
    rules = {"teamchat": channel_rules(gateway.app.registry.adapter("teamchat"))}
    [claimed] = await gateway.app.outbox.store.claim_due("w1", 1, rules)
    assert claimed.id == answer.json()["id"]
    return claimed.id


@pytest.mark.parametrize("sent", [True, False])
async def test_a_message_that_is_being_sent_is_withdrawn_when_its_send_has_ended(
    make_gateway: MakeGateway, *, sent: bool
):
    gateway = make_gateway(clock=(clock := SteppedClock()))
    id_ = await sending(gateway, await gateway.client.send(GOOD | {"key": "disk"}, ASYNC))
    withdrawing = asyncio.create_task(gateway.client.request("DELETE", "/messages/slack/disk?target=%23ops"))
    wait_s = await clock.asleep()
    ended = AttemptOutcome(DeliveryStatus.SENT if sent else DeliveryStatus.DEAD, ref='{"channel": "C1", "ts": "1.2"}')
    assert await gateway.app.outbox.store.finish("w1", id_, ended)
    clock.advance(wait_s)
    gone = await withdrawing
    assert (gone.status, gone.json()["ok"]) == (200, True)
    assert [each.url.rpartition("/")[2] for each in gateway.transport.sent] == (["chat.delete"] if sent else [])


async def test_a_message_that_is_being_sent_for_long_is_not_an_unknown_key(gateway: Gateway):
    await sending(gateway, await gateway.client.send(GOOD | {"key": "disk"}, ASYNC))
    answer = await gateway.client.request("DELETE", "/messages/slack/disk?target=%23ops")
    assert (answer.status, "still being sent" in answer.json()["error"]) == (502, True)


async def test_a_withdrawal_can_be_queued_if_the_key_is_known(gateway: Gateway):
    unknown = await gateway.client.request("DELETE", "/messages/slack/disk?target=%23ops", ASYNC)
    check_problem(unknown, 404, "not-found")
    await gateway.client.send(GOOD | {"key": "disk"}, ASYNC)
    answer = await gateway.client.request("DELETE", "/messages/slack/disk?target=%23ops", ASYNC)
    assert answer.status == 202
    shown = (await gateway.client.get(f"/deliveries/{answer.json()['id']}")).json()
    assert (shown["operation"], shown["key"], shown["status"]) == ("withdraw", "disk", "queued")


# --- threads and times to live


async def test_a_second_message_of_a_thread_is_posted_below_the_first(gateway: Gateway):
    gateway.transport.script = [EDITED, EDITED]
    for _ in range(2):
        assert (await gateway.client.send(GOOD | {"thread": "alerts"})).status == 200
    first, second = wire(gateway)
    assert ("thread_ts" in first, second["thread_ts"]) == (False, "1503435956.000247")


async def test_a_queued_message_expires_after_its_time_to_live(gateway: Gateway):
    answer = await gateway.client.send(GOOD | {"ttl": 60}, ASYNC)
    delivery = await gateway.app.outbox.get(answer.json()["id"])
    assert delivery.expires_at == gateway.clock.now() + 60
