"""The channel contract for providers with an HTTP interface, with scripted responses instead of a server.

class TestMyChannel(HttpChannelContract):
    adapter = MyAdapter
    env = {"MY_TOKEN": "made-up-token-000000"}
    target = "somewhere"
    bad_targets = ("no good",)
    sent = {"id": "1"}
    probed = {"name": "bot"}
"""
# ruff: noqa: S101  # asserting is what these functions are for

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import ClassVar
from urllib.parse import quote

import pytest

from tocsin.channels.contract import OutboundAdapter, Outgoing
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.http.transport import HttpResponse, outcome_unknown
from tocsin.testing.channel_bench import (
    ACCIDENTS,
    NO_SUCCESS,
    Failing,
    Hanging,
    cancel_each,
    echoes,
)
from tocsin.testing.channel_contract import ChannelContract
from tocsin.testing.fakes import FakeClock, ScriptedTransport


class HttpChannelContract(ChannelContract):
    """Tests of a channel that calls its provider over the transport it is given."""

    sent: ClassVar[object]  # the provider's response to a delivery: a JSON document
    probed: ClassVar[object]  # its response to the probe
    resends_safely: ClassVar[bool] = False  # it repeats an unanswered call: the provider recognises duplicates

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        """Yield an adapter whose provider accepts messages, or with `probing` the credentials."""
        yield self.build(ScriptedTransport().will_answer(self.probed if probing else self.sent))

    def test_a_cancelled_call_ends_at_once(self) -> None:
        """Stopping the program does not wait for a provider."""

        async def work() -> None:
            hanging = Hanging()
            adapter = self.build(hanging)
            await cancel_each(hanging.started, partial(adapter.send, self.target, "hello"), adapter.test_connection)

        asyncio.run(work())

    @pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: type(accident).__name__)
    def test_no_exception_of_the_transport_gets_out(self, accident: Exception) -> None:
        """Also if the transport raises."""
        adapter = self.build(Failing(accident))
        self.failures(adapter)

    @pytest.mark.parametrize("kind", FailureKind)
    def test_a_failed_call_is_tried_again_only_as_the_retry_policy_allows(self, kind: FailureKind) -> None:
        """A message that may have arrived is not sent again, unless the provider recognises duplicates."""
        http = ScriptedTransport().will_raise(RemoteError("made-up failure", kind=kind))
        if kind is FailureKind.AMBIGUOUS:
            http = ScriptedTransport().will_raise(outcome_unknown("https://made.up", "did not answer"))
        clock = FakeClock()
        receipt = asyncio.run(self.build(http, clock).transmit(Outgoing(self.target, "hello")))
        policy = self.adapter.spec.retry
        further = {FailureKind.TRANSIENT: policy.transient, FailureKind.RATE_LIMITED: policy.rate_limited}
        assert not self.well_formed(receipt.result).ok
        assert receipt.attempts == 1 + further.get(kind, 0)
        waits = [(2**n, 2**n * 1.25) for n in range(further.get(kind, 0))]  # 1, 2, 4 s and jitter
        assert all(low <= slept <= high for slept, (low, high) in zip(clock.slept, waits, strict=True))
        if kind is FailureKind.AMBIGUOUS:
            assert "outcome unknown" in receipt.result.error
            assert len(http.sent) == 1 or self.resends_safely, "sent again although it may have arrived"

    def test_a_wait_that_the_provider_asks_for_is_honoured(self) -> None:
        """HTTP 429 with `Retry-After` within the policy's limit: wait exactly that long, then retry."""
        clock = FakeClock()
        http = ScriptedTransport().will_answer(b"slow down", 429, {"retry-after": "7"}).will_answer(self.sent)
        result = asyncio.run(self.build(http, clock).send(self.target, "hello"))
        allowed = self.adapter.spec.retry.rate_limited > 0
        assert self.well_formed(result).ok is allowed, result.error
        assert sum(clock.slept) == pytest.approx(7 if allowed else 0)

    def test_a_wait_that_is_too_long_fails_at_once_and_says_how_long(self) -> None:
        """A caller does not wait for an hour."""
        clock = FakeClock()
        http = ScriptedTransport().will_answer(b"slow down", 429, {"retry-after": "3600"}).will_answer(self.sent)
        result = self.well_formed(asyncio.run(self.build(http, clock).send(self.target, "hello")))
        assert not result.ok
        assert clock.slept == []
        assert "3600" in result.error

    @pytest.mark.parametrize("name", NO_SUCCESS)
    def test_an_answer_that_is_not_the_providers_is_no_success(self, name: str) -> None:
        """A proxy or a captive portal also responds with 200."""
        status, body = NO_SUCCESS[name]
        http = ScriptedTransport()
        http.script.append(HttpResponse(status, {"content-type": "text/html"}, body))
        adapter = self.build(http, FakeClock())
        self.failures(adapter)

    def test_an_answer_that_broke_off_leaves_the_outcome_unknown(self) -> None:
        """The provider probably accepted the message."""
        http = ScriptedTransport()
        http.script.append(HttpResponse(200, {}, json.dumps(self.sent).encode()[:-1], complete=False))
        result = self.well_formed(asyncio.run(self.build(http).send(self.target, "hello")))
        assert not result.ok
        assert "outcome unknown" in result.error

    def test_a_redirect_is_not_followed(self) -> None:
        """A redirect could send the credentials to another host."""
        http = ScriptedTransport().will_answer(self.sent, 302, {"location": "https://elsewhere.example/"})
        result = self.well_formed(asyncio.run(self.build(http).send(self.target, "hello")))
        assert not result.ok
        assert len(http.sent) == 1

    @pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 429, 500])
    def test_no_secret_is_shown_when_the_provider_repeats_it(self, status: int) -> None:
        """In any response, including a successful one."""
        for secret in self.secrets():
            for body in echoes(secret, self.sent, self.probed):
                headers = {"location": f"https://x.example/{quote(secret)}", "x-echo": secret}
                adapter = self.build(ScriptedTransport().will_answer(body, status, headers), FakeClock())
                for result in self.outcomes(adapter):
                    self.hides(secret, result)
