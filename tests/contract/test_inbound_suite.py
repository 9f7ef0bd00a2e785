"""The suite of receiving fails for channels that break its promises, one at a time."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.inbound import (
    Handshake,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    RejectedError,
    WebhookRequest,
    WebhookResponse,
)
from tocsin.core.config.variables import Variable, token
from tocsin.core.reading.untrusted import clean_text, identifier, json_object
from tocsin.testing.inbound_contract import InboundContract

SECRET = Variable("BELL_SECRET", token, "", "Secret of the bell.", secret=True)


def proof(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, "sha256").hexdigest()


class Ear(InboundAdapter):
    """Keeps every promise."""

    name = "bell"

    def verify(self, request: WebhookRequest, now: float) -> None:
        secret = self.config[SECRET]
        if not secret or request.agreed_value("x-proof") != proof(secret, request.body):
            raise RejectedError("no")

    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        call = json_object(request.body) or {}
        if call.get("hello") is True:
            return Handshake(WebhookResponse())
        said, text = identifier(call.get("id")), clean_text(call.get("text"))
        if not said or not text:
            return None
        context = {"url": f"https://bell.example/{said}"}
        keys = (f"id:{said}",)
        return InboundMessage("bell", MessageKind.MESSAGE, said, keys, "tower", text, reply_context=context)

    def reply_target(self, message: InboundMessage) -> str:
        return message.chat_id


class Bell(OutboundAdapter):
    spec = ChannelSpec(kind="bell", label="Bell", product="Bell", receiving=(SECRET,), inbound=("webhook",))
    ear: type[InboundAdapter] = Ear

    @classmethod
    def receiver(cls) -> type[InboundAdapter]:
        return cls.ear

    def check_target(self, target: str) -> str:
        assert target == "tower"
        return target

    async def deliver(self, part: Part) -> str:
        return "bong"

    async def probe(self) -> str:
        return "ringer"


def suite_for(**methods: Any) -> Any:
    """Return the suite of a channel that is good but for these methods of its inbound side."""

    class Suite(InboundContract):
        adapter = type("Other", (Bell,), {"ear": type("OtherEar", (Ear,), methods)})
        env = {"BELL_SECRET": "made-up-secret"}
        secret = "BELL_SECRET"
        messages = {"one": b'{"id": "1", "text": "hello"}', "two": b'{"id": "2", "text": "hi"}'}
        ignored = {"nothing": b'{"id": "3"}'}
        handshakes = {"hello": b'{"hello": true}'}

        def signed(self, body: bytes, now: float) -> WebhookRequest:
            return WebhookRequest((("x-proof", proof("made-up-secret", body)),), body)

    return Suite()


def trusting(self: Ear, request: WebhookRequest, now: float) -> None:
    """Let everybody in."""


def strict(self: Ear, request: WebhookRequest, now: float) -> None:
    raise RejectedError("no")


def hasty(self: Ear, request: WebhookRequest, now: float) -> None:
    """Compare with the first header alone, and as text."""
    given = request.values("x-proof")[0]
    if not hmac.compare_digest(given, proof(self.config[SECRET] or "x", request.body)):
        raise RejectedError("no")


def deaf(self: Ear, request: WebhookRequest, now: float) -> None:
    """Compare the length of the body only."""
    if request.agreed_value("x-proof") and not self.config[SECRET]:
        raise RejectedError("no")


async def credulous(self: Ear, request: WebhookRequest) -> InboundMessage:
    """Take every body for the right one."""
    call = json.loads(request.body)
    return InboundMessage("bell", MessageKind.MESSAGE, call["id"], (call["id"],), "tower", call["text"])


async def forgetful(self: Ear, request: WebhookRequest) -> InboundMessage:
    """Name every message anew."""
    return InboundMessage("bell", MessageKind.MESSAGE, "1", (str(id(object())) + str(id(request)),), "tower", "x")


async def keyless(self: Ear, request: WebhookRequest) -> InboundMessage:
    """Give all messages one key."""
    return InboundMessage("bell", MessageKind.MESSAGE, "1", ("key",), "tower", "x")


async def raising(self: Ear, message: InboundMessage, response: str = "") -> None:
    raise KeyError("made-up")


async def calling(self: Ear, message: InboundMessage, response: str) -> None:
    """Answer although there is no address."""
    await self.http.request("POST", "https://bell.example", headers={})


Check = Callable[[Any], None]
BROKEN: dict[str, tuple[dict[str, Any], Check]] = {
    "lets everybody in": ({"verify": trusting}, lambda s: s.test_a_call_without_a_header_of_its_proof_is_rejected()),
    "needs no secret": ({"verify": trusting}, lambda s: s.test_without_a_configured_secret_every_call_is_rejected()),
    "raises something else": ({"verify": hasty}, lambda s: s.test_no_header_makes_a_check_fail_in_any_other_way()),
    "believes the first of two headers": (
        {"verify": hasty},
        lambda s: s.test_a_header_that_is_there_twice_is_accepted_only_with_the_same_value(),
    ),
    "does not look at the proof": ({"verify": deaf}, lambda s: s.test_a_header_that_is_not_exactly_right_is_rejected()),
    "does not look at the body": ({"verify": deaf}, lambda s: s.test_another_body_is_rejected()),
    "turns good calls away": (
        {"verify": strict},
        lambda s: s.test_a_signed_call_is_accepted(),
    ),
    "chokes on bytes": ({"receive": credulous}, lambda s: s.test_no_bytes_make_reading_fail()),
    "chokes on a missing value": (
        {"receive": credulous},
        lambda s: s.test_no_value_of_a_message_makes_reading_fail(),
    ),
    "chokes on depth": (
        {"receive": credulous},
        lambda s: s.test_a_hostile_body_gives_nothing_or_something_harmless("100,000 levels of lists"),
    ),
    "takes everything for a message": (
        {"receive": keyless},
        lambda s: s.test_every_kind_of_body_is_taken_for_what_it_is(),
    ),
    "forgets its keys": ({"receive": forgetful}, lambda s: s.test_a_message_that_comes_twice_has_the_same_keys()),
    "shares its keys": ({"receive": keyless}, lambda s: s.test_a_message_that_comes_twice_has_the_same_keys()),
    "answers with an error": (
        {"answer_to": lambda *_: WebhookResponse(500)},
        lambda s: s.test_what_was_stored_what_came_twice_and_what_is_ignored_is_answered_well(),
    ),
    "replies to nowhere": (
        {"reply_target": lambda *_: "cellar"},
        lambda s: s.test_the_outbound_side_takes_the_target_of_a_reply(),
    ),
    "answers after a restart": (
        {"send_response": calling},
        lambda s: s.test_after_a_restart_an_answer_goes_through_the_queue(),
    ),
    "raises while it acknowledges": (
        {"acknowledge": raising},
        lambda s: s.test_trouble_with_the_provider_is_a_channel_error(),
    ),
    "knows no call again": (
        {"replay_key": lambda _, request: str(len(request.headers))},
        lambda s: s.test_a_repeated_call_is_known_by_its_proof(),
    ),
    "goes by another name": ({"name": "gong"}, lambda s: s.test_the_channel_says_that_it_receives_and_by_what_name()),
    "shows its secret": (
        {"__repr__": lambda self: f"<{self.config[SECRET]}>"},
        lambda s: s.test_no_secret_is_shown(),
    ),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_the_suite_fails_for_a_channel_that(promise: str):
    methods, check = BROKEN[promise]
    with pytest.raises((Exception, pytest.fail.Exception)) as failure:
        check(suite_for(**methods))
    assert not isinstance(failure.value, pytest.skip.Exception)


@pytest.mark.parametrize("promise", BROKEN)
def test_the_suite_passes_for_a_channel_that_keeps_the_promise(promise: str):
    _, check = BROKEN[promise]
    keeps = {"replay_key": lambda _, request: request.values("x-proof")[0]}
    check(suite_for(**(keeps if promise == "knows no call again" else {})))
