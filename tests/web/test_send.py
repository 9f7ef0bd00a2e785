"""POST /send."""

import json
import re
from typing import Any

import pytest
from tests.facts import mentions
from tests.web.asgi_client import JSON, Answer, Client
from tests.web.conftest import GOOD, Gateway, MakeGateway

from tocsin.assembly.program import App
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.http.transport import HttpResponse
from tocsin.delivery.store import DeliveryFilter
from tocsin.rest.problems import HttpProblemError
from tocsin.web.http.asgi import LargeBodies, read_body
from tocsin.web.http.metrics import Metrics
from tocsin_standins import StandinCluster

MIB = 1024 * 1024
FIELDS = ["ok", "channel", "target", "message", "error"]


def check_problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """Check that the answer is a whole problem document; return it."""
    assert answer.status == status
    assert answer.header("content-type") == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["type"] == f"/problems/{code}"
    assert document["code"] == code
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert document["request_id"] == answer.header("x-request-id")
    assert document["instance"] == f"urn:request:{document['request_id']}"
    return document


def body_of(size: int) -> bytes:
    """Make a good body of exactly so many bytes."""
    empty = json.dumps(GOOD | {"message": ""}).encode()
    return json.dumps(GOOD | {"message": "x" * (size - len(empty))}).encode()


async def test_a_sent_message_answers_200_with_the_five_fields_of_a_send_result(gateway: Gateway):
    answer = await gateway.client.send(GOOD)
    assert answer.status == 200
    assert answer.header("content-type") == "application/json"
    assert answer.header("cache-control") == "no-store"
    assert answer.json() == {
        "ok": True,
        "channel": "teamchat",
        "target": "#ops",
        "message": "ts=1503435956.000247",
        "error": "",
    }
    assert list(answer.json()) == FIELDS


async def test_a_refused_message_answers_422_with_the_providers_code_and_the_remedy(gateway: Gateway):
    gateway.transport.script = [HttpResponse(200, {}, b'{"ok": false, "error": "not_in_channel"}')]
    answer = await gateway.client.send(GOOD)
    assert answer.status == 422
    assert answer.header("content-type") == "application/json"
    assert list(answer.json()) == FIELDS
    assert answer.json()["ok"] is False
    assert answer.json()["message"] == ""
    assert mentions(answer.json()["error"], "not_in_channel", "chat:write.public")


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("smoke", "Unknown channel: smoke; choose from apprise, discord, "),
        ("slakc", "(did you mean 'slack'?)"),
        ("botchat", "Unknown channel: botchat (not configured; set BOTCHAT_BOT_TOKEN)"),
        ("devicemsg", "Unknown channel: devicemsg (it requires the platform darwin, this is "),
        ("", "Unknown channel: "),
        ("team\0chat\ud800", "Unknown channel: "),
    ],
)
async def test_an_unknown_or_unconfigured_channel_answers_404_with_a_send_result(
    gateway: Gateway, channel: str, error: str
):
    answer = await gateway.client.send(GOOD | {"channel": channel})
    assert answer.status == 404
    assert list(answer.json()) == FIELDS
    assert answer.json()["ok"] is False
    assert answer.json()["error"].startswith("Unknown channel: ")
    assert error in answer.json()["error"]
    assert error in answer.json()["error"]
    assert gateway.transport.sent == []


async def test_a_provider_that_says_unknown_channel_itself_is_a_failed_delivery(gateway: Gateway):
    gateway.transport.script = [HttpResponse(200, {}, b'{"ok": false, "error": "unknown-channel"}')]
    assert (await gateway.client.send(GOOD)).status == 422


def failure(kind: FailureKind, retry_after_s: float | None = None) -> RemoteError:
    return RemoteError("it did not work", kind=kind, retry_after_s=retry_after_s)


