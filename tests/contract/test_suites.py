"""The contract suites fail for channels that break the contract, one broken promise at a time."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, SendResult
from tocsin.channels.replies import unusable
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.errors import ChannelError
from tocsin.testing.http_channel_contract import HttpChannelContract

TOKEN = Variable("BELL_TOKEN", token, "", "Token of the bell.", secret=True, required=True)
URL = Variable("BELL_URL", base_url, "https://bell.example", "Address of the bell.")
SPEC = ChannelSpec(
    kind="bell",
    label="Bell",
    product="Made-up bell",
    secrets=(TOKEN,),
    options=(URL,),
    target_format="a tower",
    chunk_at=100,
)


class Bell(OutboundAdapter):
    spec = SPEC

    def check_target(self, target: str) -> str:
        if target.isdigit():
            raise ChannelError(f"{target!r} is no tower")
        return target

    async def deliver(self, part: Part) -> str:
        return await self.ring(f"{part.target}: {part.text}")

    async def probe(self) -> str:
        return await self.ring("?")

    async def ring(self, text: str) -> str:
        headers = {"authorization": self.config[TOKEN]}
        reply = await self.http.request("POST", self.config[URL], headers=headers, body=text.encode())
        answer = reply.json_object() or {}
        if reply.status != 200 or not isinstance(answer.get("rung"), str):
            raise unusable(reply, URL.name)
        return str(answer["rung"])


def suite_for(channel: type[OutboundAdapter]) -> Any:
    class Suite(HttpChannelContract):
        adapter = channel
        env = {"BELL_TOKEN": "made-up-token-0001"}
        target = "tower"
        bad_targets = ("123",)
        sent = {"rung": "bong"}
        probed = {"rung": "ringer"}

    return Suite()


class Forgetful(Bell):
    """Does not look at what the provider answers."""

    async def ring(self, text: str) -> str:
        await self.http.request("POST", self.config[URL], headers={}, body=text.encode())
        return "bong"


class Talkative(Bell):
    """Shows its token."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._redact = str  # type: ignore[assignment]


class Stubborn(Bell):
    """Does not let itself be cancelled."""

    async def ring(self, text: str) -> str:
        try:
            return await super().ring(text)
        except asyncio.CancelledError:
            return "bong"


class Impatient(Bell):
    """Sends again at once what may have been delivered."""

    async def ring(self, text: str) -> str:
        try:
            return await super().ring(text)
        except Exception:  # noqa: BLE001
            return await super().ring(text)


class Undemanding(Bell):
    """Takes anything for a target."""

    def check_target(self, target: str) -> str:
        return target


class Overriding(Bell):
    """Does the base class's work itself."""

    async def send(self, target: str, message: str) -> SendResult:  # type: ignore[misc]
        return SendResult(True, "bell", target, "bong")


class Curious(Bell):
    """Makes a call when it is made."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        with suppress(IndexError):  # what the transport without a script raises
            asyncio.run(self.ring("?"))


class Optimistic(Bell):
    """Is content without its token."""

    def __init__(self, config: Any, tools: Any) -> None:
        self.config, self.http, self.clock = config, tools.http, tools.clock


class Wordless(Bell):
    """Gives no delivery note."""

    async def deliver(self, part: Part) -> str:
        await super().deliver(part)
        return ""


def described(**facts: Any) -> type[OutboundAdapter]:
    return type("Described", (Bell,), {"spec": replace(SPEC, **facts)})


Check = Callable[[Any], None]
BROKEN: dict[str, tuple[type[OutboundAdapter], Check]] = {
    "takes a web page for success": (
        Forgetful,
        lambda suite: suite.test_an_answer_that_is_not_the_providers_is_no_success("web page"),
    ),
    "takes a redirect for success": (Forgetful, lambda suite: suite.test_a_redirect_is_not_followed()),
    "takes half an answer for success": (
        Forgetful,
        lambda suite: suite.test_an_answer_that_broke_off_leaves_the_outcome_unknown(),
    ),
    "ignores Retry-After": (Impatient, lambda suite: suite.test_a_wait_that_the_provider_asks_for_is_honoured()),
    "shows a secret": (Talkative, lambda suite: suite.test_no_secret_is_shown_whatever_goes_wrong()),
    "swallows a cancellation": (Stubborn, lambda suite: suite.test_a_cancelled_call_ends_at_once()),
    "accepts a bad target": (
        Undemanding,
        lambda suite: suite.test_a_target_of_the_wrong_shape_is_refused_before_any_call(),
    ),
    "overrides send": (Overriding, lambda suite: suite.test_it_overrides_nothing_that_keeps_the_promises()),
    "calls when it is made": (Curious, lambda suite: suite.test_making_it_makes_no_call_and_shows_no_secret()),
    "is made without its token": (
        Optimistic,
        lambda suite: suite.test_it_cannot_be_made_without_a_required_value_and_names_it(),
    ),
    "gives no note": (
        Wordless,
        lambda suite: suite.test_a_good_send_gives_a_result_of_five_fields_with_a_delivery_note(),
    ),
    "has an alias that is taken": (
        described(aliases=("slack",)),
        lambda suite: suite.test_its_names_are_words_that_nobody_else_uses(),
    ),
    "has a name with capitals": (
        described(kind="Bell"),
        lambda suite: suite.test_its_names_are_words_that_nobody_else_uses(),
    ),
    "has no label": (
        described(label=" "),
        lambda suite: suite.test_it_says_in_words_what_it_is_and_what_a_target_looks_like(),
    ),
    "has a setting without a sentence": (
        described(options=(URL, Variable("BELL_TONE", str, "", ""))),
        lambda suite: suite.test_every_setting_is_documented_and_belongs_to_it_alone(),
    ),
    "takes a setting of another": (
        described(options=(URL, Variable("GATEWAY_PORT", str, "", "A port."))),
        lambda suite: suite.test_every_setting_is_documented_and_belongs_to_it_alone(),
    ),
    "does not mark a secret": (
        described(secrets=(replace(TOKEN, secret=False),)),
        lambda suite: suite.test_secrets_are_marked_as_such_and_have_no_default(),
    ),
    "splits above its limit": (
        described(max_length=10),
        lambda suite: suite.test_its_limits_fit_each_other(),
    ),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_the_suite_fails_for_a_channel_that(promise: str):
    channel, check = BROKEN[promise]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(suite_for(channel))


@pytest.mark.parametrize("promise", BROKEN)
def test_the_suite_passes_for_a_channel_that_keeps_the_promise(promise: str):
    _, check = BROKEN[promise]
    check(suite_for(Bell))


def test_the_tools_for_authors_load_without_pytest():
    program = "import sys, tocsin.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-c", program], check=False, env={}).returncode == 0
