"""webpush: what goes over the wire, and what each answer of a push service means."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import http_ece
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.facts import mentions

from tocsin.channels.contract import COMMONMARK, KeyedMessage, MessageOperation, OutboundAdapter, Outgoing, Receipt
from tocsin.channels.webpush import WebpushAdapter
from tocsin.channels.webpush.devices import Device, Devices, Subscription, check_subscription, decode
from tocsin.channels.webpush.encryption import encrypt
from tocsin.channels.webpush.settings import CONTACT, HOSTS
from tocsin.channels.webpush.standin import CONTACT as ADDRESS
from tocsin.channels.webpush.standin import Browser, PushService
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import FakeClock, build_adapter
from tocsin.testing.channel_contract import ChannelContract
from tocsin.testing.fakes import MemoryDocument
from tocsin_standins.faults import Fault

NOW = 1_700_000_000.0
DELIVERY = "01900000-0000-7000-8000-000000000000"
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}
CALL = {"action": "call", "label": "Clean up", "name": "cleanup", "value": "web1"}
FCM = "https://fcm.googleapis.com/fcm/send/example"


@asynccontextmanager
async def opened(env: dict[str, str] | None = None) -> AsyncIterator[tuple[PushService, WebpushAdapter]]:
    """Open a push service with a browser, and the channel that has it as a device."""
    http = DirectTransport()
    async with PushService(clock=lambda: NOW) as server:
        try:
            given, document = {**server.environment(), **(env or {})}, MemoryDocument(server.document())
            yield server, build_adapter(WebpushAdapter, given, http=http, clock=FakeClock(NOW), document=document)
        finally:
            await http.aclose()


class TestWebpush(ChannelContract):
    adapter = WebpushAdapter
    env = {"WEBPUSH_CONTACT": ADDRESS}
    target = "phone"
    bad_targets = ("two words", "Phone", "a/b", "ü", "x" * 65, "-phone", "*")

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        async with opened() as (_, adapter):
            yield adapter


async def good(adapter: WebpushAdapter, outgoing: Outgoing) -> Receipt:
    receipt = await adapter.transmit(outgoing)
    assert receipt.result.ok, receipt.result.error
    return receipt


async def shown(text: str, mode: str = "", **content: Any) -> dict[str, Any]:
    """Send one message; return the notification as the browser shows it."""
    async with opened() as (server, adapter):
        await good(adapter, Outgoing("phone", text, key=DELIVERY, parse_mode=mode, content=content))
        [notification] = server.browser.shown.values()
        return notification


def keyed(text: str, **content: Any) -> Outgoing:
    return Outgoing("phone", text, key=DELIVERY, content={"key": "disk", **content}, keyed=KeyedMessage("disk"))


def change(outgoing: Outgoing, operation: MessageOperation, receipt: Receipt) -> Outgoing:
    return replace(outgoing, keyed=KeyedMessage("disk", operation, receipt.ref))


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch):
    for module in ("encryption", "sending"):
        monkeypatch.delitem(sys.modules, f"tocsin.channels.webpush.{module}")
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    for result in TestWebpush().failures(TestWebpush().build()):
        assert mentions(result.error, "cryptography: package not installed", 'pip install "tocsin[push]"')


# --- encryption


def test_a_message_is_encrypted_as_in_the_example_of_rfc_8291():
    subscription = Subscription(
        "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    body = encrypt(
        b"When I grow up, I want to be a watermelon",
        subscription,
        private="yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
        salt=decode("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert body == decode(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@pytest.mark.parametrize("length", [0, 1, 41, 3_993])
def test_an_independent_implementation_decrypts_every_length(length: int):
    browser = Browser("phone")
    text = b"x" * length
    body = encrypt(text, Subscription(FCM, *browser.keys.values()))
    assert len(body) == length + 103 <= 4_096
    assert http_ece.decrypt(body, private_key=browser.private, auth_secret=browser.auth) == text


async def test_an_independent_implementation_decrypts_what_the_channel_sends():
    taken: list[bytes] = []

    class Tapped(PushService):
        async def _push(self, request: Any) -> Any:
            taken.append(await request.read())
            return await super()._push(request)

    http = DirectTransport()
    async with Tapped(clock=lambda: NOW) as server:
        kept = MemoryDocument(server.document())
        adapter = build_adapter(WebpushAdapter, server.environment(), http=http, clock=FakeClock(NOW), document=kept)
        await good(adapter, Outgoing("phone", "Grüße", content={"title": "Disk"}))
        await http.aclose()
    text = http_ece.decrypt(taken[0], private_key=server.browser.private, auth_secret=server.browser.auth)
    assert json.loads(text) | {"tag": "", "sent": 0} == {"title": "Disk", "body": "Grüße", "tag": "", "sent": 0}


# --- what the device shows


async def test_title_link_type_and_urgency_are_those_of_a_notification():
    async with opened() as (server, adapter):
        content = {"title": "Disk full", "priority": "urgent", "type": "failure", "click": "https://x.example/d"}
        receipt = await good(adapter, Outgoing("phone", "91 %", key=DELIVERY, content={**content, "ttl": 60}))
        [notification], [headers] = server.browser.shown.values(), server.headers
    assert receipt.result.message == f"taken by {server.url.partition('://')[2]}"
    assert (notification["title"], notification["body"], notification["url"]) == (
        "❌ Disk full",
        "91 %",
        "https://x.example/d",
    )
    assert (notification["sticky"], notification["delivery"]) == (True, DELIVERY)
    assert headers == {"TTL": "60", "Urgency": "high", "Topic": ""}


@pytest.mark.parametrize(
    ("content", "urgency", "silent"),
    [
        ({}, "normal", False),
        ({"priority": 4}, "high", False),
        ({"priority": 2}, "low", True),
        ({"priority": 1}, "very-low", True),
        ({"priority": 5, "silent": True}, "low", True),
    ],
)
async def test_a_priority_is_an_urgency_and_quiet_ones_make_no_sound(
    content: dict[str, Any], urgency: str, *, silent: bool
):
    async with opened() as (server, adapter):
        await good(adapter, Outgoing("phone", "x", content=content))
        [notification] = server.browser.shown.values()
        assert server.headers == [{"TTL": "604800", "Urgency": urgency, "Topic": ""}]
    assert notification.get("silent", False) is silent


async def test_two_buttons_are_shown_and_the_page_has_all_of_them():
    notification = await shown("91 %", actions=[{**RUN_BOOK, "label": f"B{n}"} for n in range(3)])
    assert notification["actions"] == [{"label": f"B{n}", "url": RUN_BOOK["url"]} for n in range(2)]
    assert notification["more"] is True


async def test_a_call_button_has_its_number_and_neither_name_nor_value_nor_token():
    notification = await shown("91 %", actions=[RUN_BOOK, {**CALL, "confirm": "Sure?"}])
    assert notification["actions"][1] == {"label": "Clean up", "press": 1, "asks": True}
    assert "cleanup" not in json.dumps(notification)
    assert "web1" not in json.dumps(notification)


async def test_a_title_alone_and_a_text_alone_are_notifications():
    assert (await shown("", title="Backup done")).items() >= {"title": "Backup done", "body": ""}.items()
    assert (await shown("Backup done")).items() >= {"title": "Tocsin", "body": "Backup done"}.items()


async def test_markdown_becomes_plain_text():
    assert (await shown("**bold** [a](https://x.example)", COMMONMARK))["body"] == "bold a (https://x.example)"


@pytest.mark.parametrize("text", ['"' * 9_000, "ü " * 4_500, "x" * 400_000, "\u2028x" * 3_000], ids=len)
async def test_a_long_text_is_shortened_to_the_limit_and_the_note_says_so(text: str):
    content = {"title": "T" * 250, "actions": [RUN_BOOK, CALL]}
    async with opened() as (server, adapter):
        receipt = await good(adapter, Outgoing("phone", text, key=DELIVERY, content=content))
        [notification] = server.browser.shown.values()
    assert "(shortened: " in receipt.result.message
    assert notification["body"].endswith(" …")
    assert (notification["short"], notification["delivery"], len(notification["actions"])) == (True, DELIVERY, 2)
    assert 3_600 < len(json.dumps(notification, ensure_ascii=False, separators=(",", ":")).encode()) <= 3_993


async def test_what_is_too_long_beside_the_text_is_left_to_the_page():
    long = "https://x.example/" + "a" * 1_980
    notification = await shown("91 %" * 1_000, title="ü" * 250, click=long, actions=[{"label": "a", "url": long}] * 2)
    assert ("actions" in notification, notification["more"]) == (False, True)
    assert notification["title"] == "ü" * 250


# --- keys


async def test_a_message_with_a_key_is_replaced_and_then_closed():
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("firing", type="failure", actions=[RUN_BOOK]))
        second = await good(adapter, change(keyed("resolved"), MessageOperation.EDIT, first))
        [notification] = server.browser.shown.values()
        assert (notification["body"], "actions" in notification, notification["silent"]) == ("resolved", False, True)
        for _ in range(2):
            await good(adapter, change(keyed("x"), MessageOperation.WITHDRAW, second))
        assert server.browser.shown == {}
    assert len({each["Topic"] for each in server.headers}) == 1
    assert [item.kind for item in server.recorder.of("webpush", kind="")] == ["message", "edit", "deletion", "deletion"]


async def test_only_a_key_of_the_caller_is_a_topic():
    async with opened() as (server, adapter):
        await good(adapter, Outgoing("phone", "x", content={"actions": [CALL]}, keyed=KeyedMessage("call:own")))
        await good(adapter, keyed("x"))
        assert [len(each["Topic"]) for each in server.headers] == [0, 32]


async def test_a_repeated_message_is_shown_once():
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept())
        first = await adapter.transmit(Outgoing("phone", "hello", key=DELIVERY))
        assert first.failure
        assert first.failure.kind is FailureKind.AMBIGUOUS
        await good(adapter, Outgoing("phone", "hello", key=DELIVERY))
        assert len(server.browser.shown) == 1


# --- devices and keys


async def test_an_unknown_device_is_refused_with_the_known_ones():
    async with opened() as (_, adapter):
        assert mentions((await adapter.send("fone", "hello")).error, "'fone'", "phone")
        await adapter.devices.remove("phone")
        assert "Notify this device" in (await adapter.send("phone", "hello")).error


async def test_the_probe_makes_keys_and_counts_devices():
    document = MemoryDocument()
    adapter = build_adapter(WebpushAdapter, {"WEBPUSH_CONTACT": ADDRESS}, document=document)
    assert (await adapter.test_connection()).message == f"connected as {ADDRESS}, with 0 devices"
    keys = await adapter.devices.keys()
    assert keys == await Devices(document).keys()
    assert len(decode(keys.public)) == 65
    assert keys.private not in repr(keys)


@pytest.mark.parametrize("status", [404, 410])
async def test_a_device_that_is_gone_is_removed_and_the_error_says_so(status: int):
    async with opened() as (server, adapter):
        server.faults.push(Fault.error("Unregistered", http_status=status))
        receipt = await adapter.transmit(Outgoing("phone", "hello"))
        assert await adapter.devices.all() == []
    assert receipt.failure
    assert receipt.failure.kind is FailureKind.PERMANENT
    assert mentions(receipt.result.error, f"HTTP {status} Unregistered", "was removed", "add it again")


async def test_a_device_that_was_added_again_meanwhile_is_kept():
    async with opened() as (_, adapter):
        [device] = await adapter.devices.all()
        await adapter.devices.remove("phone", "https://fcm.googleapis.com/another")
        assert await adapter.devices.all() == [device]


# --- answers


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.error("VapidPkHashMismatch", http_status=400), FailureKind.PERMANENT, "add it again"),
        (Fault.error("Unauthorized", http_status=401), FailureKind.PERMANENT, "WEBPUSH_CONTACT"),
        (Fault.error("BadJwtToken", http_status=403), FailureKind.PERMANENT, "BadJwtToken"),
        (Fault.error("PayloadTooLarge", http_status=413), FailureKind.PERMANENT, "send less text"),
        (Fault.error("Why", http_status=418), FailureKind.PERMANENT, "refuses the message"),
        (Fault.error("Later", http_status=425), FailureKind.TRANSIENT, "HTTP 425"),
        (Fault.status(503), FailureKind.TRANSIENT, "HTTP 503"),
        (Fault.redirect("https://elsewhere.example/"), FailureKind.PERMANENT, "redirects are not followed"),
        (Fault.html_200(), FailureKind.AMBIGUOUS, "WEBPUSH_HOSTS"),
        (Fault.reset_after_accept(), FailureKind.AMBIGUOUS, "outcome unknown"),
    ],
    ids=lambda value: f"{value.kind}-{value.http_status}" if isinstance(value, Fault) else "",
)
async def test_each_answer_says_whether_a_repeat_is_safe(fault: Fault, kind: FailureKind, words: str):
    async with opened() as (server, adapter):
        server.faults.push(fault)
        receipt = await adapter.transmit(Outgoing("phone", "hello"))
        assert len(await adapter.devices.all()) == 1
    assert receipt.failure is not None
    assert receipt.failure.kind is kind
    assert words in receipt.result.error


async def test_too_many_requests_wait_as_long_as_the_service_asks():
    async with opened() as (server, adapter):
        server.faults.push(Fault.rate_limited(seconds=120))
        receipt = await adapter.transmit(Outgoing("phone", "hello"), patient=False)
    assert receipt.failure is not None
    assert (receipt.failure.kind, receipt.failure.retry_after_s) == (FailureKind.RATE_LIMITED, 120)


async def test_the_services_sentence_is_not_repeated_because_it_may_have_the_address():
    async with opened() as (server, adapter):
        server.faults.push(Fault.error(f"{server.url}{server.browser.path}", http_status=400))
        error = (await adapter.send("phone", "hello")).error
    assert server.browser.path not in error


@pytest.mark.parametrize("now", [NOW - 90_000, NOW + 50_000])
async def test_a_wrong_clock_is_refused_with_the_remedy(now: float):
    http = DirectTransport()
    async with PushService(clock=lambda: NOW) as server:
        document = MemoryDocument(server.document())
        adapter = build_adapter(
            WebpushAdapter, server.environment(), http=http, clock=FakeClock(now), document=document
        )
        assert mentions((await adapter.send("phone", "hello")).error, "HTTP 403", "clock")
        await http.aclose()


async def test_a_proof_is_used_again_for_an_hour():
    clock, http = FakeClock(NOW), DirectTransport()
    async with PushService(clock=clock.now) as server:
        document = MemoryDocument(server.document())
        adapter = build_adapter(WebpushAdapter, server.environment(), http=http, clock=clock, document=document)
        for _ in range(30):
            assert (await adapter.send("phone", "hello")).ok
            clock.advance(3_000)
        await http.aclose()


# --- which services are called


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://fcm.googleapis.com/fcm/send/x",
        "https://updates.push.services.mozilla.com/wpush/v2/x",
        "https://web.push.apple.com/x",
        "https://wns2-by3p.notify.windows.com/w/?token=x",
        "https://push.example.org:8443/x",
    ],
)
def test_the_vendors_services_and_those_of_the_setting_are_called(endpoint: str):
    keys = Browser("phone").keys
    found = check_subscription(Subscription(endpoint, **keys), ("https://push.example.org:8443",))
    assert found.endpoint == endpoint


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example/x",
        "http://fcm.googleapis.com/x",
        "https://fcm.googleapis.com:8443/x",
        "https://fcm.googleapis.com.evil.example/x",
        "https://evil.example/fcm.googleapis.com",
        "https://fcm.googleapis.com@evil.example/x",
        "https://notify.windows.com/x",
        "https://xnotify.windows.com/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://push.example.org/x",
        "file:///etc/passwd",
        "https://fcm.googleapis.com/x y",
        "https://fcm.googleapis.com/x\r\nX: y",
        "https://fcm.googleapis.com/#x",
        f"https://fcm.googleapis.com/{'x' * 1_000}",
        "",
    ],
)
def test_an_endpoint_elsewhere_is_refused_and_not_repeated(endpoint: str):
    keys = Browser("phone").keys
    with pytest.raises(ChannelError) as error:
        check_subscription(Subscription(endpoint, **keys), ("https://push.example.org:8443",))
    assert "WEBPUSH_HOSTS" in error.value.sentence()
    assert "/x" not in str(error.value)


@pytest.mark.parametrize("broken", [{"p256dh": "AAAA"}, {"auth": "AAAA"}, {"p256dh": "!"}, {"auth": ""}])
def test_keys_that_are_not_of_a_browser_are_refused(broken: dict[str, str]):
    with pytest.raises(ChannelError, match="subscription"):
        check_subscription(Subscription(FCM, **{**Browser("phone").keys, **broken}), ())


def test_a_point_off_the_curve_is_refused():
    off = base64.urlsafe_b64encode(b"\x04" + b"\x01" * 64).decode()
    with pytest.raises(ChannelError, match="not a point"):
        encrypt(b"x", Subscription(FCM, off, "BTBZMqHH6r4Tts7J_aSIgg"))


async def test_a_known_service_with_a_private_address_is_not_called():
    rules: list[Any] = []

    class Guarding(DirectTransport):
        def guarded(self, check_address: Any) -> Any:
            rules.append(check_address)
            return super().guarded(check_address)

    http = Guarding()
    keys, device = Browser("phone").keys, MemoryDocument()
    await Devices(device).add(Device("phone", Subscription("https://localhost.push.apple.com/x", **keys)))
    adapter = build_adapter(WebpushAdapter, {"WEBPUSH_CONTACT": ADDRESS}, http=http, document=device)
    assert not (await adapter.send("phone", "hello")).ok
    [rule] = rules
    with pytest.raises(ChannelError, match=r"the push service's address \S+ is private") as error:
        rule("192.168.1.1")
    assert "WEBPUSH_HOSTS" in error.value.hint
    await http.aclose()


async def test_a_removed_service_is_not_called_any_more():
    async with opened({"WEBPUSH_HOSTS": ""}) as (server, adapter):
        assert "not a known push service" in (await adapter.send("phone", "hello")).error
        assert server.requests == 0


@pytest.mark.parametrize("value", ["mailto:you@example.org", "https://status.example.org/contact", " mailto:a@b.io "])
def test_a_contact_is_a_mail_address_or_a_page(value: str):
    assert CONTACT.parse(value) == value.strip()


@pytest.mark.parametrize(
    "value",
    ["you@example.org", "mailto: you@example.org", "mailto:<you@example.org>", "http://example.org",
     "mailto:a@localhost", "https://nas.local", "https://", "mailto:a@ü.example"],
)  # fmt: skip
def test_a_contact_that_a_service_refuses_is_refused_before(value: str):
    with pytest.raises(ValueError, match="mailto"):
        CONTACT.parse(value)


def test_further_services_are_hosts_or_origins():
    assert HOSTS.parse("Push.example.org, http://10.0.0.5:8080") == ("https://push.example.org", "http://10.0.0.5:8080")
    for wrong in ("https://push.example.org/x", "*.example.org", "ftp://x.example", "a b/c"):
        with pytest.raises(ValueError, match="origins"):
            HOSTS.parse(wrong)


# --- the stand-in is as strict as the services


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"TTL": ""}, 400), ({"TTL": "2419201"}, 400), ({"Urgency": "max"}, 400), ({"Topic": "a b"}, 400),
     ({"Content-Encoding": "aesgcm"}, 415), ({"Authorization": "vapid"}, 401)],
)  # fmt: skip
async def test_the_stand_in_refuses_what_push_services_refuse(headers: dict[str, str], status: int):
    http = DirectTransport()
    async with PushService(clock=lambda: NOW) as server:
        given = {"TTL": "60", "Content-Encoding": "aes128gcm", **headers}
        reply = await http.request("POST", server.url + server.browser.path, headers=given, body=b"x" * 200)
        assert reply.status == status
        await http.aclose()


def test_the_stand_in_decrypts_only_what_is_for_its_browser():
    one, other = Browser("a"), Browser("b")
    body = encrypt(b"hello", Subscription(FCM, *one.keys.values()))
    assert one.decrypt(body) == b"hello"
    with pytest.raises(Exception):  # noqa: B017, PT011  # the answer that refuses
        other.decrypt(body)
    assert isinstance(one.private, ec.EllipticCurvePrivateKey)
