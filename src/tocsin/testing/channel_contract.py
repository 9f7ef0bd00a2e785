"""The channel contract as tests: subclass one in a test module and fill in its attributes.

class TestMyChannel(ChannelContract):
    adapter = MyAdapter
    env = {"MY_HOST": "made.up.example"}
    target = "somewhere"
    bad_targets = ("no good",)

    @asynccontextmanager
    async def opened(self, *, probing=False):
        async with a_server_that_takes_everything() as server:
            yield self.build(MY_HOST=server.host)

For a provider with an HTTP interface, `tocsin.testing.http_channel_contract` needs no server. Requires only
pytest; every test runs its own event loop, and no test sleeps. For details of a failed assertion, call
`pytest.register_assert_rewrite("tocsin.testing.channel_contract")` in a conftest.
"""
# ruff: noqa: S101  # asserting is what these functions are for

import asyncio
import inspect
import re
import sys
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from tocsin.channels.contract import OutboundAdapter, Outgoing, Part, RetryPolicy, SendResult
from tocsin.channels.registry import discover
from tocsin.core.config.core_variables import CORE_VARIABLES
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.text.measures import widest
from tocsin.testing.channel_bench import (
    ACCIDENTS,
    HOSTILE_TARGETS,
    HOSTILE_TEXTS,
    NOT_TEXT,
    base64,
    cancel_each,
    never,
    raising,
    words,
)
from tocsin.testing.fakes import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.message_contract import MessageContract


