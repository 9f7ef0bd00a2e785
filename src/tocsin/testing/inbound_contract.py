"""The receiving contract as tests: subclass it in a test module and fill in its attributes.

class TestMyChannelReceives(InboundContract):
    adapter = MyAdapter
    env = {"MY_TOKEN": "made-up", "MY_SECRET": "made-up"}
    secret = "MY_SECRET"
    messages = {"a text": b'{"id": 1, "text": "hello"}'}
    ignored = {"a member left": b'{"id": 2, "left": true}'}

    def signed(self, body, now):
        return WebhookRequest((("x-my-signature", sign(body)),), body)

Requires pytest and hypothesis; every test runs its own event loop, and no test sleeps. For details of a
failed assertion, call `pytest.register_assert_rewrite("tocsin.testing.inbound_contract")` in a conftest.
"""
# ruff: noqa: S101  # asserting is what these functions are for

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.channels.action_tokens import ActionToken, read_token
from tocsin.channels.contract import OutboundAdapter
from tocsin.channels.inbound import (
    Handshake,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    RejectedError,
    WebhookRequest,
    WebhookResponse,
)
from tocsin.core.errors import ChannelError
from tocsin.core.http.transport import HttpResponse, Transport, connect_failed
from tocsin.core.time.clock import Clock
from tocsin.testing.fakes import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.inbound_bench import HOSTILE_BODIES, NOT_ASCII, build_receiver, deformed, replaced, run, spoilt

UNREACHABLE = connect_failed("https://provider.example", "made-up")


def unreachable() -> ScriptedTransport:
    """Return a transport that cannot connect."""
    return ScriptedTransport([UNREACHABLE])


