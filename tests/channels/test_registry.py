"""The registry: which channels there are, which can be used, and one adapter of each when it is first needed."""

from typing import Any

import pytest
from tests.facts import mentions

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Tools
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.registry import Registry, discover
from tocsin.core.config.settings import platform
from tocsin.core.config.variables import Variable, base_url, text
from tocsin.core.errors import ChannelError, ConfigError, UnknownChannelError
from tocsin.testing import FakeClock, ScriptedTransport
from tocsin.testing.fakes import settings_of

TOKEN = Variable("BELL_TOKEN", text, "", "Token.", secret=True, required=True)
URL = Variable("BELL_URL", base_url, "https://bell.example", "Address.")
PRETENDED = Variable("HORN_PLATFORM", text, "", "Platform to simulate in tests.")
FLUTE_TOKEN = Variable("FLUTE_TOKEN", text, "", "Token.", secret=True, required=True)


class Bell(OutboundAdapter):
    spec = ChannelSpec(
        kind="bell", label="Bell", product="Bell", aliases=("ding", "dong"), secrets=(TOKEN,), options=(URL,)
    )

    async def deliver(self, part: Part) -> str:
        return "bong"

    async def probe(self) -> str:
        return "ringer"


class Horn(Bell):
    """Works on one platform alone."""

    spec = ChannelSpec(
        kind="horn",
        label="Horn",
        product="Horn",
        options=(PRETENDED,),
        platform="seaside",
        platform_variable=PRETENDED,
    )


class Broken(Bell):
    """Cannot be made."""

    spec = ChannelSpec(kind="broken", label="Broken", product="Broken")

    def __init__(self, *_: Any) -> None:
        raise ZeroDivisionError("made-up")