class ChannelContract(MessageContract):
    """The promises of every channel; the attributes describe the tested one."""

    # --- what the channel is

    def test_its_names_are_words_that_nobody_else_uses(self) -> None:
        """Users type kind and aliases; each must identify one channel."""
        spec = self.adapter.spec
        names = (spec.kind, *spec.aliases)
        assert all(re.fullmatch(r"[a-z][a-z0-9-]{1,29}", name) for name in names), f"lower-case words, not {names}"
        assert len(set(names)) == len(names), f"a name is repeated: {names}"
        others = [other.spec for other in discover().classes if other.spec.kind != spec.kind]
        taken = {name for other in others for name in (other.kind, *other.aliases)}
        assert not taken & set(names), f"{taken & set(names)} belongs to another channel"

    def test_it_says_in_words_what_it_is_and_what_a_target_looks_like(self) -> None:
        """Command line and documentation show them."""
        spec = self.adapter.spec
        assert spec.label.strip()
        assert spec.product.strip()
        assert spec.target_format.strip()

    def test_every_setting_is_documented_and_belongs_to_it_alone(self) -> None:
        """The reference page, `.env.example` and `tocsin config show` are generated from them."""
        variables = self.adapter.spec.variables
        names = [variable.name for variable in variables]
        assert len(set(names)) == len(names), f"a setting is repeated: {names}"
        others = {v.name for c in discover().classes if c.spec.kind != self.adapter.spec.kind for v in c.spec.variables}
        others |= {variable.name for variable in CORE_VARIABLES}
        assert not others & set(names), f"{others & set(names)} belongs to another channel or the core"
        for variable in variables:
            assert re.fullmatch(r"[A-Z][A-Z0-9_]*", variable.name), f"{variable.name}: upper-case letters, digits and _"
            assert variable.doc.strip().endswith("."), f"{variable.name}: its `doc` is one sentence"
            if variable.default and isinstance(variable.default, str):
                assert variable.parse(variable.default) == variable.default, f"{variable.name}: default is malformed"

    def test_secrets_are_marked_as_such_and_have_no_default(self) -> None:
        """Only marked variables are masked and readable from `NAME_FILE`."""
        spec = self.adapter.spec
        assert all(variable.secret and not variable.default for variable in spec.secrets)
        assert not [variable.name for variable in spec.options if variable.secret], "secrets belong in `secrets`"
        assert not [v.name for v in spec.variables if v.required and v.default], "a required variable has a default"

    def test_its_limits_fit_each_other(self) -> None:
        """Texts are split within the provider's limit, into parts that can hold any character."""
        spec = self.adapter.spec
        if spec.chunk_at is not None:
            assert widest(spec.measure) <= spec.chunk_at <= (spec.max_length or spec.chunk_at)
        assert spec.send_timeout_s > 0
        assert spec.test_timeout_s > 0
        assert spec.retry.longest_wait_s >= 0
        assert set(spec.inbound) <= {"polling", "webhook"}

    def test_it_overrides_nothing_that_keeps_the_promises(self) -> None:
        """`send`, `test_connection` and `transmit` remain the methods of the base class."""
        for name in ("send", "test_connection", "transmit"):
            assert getattr(self.adapter, name) is getattr(OutboundAdapter, name), f"{name} is overridden"
        assert inspect.iscoroutinefunction(self.adapter.deliver)
        assert inspect.iscoroutinefunction(self.adapter.probe)

    # --- constructing it

    def test_it_cannot_be_made_without_a_required_value_and_names_it(self) -> None:
        """The constructor raises ChannelError."""
        required = [variable.name for variable in self.adapter.spec.variables if variable.required]
        for missing in required:
            env = {name: value for name, value in self.env.items() if name != missing}
            with pytest.raises(ChannelError, match=missing):
                build_adapter(self.adapter, env)
        if required:
            with pytest.raises(ChannelError) as failure:
                build_adapter(self.adapter, {})
            assert all(name in str(failure.value) for name in required)

    def test_making_it_makes_no_call_and_shows_no_secret(self) -> None:
        """Adapters are constructed on demand, so constructing one must cost nothing."""
        http = ScriptedTransport()
        shown = repr(self.build(http))
        assert http.sent == []
        assert not [secret for secret in self.secrets() if secret in shown]

    # --- a send that works

    def test_a_good_send_gives_a_result_of_five_fields_with_a_delivery_note(self) -> None:
        result = self.send(self.target, "hello")
        assert result.ok, result.error
        assert list(result.as_dict()) == ["ok", "channel", "target", "message", "error"]
        assert result.target == self.target

    def test_a_good_test_names_the_account(self) -> None:
        """`connected as <name>`, with an empty target."""

        async def work() -> SendResult:
            async with self.opened(probing=True) as adapter:
                return await adapter.test_connection()

        result = self.well_formed(asyncio.run(work()))
        assert result.ok, result.error
        assert re.fullmatch("connected as .*[^ ?].*", result.message)
        assert result.target == ""

    def test_many_sends_at_the_same_time_do_not_disturb_each_other(self) -> None:
        """One adapter serves all callers of the program."""

        async def work() -> list[SendResult]:
            async with self.opened() as adapter:
                return await asyncio.gather(*(adapter.send(self.target, f"message {n}") for n in range(10)))

        assert [result for result in asyncio.run(work()) if not result.ok] == []

    # --- what callers may hand over

    @pytest.mark.parametrize("name", HOSTILE_TEXTS)
    def test_no_text_makes_a_send_raise(self, name: str) -> None:
        """An empty text is rejected; any other is sent or rejected, always with a result."""
        text = HOSTILE_TEXTS[name]
        result = self.send(self.target, text)
        if not text.replace("\0", "").strip():
            assert not result.ok, "a blank text was sent"

    @pytest.mark.parametrize("value", NOT_TEXT, ids=lambda value: type(value).__name__)
    def test_what_is_no_text_is_refused_in_a_result(self, value: Any) -> None:
        """Callers from Python may pass anything."""
        assert not self.send(self.target, value).ok
        assert not self.send(value, "hello").ok

    def test_a_target_of_the_wrong_shape_is_refused_before_any_call(self) -> None:
        """A malformed target leads to no call."""
        for target in (*HOSTILE_TARGETS, *self.bad_targets):
            http = ScriptedTransport()
            result = self.well_formed(asyncio.run(self.build(http).send(target, "hello")))
            assert not result.ok, f"{target[:60]!r} was taken for a target"
            assert http.sent == [], f"{target[:60]!r} led to a call"

    def test_an_unknown_parse_mode_is_refused(self) -> None:
        """A misspelt parse mode must not change the formatting silently."""
        receipt = asyncio.run(self.build().transmit(Outgoing(self.target, "hello", parse_mode="no such mode")))
        assert not self.well_formed(receipt.result).ok

    # --- what may go wrong

    @pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: type(accident).__name__)
    def test_no_exception_of_the_authors_code_gets_out(self, accident: Exception) -> None:
        """`send` and `test_connection` never raise; `error` carries the reason."""
        adapter = self.faked(raising(accident))
        self.failures(adapter)

    def test_a_missing_package_is_named_with_the_way_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Optional packages are imported when needed."""
        missing = ModuleNotFoundError("No module named 'fancy_sdk.client'", name="fancy_sdk.client")
        adapters = [("fancy_sdk", self.faked(raising(missing)))]
        adapters += [(package, self.build()) for package in self.packages]
        for package, adapter in adapters:
            with monkeypatch.context() as patch:
                patch.setitem(sys.modules, package, None)
                for result in self.failures(adapter):
                    assert f"{package}: package not installed" in result.error
                    assert "install" in result.error

    def test_a_call_that_never_ends_is_ended(self) -> None:
        """The time limit covers the whole call; the outcome is then unknown."""
        adapter = self.faked(never, send_timeout_s=0.01, test_timeout_s=0.01)
        result = self.well_formed(asyncio.run(adapter.send(self.target, "hello")))
        assert "outcome unknown" in result.error
        assert not self.well_formed(asyncio.run(adapter.test_connection())).ok

    def test_cancelling_ends_a_send_and_a_test_at_once(self) -> None:
        """Stopping the program does not wait for a provider, and is not a failure."""

        async def work() -> None:
            started = asyncio.Event()

            async def deliver(part: Part) -> str:
                started.set()
                return await never(part)

            adapter = self.faked(deliver)
            await cancel_each(started, partial(adapter.send, self.target, "hello"), adapter.test_connection)

        asyncio.run(work())

    # --- secrets

    def test_no_secret_is_shown_whatever_goes_wrong(self) -> None:
        """Raw, URL-encoded or in base64: libraries and providers repeat their input."""
        for secret in self.secrets():
            adapter = self.faked(raising(ValueError(f"bad: {secret} {quote(secret, safe='')} {base64(secret)}")))
            for result in self.failures(adapter):
                self.hides(secret, result)

    # --- several parts

    def test_a_long_text_goes_out_in_parts_that_fit_one_after_the_other(self) -> None:
        """Unless it is rejected before any call, or the channel has no limit."""
        parts: list[Part] = []

        async def deliver(part: Part) -> str:
            parts.append(part)
            await asyncio.sleep(0)
            return f"note {len(parts)}"

        adapter, spec = self.faked(deliver), self.adapter.spec
        limit = adapter.chunk_at()
        text = words(3 * (limit or spec.max_length or 10_000))
        receipt = asyncio.run(adapter.transmit(Outgoing(self.target, text, key="delivery-1")))
        if limit is None and spec.max_length is not None:
            assert not self.well_formed(receipt.result).ok
            assert f"{spec.max_length:,}" in receipt.result.error
            assert parts == []
            return
        several = f" ({len(parts)} parts)" if len(parts) > 1 else ""
        assert (self.well_formed(receipt.result).message, receipt.provider_id) == (f"note 1{several}", "note 1")
        assert receipt.parts_sent == receipt.parts_total == len(parts)
        assert " ".join(part.text for part in parts).split() == text.split()
        assert len({part.key for part in parts}) == len(parts)
        assert len(parts) > 2 if limit else len(parts) == 1
        assert all(spec.measure(part.text) <= limit for part in parts if limit)

    def test_a_part_that_fails_ends_the_send_and_the_error_counts_what_went_out(self) -> None:
        """`sent k-1 of n parts: …`; no part is sent after a failed one."""
        parts: list[Part] = []

        async def deliver(part: Part) -> str:
            parts.append(part)
            if len(parts) == 2:
                raise ChannelError("made-up refusal")
            return "note"

        adapter = self.faked(deliver)
        if not (limit := adapter.chunk_at()):
            return  # it never splits
        receipt = asyncio.run(adapter.transmit(Outgoing(self.target, words(3 * limit))))
        assert receipt.result.error == f"sent 1 of {receipt.parts_total} parts: made-up refusal"
        assert (len(parts), receipt.parts_sent) == (2, 1)

    def test_every_attempt_at_a_part_has_the_same_key(self) -> None:
        """The key is stable over attempts of one message and differs between messages."""
        keys: list[str] = []

        async def deliver(part: Part) -> str:
            keys.append(part.key)
            raise ChannelError("made-up", kind=FailureKind.TRANSIENT)

        adapter = self.faked(deliver, clock=FakeClock(), retry=RetryPolicy(transient=2))
        for key in ("delivery-1", "delivery-1", "", ""):
            asyncio.run(adapter.transmit(Outgoing(self.target, "hello", key=key)))
        first, second, third, fourth = (set(keys[n : n + 3]) for n in range(0, 12, 3))
        assert first == second
        assert [len(attempts) for attempts in (first, third, fourth)] == [1, 1, 1]
        assert len(first | third | fourth) == 3