@pytest.mark.parametrize(
    ("failure", "status", "retry_after"),
    [
        (failure(FailureKind.PERMANENT), 422, ""),
        (failure(FailureKind.TRANSIENT), 502, ""),
        (failure(FailureKind.TRANSIENT, 7), 502, ""),
        (failure(FailureKind.RATE_LIMITED, 120.2), 503, "121"),
        (failure(FailureKind.RATE_LIMITED, 60), 503, "60"),
        (failure(FailureKind.RATE_LIMITED, float("inf")), 503, "5"),
        (failure(FailureKind.RATE_LIMITED), 503, "5"),
        (failure(FailureKind.AMBIGUOUS), 504, ""),
    ],
)
async def test_the_status_of_a_failed_send_tells_whether_trying_again_helps(
    gateway: Gateway, failure: RemoteError, status: int, retry_after: str
):
    gateway.transport.script = [failure]
    answer = await gateway.client.send(GOOD)
    assert (answer.status, answer.header("retry-after")) == (status, retry_after)
    assert (list(answer.json()), answer.json()["ok"]) == (FIELDS, False)
    assert answer.header("content-type") == "application/json"


@pytest.mark.parametrize("kind", list(FailureKind))
async def test_a_partly_sent_text_answers_504_and_names_the_delivery_that_sends_the_rest(
    gateway: Gateway, kind: FailureKind
):
    first_part = HttpResponse(200, {}, b'{"ok": true, "ts": "1.2"}')
    gateway.transport.script = [first_part, failure(kind, 120), failure(kind, 120)]
    answer = await gateway.client.send(GOOD | {"message": "long " * 10_000})
    assert (answer.status, answer.header("retry-after")) == (504, "")
    error = answer.json()["error"]
    assert mentions(error, "1 of", "2 parts")
    [delivery] = (await gateway.app.outbox.store.search(DeliveryFilter())).items
    assert (delivery.parts_sent, delivery.parts_total) == (1, 2)
    replay = f"POST /deliveries/{delivery.id}/replay"
    assert (replay in error) == (kind is not FailureKind.AMBIGUOUS), "the part may be there: look first"
    assert f"/deliveries/{delivery.id}" in error


@pytest.mark.parametrize("name", ["slack", "SLACK", " teamchat "])
async def test_an_alias_is_answered_with_the_neutral_kind(gateway: Gateway, name: str):
    answer = await gateway.client.send(GOOD | {"channel": name})
    assert answer.status == 200
    assert answer.json()["channel"] == "teamchat"


@pytest.mark.parametrize("message", ["", " \n\t ", "\0"])
async def test_an_empty_text_is_a_send_result_of_the_adapter(gateway: Gateway, message: str):
    answer = await gateway.client.send(GOOD | {"message": message})
    assert answer.status == 422
    assert "message" in answer.json()["error"]
    assert gateway.transport.sent == []


@pytest.mark.parametrize("target", ["", "  ", "#ops\0", "#ops\r\nX: y", "\ud800", "#" + "x" * 2000, "not a target"])
async def test_a_target_that_the_adapter_refuses_is_a_send_result(gateway: Gateway, target: str):
    answer = await gateway.client.send(GOOD | {"target": target})
    assert answer.status == 422
    assert answer.json()["error"]
    assert gateway.transport.sent == []


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "👍🏽 ünï", "\u202e" * 3 + "x"])
async def test_any_unicode_text_reaches_the_provider_as_valid_utf8(gateway: Gateway, text: str):
    assert (await gateway.client.send(GOOD | {"message": text})).status == 200
    gateway.transport.sent[0].json()["text"].encode()


async def test_a_text_of_exactly_one_mebibyte_body_is_read(gateway: Gateway):
    answer = await gateway.client.send(body_of(MIB))
    assert (answer.status, answer.json()["message"]) == (200, "ts=1503435956.000247 (27 parts)")


@pytest.mark.parametrize("declared", [True, False], ids=["Content-Length", "chunked"])
async def test_a_body_of_one_mebibyte_and_one_byte_is_refused(gateway: Gateway, declared: bool):
    raw = body_of(MIB + 1)
    length = [("Content-Length", str(len(raw)))] if declared else [("Transfer-Encoding", "chunked")]
    pieces = [raw[i : i + 65536] for i in range(0, len(raw), 65536)]
    answer = await gateway.client.request("POST", "/send", JSON, *length, body=pieces)
    check_problem(answer, 413, "payload-too-large")
    assert answer.header("connection") == "close"
    assert gateway.transport.sent == []