class InboundContract:
    """The promises of every channel that receives; the attributes describe the tested one."""

    adapter: ClassVar[type[OutboundAdapter]]
    env: ClassVar[Mapping[str, str]]  # invented but well-formed values
    secret: ClassVar[str]  # the variable without which every call is rejected
    messages: ClassVar[Mapping[str, bytes]]  # bodies that contain a message
    ignored: ClassVar[Mapping[str, bytes]] = {}  # bodies that are ignored
    handshakes: ClassVar[Mapping[str, bytes]] = {}  # bodies that only need a response
    proof_in_headers: ClassVar[bool] = True  # False if the proof is a part of the body
    signs_body: ClassVar[bool] = True  # False if the proof is a shared secret, which does not cover the body

    def signed(self, body: bytes, now: float) -> WebhookRequest:
        """Return the call as the product makes it at `now`; override it."""
        raise NotImplementedError

    def press(self, token: str) -> bytes:
        """Return the body of the press of a button that carries `token`; override it if the channel has buttons."""
        raise NotImplementedError

    def variants(self, body: bytes) -> Iterator[bytes]:
        """Yield variants of `body`; override it if bodies are not JSON."""
        for document in deformed(json.loads(body)):
            yield json.dumps(document).encode()

    # --- the bench

    def build(
        self, env: Mapping[str, str] | None = None, *, http: Transport | None = None, clock: Clock | None = None
    ) -> InboundAdapter:
        """Build the receiver from `self.env`, or from `env`."""
        return build_receiver(self.adapter, self.env if env is None else env, http=http, clock=clock)

    def received(self, body: bytes, receiver: InboundAdapter | None = None) -> InboundMessage | Handshake | None:
        """Return the result of parsing `body`."""
        call = self.signed(body, FakeClock().now())
        return run((receiver or self.build()).receive(call))

    def message(self, body: bytes, receiver: InboundAdapter | None = None) -> InboundMessage:
        """Return the message in `body`; fail if it has none."""
        message = self.received(body, receiver)
        assert isinstance(message, InboundMessage), f"no message but {message}"
        return message

    def rejected(self, call: WebhookRequest, env: Mapping[str, str] | None = None) -> None:
        """Fail unless `verify` raises RejectedError for `call`."""
        with pytest.raises(RejectedError):
            self.build(env).verify(call, FakeClock().now())

    def good_calls(self) -> Iterator[WebhookRequest]:
        """Yield a signed call for every body of the attributes."""
        for body in (*self.messages.values(), *self.ignored.values(), *self.handshakes.values()):
            yield self.signed(body, FakeClock().now())

    # --- what it is

    def test_the_channel_says_that_it_receives_and_by_what_name(self) -> None:
        """The route and the registry find it by its name."""
        receiver = self.build()
        assert receiver.name == self.adapter.spec.kind
        assert self.adapter.spec.inbound
        assert not [v.name for v in self.adapter.spec.receiving if v.required], "sending must not need it"
        assert self.secret in {v.name for v in self.adapter.spec.variables}

    def test_making_it_makes_no_call_and_never_fails(self) -> None:
        """Without its settings, it can be constructed, and rejects every call."""
        http = ScriptedTransport()
        build_receiver(self.adapter, {}, http=http)
        assert http.sent == []

    # --- who may call

    def test_a_signed_call_is_accepted(self) -> None:
        for call in self.good_calls():
            self.build().verify(call, FakeClock().now())

    def test_without_a_configured_secret_every_call_is_rejected(self) -> None:
        """An empty secret must not verify anything."""
        for call in self.good_calls():
            self.rejected(call, {name: value for name, value in self.env.items() if name != self.secret})

    def test_a_call_without_a_header_of_its_proof_is_rejected(self) -> None:
        """Every header of the proof is required."""
        if not self.proof_in_headers:
            pytest.skip("the proof of this product is in the body")
        for call in self.good_calls():
            self.rejected(replace(call, headers=()))
            for left_out in call.headers:
                self.rejected(replace(call, headers=tuple(h for h in call.headers if h != left_out)))

    def test_a_header_that_is_not_exactly_right_is_rejected(self) -> None:
        """Every value below differs from the valid one."""
        for call in self.good_calls():
            for place, (name, value) in enumerate(call.headers):
                last = "0" if value[-1] != "0" else "1"
                for other in ("", " ", value[:-1], value + "0", value[:-1] + last, value + "é", f"{value}, {value}"):
                    self.rejected(replace(call, headers=replaced(call.headers, place, (name, other))))

    def test_a_header_that_is_there_twice_is_accepted_only_with_the_same_value(self) -> None:
        """A proxy may repeat a header; with two values, two programs could read different calls."""
        for call in self.good_calls():
            self.build().verify(replace(call, headers=call.headers * 2), FakeClock().now())
            for name, value in call.headers:
                for other in ("", "0", value[:-1]):
                    self.rejected(replace(call, headers=(*call.headers, (name, other))))
                    self.rejected(replace(call, headers=((name, other), *call.headers)))

    def test_another_body_is_rejected(self) -> None:
        """The proof covers the raw bytes."""
        if not self.signs_body:
            pytest.skip("the proof of this product does not cover the body")
        for call in self.good_calls():
            for body in (b"", call.body + b" ", call.body[:-1], b" " + call.body):
                self.rejected(replace(call, body=body))

    def test_no_header_makes_a_check_fail_in_any_other_way(self) -> None:
        """`verify` raises RejectedError, whatever the headers contain."""
        if not self.proof_in_headers:
            pytest.skip("the proof of this product is in the body")
        names = sorted({name for call in self.good_calls() for name, _ in call.headers})
        receiver = self.build()

        @settings(max_examples=100, deadline=None)
        @given(st.lists(st.tuples(st.sampled_from(names), st.text() | st.sampled_from(NOT_ASCII))), st.binary())
        def check(headers: list[tuple[str, str]], body: bytes) -> None:
            with pytest.raises(RejectedError):
                receiver.verify(WebhookRequest(tuple(headers), body), FakeClock().now())

        check()

    def test_a_repeated_call_is_known_by_its_proof(self) -> None:
        """Repeated headers do not change the key, and different calls have different keys."""
        receiver = self.build()
        keys = [receiver.replay_key(call) for call in self.good_calls()]
        if not any(keys):
            pytest.skip("this product's calls are told apart by their content alone")
        assert keys == [receiver.replay_key(replace(call, headers=call.headers * 2)) for call in self.good_calls()]
        assert len(set(keys)) == len(keys)
        assert all(0 < len(key) <= 100 for key in keys)

    # --- what it reads

    def test_every_kind_of_body_is_taken_for_what_it_is(self) -> None:
        """A message, a handshake, or `None`."""
        for name, body in self.messages.items():
            message = self.received(body)
            assert isinstance(message, InboundMessage), f"{name}: no message but {message}"
            assert message.channel == self.adapter.spec.kind
        for name, body in self.handshakes.items():
            assert isinstance(self.received(body), Handshake), name
        for name, body in self.ignored.items():
            assert self.received(body) is None, name

    @pytest.mark.parametrize("name", HOSTILE_BODIES)
    def test_a_hostile_body_gives_nothing_or_something_harmless(self, name: str) -> None:
        """The product would repeat the call if reading it raised."""
        receiver = self.build(http=unreachable())
        self.assert_usable(run(receiver.receive(WebhookRequest((), HOSTILE_BODIES[name]))), receiver)

    def test_no_value_of_a_message_makes_reading_fail(self) -> None:
        """One value at a time is missing or of another type, size or alphabet; the product is unreachable."""
        receiver = self.build(http=unreachable())

        async def check() -> None:
            for body in (*self.messages.values(), *self.ignored.values(), *self.handshakes.values()):
                for variant in self.variants(body):
                    self.assert_usable(await receiver.receive(WebhookRequest((), variant)), receiver)

        run(check())

    def test_no_bytes_make_reading_fail(self) -> None:
        """Random bytes, and good bodies cut or with bytes inserted."""
        receiver = self.build(http=unreachable())
        good = st.sampled_from([call.body for call in self.good_calls()])

        @settings(deadline=None)
        @given(st.binary() | st.builds(spoilt, good, st.integers(0, 2_000), st.binary(max_size=8)))
        def check(body: bytes) -> None:
            self.assert_usable(runner.run(receiver.receive(WebhookRequest((), body))), receiver)

        with asyncio.Runner() as runner:
            check()

    def assert_usable(self, found: InboundMessage | Handshake | None, receiver: InboundAdapter) -> None:
        """Fail unless `found` is `None`, a handshake, or a message that can be stored and answered."""
        assert found is None or isinstance(found, Handshake | InboundMessage)
        if isinstance(found, InboundMessage):
            stored = json.dumps(found.stored(), ensure_ascii=False).encode()  # fails for a lone surrogate
            assert len(stored) < 400_000
            assert found.dedupe_keys
            assert all(0 < len(key) <= 300 for key in found.dedupe_keys)
            assert 0 < len(found.id) <= 200
            assert len(found.chat_id) <= 200
            assert "\0" not in found.text + found.args
            assert isinstance(receiver.reply_target(found), str)
            assert isinstance(receiver.reply_extra(found), dict)
            assert 200 <= receiver.answer_to(found).status < 300

    # --- the outcome of a message

    def test_a_message_survives_being_stored(self) -> None:
        """All fields but `reply_context`, which is kept in memory only."""
        for body in self.messages.values():
            message = self.message(body)
            document = json.loads(json.dumps(message.stored()))
            assert InboundMessage.restore(document) == message
            assert not InboundMessage.restore(document).reply_context
            for value in message.reply_context.values():
                assert not isinstance(value, str) or value not in json.dumps(document)
                assert not isinstance(value, str) or value not in repr(message)

    def test_a_message_that_comes_twice_has_the_same_keys(self) -> None:
        """Its keys are stable, and no other message shares one."""
        for body in self.messages.values():
            assert self.message(body).dedupe_keys == self.message(body).dedupe_keys
        keys = [key for body in self.messages.values() for key in self.message(body).dedupe_keys]
        assert len(set(keys)) == len(keys), "two of the messages share a key"

    def test_a_press_brings_the_token_of_its_button_and_who_pressed_it(self) -> None:
        """These fields decide who may press, and what a repeated press does."""
        if not self.adapter.spec.shows("call"):
            pytest.skip("this channel has no buttons")
        token = ActionToken("01a219af-f6be-7dc1-8f24-099ce20e70aa", 3, "made-up-secret-0000000")
        body = self.press(str(token))
        message = self.message(body)
        assert (message.kind, read_token(message.callback_data)) == (MessageKind.CALLBACK, token)
        assert message.sender_id, "the press names no person"
        assert message.chat_id, "the press names no chat"
        assert message.dedupe_keys == self.message(body).dedupe_keys

    def test_what_was_stored_what_came_twice_and_what_is_ignored_is_answered_well(self) -> None:
        """Any status but 2xx would make the product repeat the call."""
        receiver = self.build()
        assert 200 <= receiver.answer_to(None).status < 300
        for body in self.messages.values():
            message = self.message(body)
            answer = receiver.answer_to(message)
            assert isinstance(answer, WebhookResponse)
            assert 200 <= answer.status < 300
            assert receiver.answer_to(InboundMessage.restore(message.stored())) == answer

    def test_the_outbound_side_takes_the_target_of_a_reply(self) -> None:
        """Replies go through the queue like every message."""
        outbound = build_adapter(self.adapter, self.env)
        receiver = self.build()
        for body in self.messages.values():
            target = receiver.reply_target(self.message(body))
            assert outbound.check_target(target)

    def test_after_a_restart_an_answer_goes_through_the_queue(self) -> None:
        """`reply_context` is then lost, so a direct reply raises ChannelError without a call."""
        http = ScriptedTransport()
        receiver = self.build(http=http)
        for body in self.messages.values():
            restored = InboundMessage.restore(self.message(body).stored())
            with pytest.raises(ChannelError):
                run(receiver.send_response(restored, "hello"))
            if restored.callback_id is None:  # a press can still be answered
                with pytest.raises(ChannelError):
                    run(receiver.answer_privately(restored, "hello"))
        assert http.sent == []

    def test_trouble_with_the_provider_is_a_channel_error(self) -> None:
        """Acknowledging, the typing indicator and replying raise ChannelError only."""
        for answer in (UNREACHABLE, HttpResponse(500, {}, b"<h1>500</h1>")):
            for body in self.messages.values():
                receiver = self.build(http=ScriptedTransport([answer]))
                message = self.message(body, receiver)
                for work in (
                    partial(receiver.acknowledge, message),
                    partial(receiver.start_processing_indicator, message),
                    partial(receiver.send_response, message, "hello"),
                    partial(receiver.answer_privately, message, "hello"),
                    partial(receiver.withdraw, message),
                ):
                    with suppress(ChannelError):
                        run(work())

    def test_no_secret_is_shown(self) -> None:
        """Neither by the receiver nor by its rejections."""
        secrets = [self.env[v.name] for v in self.adapter.spec.variables if v.secret and v.name in self.env]
        receiver = self.build()
        shown = repr(receiver)
        for call in self.good_calls():
            try:
                receiver.verify(replace(call, headers=call.headers[:-1]), FakeClock().now())
            except RejectedError as error:
                shown += error.sentence()
        assert not [secret for secret in secrets if secret in shown]