class Workshop:
    """Lends tools and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> Tools:
        self.asked += 1
        return Tools(ScriptedTransport(), FakeClock())


def registry(workshop: Workshop | None = None, **env: str) -> Registry:
    classes = (Bell, Horn, Broken)
    return Registry(classes, settings_of(classes, {"TOCSIN_DATA_DIR": "/nonexistent", **env}), workshop or Workshop())


# --- names


@pytest.mark.parametrize("name", ["bell", "ding", "dong", " BELL ", "Ding"])
def test_kind_and_aliases_lead_to_the_channel_in_any_letter_case(name: str):
    assert registry().kind_of(name) == "bell"
    assert isinstance(registry(BELL_TOKEN="x").adapter(name), Bell)


@pytest.mark.parametrize("name", ["", "gong", "bel", None, 7, "x" * 100_000, "\ud800"])
def test_an_unknown_name_is_an_error_of_reasonable_length_with_what_there_is(name: Any):
    with pytest.raises(UnknownChannelError, match="Unknown channel: ") as failure:
        registry().adapter(name)
    assert "bell, broken, horn" in failure.value.hint
    assert len(failure.value.sentence()) < 300


def test_the_likely_meant_channel_is_named():
    with pytest.raises(UnknownChannelError) as failure:
        registry().adapter("bel")
    assert "'bell'" in failure.value.hint


# --- states


def test_the_state_of_a_channel_names_what_is_missing_and_whether_it_can_run_here():
    bell, horn, broken = registry().states()
    assert (bell.missing, bell.available, bell.configured) == (("BELL_TOKEN",), True, False)
    assert (horn.missing, horn.available, horn.configured) == ((), False, False)
    assert (broken.missing, broken.available, broken.configured) == ((), True, True)


def test_only_what_can_be_used_counts_as_configured():
    assert registry(BELL_TOKEN="x", HORN_PLATFORM="seaside").configured() == ["bell", "horn", "broken"]


def test_an_unconfigured_channel_is_unknown_and_names_the_missing_variables():
    with pytest.raises(UnknownChannelError) as failure:
        registry().adapter("ding")
    assert mentions(failure.value.sentence(), "ding", "BELL_TOKEN")
    assert failure.value.in_result() == "Unknown channel: bell (not configured; set BELL_TOKEN)"
    with pytest.raises(UnknownChannelError, match=r"^Unknown channel: Bell .*BELL_TOKEN\)$"):
        registry().adapter("bell")


def test_a_channel_of_another_platform_is_unknown_and_names_both():
    with pytest.raises(UnknownChannelError) as failure:
        registry().adapter("horn")
    assert mentions(failure.value.sentence(), "Horn", "seaside", platform())
    assert mentions(failure.value.in_result(), "Unknown channel: horn (", "seaside", platform())


def test_a_channel_that_is_not_configured_is_known_by_its_names():
    assert (registry().known_kind("ding"), registry().known_kind(" Horn ")) == ("bell", "horn")
    with pytest.raises(UnknownChannelError, match="Unknown channel: diing") as failure:
        registry().known_kind("diing")
    assert mentions(failure.value.hint, "bell, broken, horn", "'ding'")


# --- adapters


def test_an_adapter_is_made_when_it_is_first_asked_for_and_then_kept():
    workshop = Workshop()
    channels = registry(workshop, BELL_TOKEN="x")
    channels.states()
    channels.configured()
    assert workshop.asked == 0
    first = channels.adapter("bell")
    assert channels.adapter("dong") is first
    assert workshop.asked == 1


def test_an_adapter_sees_its_own_settings_alone():
    adapter = registry(BELL_TOKEN="x", HORN_PLATFORM="seaside").adapter("bell")
    assert adapter.config[TOKEN] == "x"
    assert adapter.config.variables == (TOKEN, URL)
    assert adapter.config[PRETENDED] == ""


def test_an_adapter_that_cannot_be_made_is_a_channel_error():
    with pytest.raises(ChannelError, match=r"Broken .*ZeroDivisionError"):
        registry().adapter("broken")


@pytest.mark.parametrize(
    "host", ["bell.example.com", "8.8.8.8", "[2001:4860:4860::8888]", "192.169.0.1", "localhost.example.com"]
)
def test_plain_http_to_a_public_address_is_refused(host: str):
    with pytest.raises(ConfigError, match="BELL_URL"):
        registry(BELL_TOKEN="x", BELL_URL=f"http://{host}/api").adapter("bell")
    assert registry(BELL_TOKEN="x", BELL_URL=f"https://{host}/api").adapter("bell")
    assert registry(BELL_TOKEN="x", BELL_URL=f"http://{host}/api", ALLOW_INSECURE_API_URL="true").adapter("bell")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "10.1.2.3", "192.168.0.1", "[fd00::1]", "bell", "bell.lan", "bell.home.arpa"],
)
def test_plain_http_inside_a_private_network_is_allowed(host: str):
    assert registry(BELL_TOKEN="x", BELL_URL=f"http://{host}:8080/api").adapter("bell")


# --- discovery


def test_the_channels_of_the_package_are_found_in_alphabetical_order():
    found = discover()
    kinds = [channel.spec.kind for channel in found.classes]
    assert {"botchat", "devicemsg", "email", "guildchat", "teamchat"} < set(kinds)
    assert kinds == sorted(set(kinds))
    assert found.problems == []


def test_no_two_channels_share_a_name_or_a_setting():
    specs = [channel.spec for channel in discover().classes]
    names = [name for spec in specs for name in (spec.kind, *spec.aliases)]
    variables = [variable.name for spec in specs for variable in spec.variables]
    assert len(set(names)) == len(names)
    assert len(set(variables)) == len(variables)


class Whistle(Bell):
    """Can hold a conversation, and needs no setting for it."""

    spec = ChannelSpec(kind="whistle", label="Whistle", product="Whistle", conversation=True)


class Flute(Bell):
    """Can hold a conversation once it has its token."""

    spec = ChannelSpec(kind="flute", label="Flute", product="Flute", secrets=(FLUTE_TOKEN,), conversation=True)


@pytest.mark.parametrize(
    ("classes", "env", "chosen"),
    [
        ((Bell, Flute, Whistle), {}, "whistle"),
        ((Bell, Flute, Whistle), {"FLUTE_TOKEN": "x"}, "flute"),
        ((Bell, Flute), {}, "flute"),
    ],
)
def test_the_bot_uses_the_first_configured_channel_that_can_hold_a_conversation(
    classes: tuple[type[Bell], ...], env: dict[str, str], chosen: str
):
    settings = settings_of(classes, {"TOCSIN_DATA_DIR": "/nonexistent", **env})
    assert Registry(classes, settings, Workshop()).bot_channel().spec.kind == chosen


def test_a_channel_declares_a_conversation_if_and_only_if_its_receiver_can_hold_one():
    for channel in discover().classes:
        receiver = channel.receiver()
        assert channel.spec.conversation == (receiver is not None and issubclass(receiver, ConversationAdapter))