async def test_a_body_that_is_announced_as_too_long_is_refused_before_it_is_sent(gateway: Gateway):
    huge = ("Content-Length", str(10**12))
    answer = await gateway.client.request("POST", "/send", JSON, huge, ("Expect", "100-continue"), body=[])
    check_problem(answer, 413, "payload-too-large")


async def test_an_endless_body_is_given_up():
    asked = 0

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b" " * 65536, "more_body": True}

    with pytest.raises(HttpProblemError) as raised:
        await read_body({"headers": [], "tocsin.client": "127.0.0.1", "tocsin.large_bodies": LargeBodies()}, receive)
    assert raised.value.code == "payload-too-large"
    assert asked * 65536 < 10 * MIB


async def test_a_body_that_breaks_off_is_not_sent(gateway: Gateway):
    raw = json.dumps(GOOD).encode()
    answer = await gateway.client.request("POST", "/send", JSON, body=[raw], cut_off=True)
    check_problem(answer, 400, "invalid-request")
    assert gateway.transport.sent == []


@pytest.mark.parametrize("length", ["²", "-1", "x", "9" * 5000, ""])
async def test_a_strange_content_length_breaks_nothing(gateway: Gateway, length: str):
    raw = json.dumps(GOOD).encode()
    answer = await gateway.client.request("POST", "/send", JSON, ("Content-Length", length), body=[raw])
    assert answer.status == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"hello",
        b"channel=teamchat&target=%23ops&message=x",
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        json.dumps(GOOD).encode("utf-16"),
        json.dumps(GOOD).encode("utf-32"),
        b'{"channel":"teamchat","target":"#ops","message":"\xff"}',
        b'{"channel":"teamchat","target":"#ops","message":"\xed\xa0\x80"}',
        b'{"channel":"teamchat","target":"#ops","message":NaN}',
        b'{"channel":"teamchat","target":"#ops","message":"a\nb"}',
        json.dumps(GOOD).encode() + b"{}",
    ],
    ids=["nothing", "cut", "text", "form", "deep-array", "deep-object", "utf-16", "utf-32", "latin-1", "surrogate",
         "NaN", "raw-newline", "two-documents"],
)  # fmt: skip
async def test_what_is_not_json_in_utf8_answers_400(gateway: Gateway, raw: bytes):
    check_problem(await gateway.client.send(raw), 400, "invalid-request")
    assert gateway.transport.sent == []


async def test_a_byte_order_mark_is_ignored(gateway: Gateway):
    assert (await gateway.client.send(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())).status == 200


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"1", b"null", b"true", b"[[]]"])
async def test_json_that_is_no_object_answers_422(gateway: Gateway, raw: bytes):
    check_problem(await gateway.client.send(raw), 422, "validation-failed")


async def test_a_misspelt_key_answers_422_with_its_place_and_the_likely_name(gateway: Gateway):
    answer = await gateway.client.send({"channel": "teamchat", "taget": "#ops", "message": "x"})
    problem = check_problem(answer, 422, "validation-failed")
    assert problem["errors"] == [
        {
            "pointer": "#/taget",
            "code": "unknown-key",
            "detail": "unknown key 'taget' (did you mean 'target'?)",
            "key": "taget",
            "suggestion": "target",
        },
        {"pointer": "#/target", "code": "missing-key", "detail": "key 'target' is missing", "key": "target"},
    ]
    assert problem["detail"] == "2 fields need attention"


@pytest.mark.parametrize("value", [None, 1, 1.5, True, [], ["x"], {}, {"text": "x"}])
@pytest.mark.parametrize("key", ["channel", "target", "message"])
async def test_a_field_that_is_no_string_answers_422(gateway: Gateway, key: str, value: object):
    problem = check_problem(await gateway.client.send(GOOD | {key: value}), 422, "validation-failed")
    assert [(e["pointer"], e["code"]) for e in problem["errors"]] == [(f"#/{key}", "wrong-type")]


async def test_a_key_that_stands_there_twice_answers_422(gateway: Gateway):
    raw = b'{"channel":"teamchat","target":"#ops","target":"#other","message":"x"}'
    problem = check_problem(await gateway.client.send(raw), 422, "validation-failed")
    assert [(e["pointer"], e["code"]) for e in problem["errors"]] == [("#/target", "duplicate-key")]
    assert gateway.transport.sent == []


@pytest.mark.parametrize(
    ("key", "pointer"),
    [("a/b~c", "#/a~1b~0c"), ("a b%", "#/a%20b%25"), ("ü", "#/%C3%BC"), ("\ud800", "#/%ED%A0%80"), ("", "#/")],
)
async def test_a_pointer_is_a_uri_fragment_of_rfc_6901(gateway: Gateway, key: str, pointer: str):
    problem = check_problem(await gateway.client.send(GOOD | {key: "x"}), 422, "validation-failed")
    assert problem["errors"][0]["pointer"] == pointer


async def test_a_body_full_of_unknown_keys_costs_neither_time_nor_a_long_answer(gateway: Gateway):
    raw = json.dumps(GOOD | {f"messag{n}": 0 for n in range(50_000)}).encode()
    answer = await gateway.client.send(raw)
    problem = check_problem(answer, 422, "validation-failed")
    assert len(problem["errors"]) == 10
    assert problem["detail"] == "50000 fields need attention; the first 10 are listed"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "application/jsonp")],
        [("Content-Type", "application/problem+json")],
        [JSON, JSON],
        [("Content-Type", "text/plain"), JSON],
        [JSON, ("Content-Encoding", "gzip")],
        [JSON, ("Content-Encoding", "identity"), ("Content-Encoding", "br")],
    ],
)
async def test_a_body_that_is_not_plain_json_by_its_headers_answers_415(
    gateway: Gateway, headers: list[tuple[str, str]]
):
    raw = json.dumps(GOOD).encode()
    answer = await gateway.client.request("POST", "/send", *headers, body=[raw])
    check_problem(answer, 415, "unsupported-media-type")
    assert gateway.transport.sent == []


@pytest.mark.parametrize("value", ["application/json; charset=utf-8", "Application/JSON", "application/json;"])
async def test_parameters_and_case_of_the_media_type_do_not_matter(gateway: Gateway, value: str):
    raw = json.dumps(GOOD).encode()
    answer = await gateway.client.request("POST", "/send", ("Content-Type", value), body=[raw])
    assert answer.status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE"])
async def test_other_methods_answer_405_and_name_the_right_one(gateway: Gateway, method: str):
    answer = await gateway.client.request(method, "/send")
    check_problem(answer, 405, "method-not-allowed")
    assert answer.header("allow") == "OPTIONS, POST"
    # A browser asks before it sends JSON across origins; without this header it then does not.
    assert answer.header("access-control-allow-origin") == ""


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/send", "OPTIONS, POST"), ("/health", "GET, HEAD, OPTIONS"), ("/deliveries/x", "GET, HEAD, OPTIONS")],
)
async def test_options_names_the_methods_of_a_path(gateway: Gateway, path: str, methods: str):
    answer = await gateway.client.request("OPTIONS", path)
    assert (answer.status, answer.header("allow"), answer.body) == (204, methods, b"")
    refused = await gateway.client.request("PUT", path)
    assert (refused.status, refused.header("allow")) == (405, methods)


@pytest.mark.parametrize("path", ["/", "/send/", "/SEND", "//send", "/channels/x", "/send\0", "/../send"])
async def test_an_unknown_path_answers_404(gateway: Gateway, path: str):
    check_problem(await gateway.client.request("POST", path, JSON), 404, "not-found")


async def test_a_bug_answers_500_and_tells_nothing(make_gateway: MakeGateway):
    class Broken(Metrics):
        def count_send(self, receipt: object) -> None:
            raise RuntimeError("xoxb-test-000000-inner-secret")

    gateway = make_gateway(metrics=Broken())
    answer = await gateway.client.send(GOOD)
    check_problem(answer, 500, "internal-error")
    assert b"inner-secret" not in answer.body
    assert b"RuntimeError" not in answer.body


@pytest.mark.parametrize("given", ["req-1", "A_b-9", "x" * 64])
async def test_a_request_id_is_accepted_echoed_and_kept_in_the_audit(gateway: Gateway, given: str):
    answer = await gateway.client.send(GOOD, ("X-Request-Id", given))
    assert answer.header("x-request-id") == given
    assert gateway.audit()[0].metadata["request_id"] == given


@pytest.mark.parametrize("given", [None, "", "x" * 65, "a b", "a\r\nSet-Cookie: x", "é", "../x"])
async def test_a_request_without_a_usable_id_gets_a_new_one(gateway: Gateway, given: str | None):
    headers = [] if given is None else [("X-Request-Id", given)]
    answer = await gateway.client.send(GOOD, *headers)
    made = answer.header("x-request-id")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made)
    assert gateway.audit()[0].metadata["request_id"] == made


async def test_every_answer_carries_its_request_id(gateway: Gateway):
    for method, path in [("GET", "/health"), ("GET", "/channels"), ("GET", "/nowhere"), ("PUT", "/send")]:
        answer = await gateway.client.request(method, path, ("X-Request-Id", "seen"))
        assert answer.header("x-request-id") == "seen"


async def test_a_send_writes_exactly_one_audit_entry_with_address_and_request_id(gateway: Gateway):
    await gateway.client.send(GOOD, ("X-Request-Id", "r1"), peer="192.0.2.7")
    (entry,) = gateway.audit()
    assert (entry.action, entry.source) == ("msg.send", "gateway")
    assert entry.metadata["ip"] == "192.0.2.7"
    assert entry.metadata["request_id"] == "r1"
    assert entry.metadata["ok"] is True
    assert "hello" not in entry.detail, "the text of a message does not belong into the audit log"


@pytest.mark.parametrize("body", [GOOD | {"channel": "smoke"}, GOOD | {"message": ""}, GOOD | {"target": "?"}])
async def test_a_send_that_fails_writes_exactly_one_audit_entry_too(gateway: Gateway, body: dict[str, str]):
    await gateway.client.send(body)
    (entry,) = gateway.audit()
    assert entry.metadata["ok"] is False


async def test_a_send_of_several_attempts_writes_exactly_one_audit_entry(make_gateway: MakeGateway):
    gateway = make_gateway({"BOTCHAT_BOT_TOKEN": "123456:test-000000-aaaaaaaaaaaaaaaaaaaaaaaaaa"})
    down = RemoteError("could not connect", kind=FailureKind.TRANSIENT)
    gateway.transport.script = [down]
    answer = await gateway.client.send({"channel": "botchat", "target": "1001", "message": "x"})
    assert answer.status == 502
    assert len(gateway.transport.sent) == 4
    (entry,) = gateway.audit()
    assert entry.metadata["attempts"] == 4


async def test_a_request_that_is_refused_writes_no_send_entry(gateway: Gateway):
    await gateway.client.send(b"{")
    await gateway.client.send({})
    assert gateway.audit() == []


async def test_a_sender_cannot_hide_its_address_behind_a_long_target(gateway: Gateway):
    await gateway.client.send(GOOD | {"target": "x" * 200_000}, peer="192.0.2.7")
    await gateway.client.send(GOOD | {"channel": "x" * 200_000}, peer="192.0.2.7")
    assert [entry.metadata.get("ip") for entry in gateway.audit()] == ["192.0.2.7"] * 2


@pytest.mark.parametrize("headers", [[], [("Prefer", "respond-async")]], ids=["now", "queued"])
async def test_a_text_of_too_many_messages_answers_422_with_both_numbers(
    make_gateway: MakeGateway, headers: list[tuple[str, str]]
):
    gateway = make_gateway({"TEAMCHAT_CHUNK_AT": "4000"})
    answer = await gateway.client.send(GOOD | {"message": "word " * 81_000}, *headers)
    assert (answer.status, answer.json()["ok"]) == (422, False)
    assert mentions(answer.json()["error"], "102 messages", "limit 100")
    assert gateway.transport.sent == []


async def test_the_four_network_channels_deliver_what_was_posted(live: tuple[Client, App], town: StandinCluster):
    client, _ = live
    for channel, target in town.samples().items():
        answer = await client.send({"channel": channel, "target": target, "message": f"to {channel}"})
        assert answer.status == 200, answer.body
        assert answer.json()["target"] == target
    assert {item.channel: item.text.strip() for item in town.recorder.of()} == {
        channel: f"to {channel}" for channel in town.samples()
    }
