"""The bot on a chat product of a stranger: what it needs is an ability of the channel, and no product is named."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from tests.bot.bench import Bench, text_of
from tests.bot.conftest import MakeBench

from tocsin.bot.commands import DESCRIPTIONS
from tocsin.bot.talk.preview import FIRST_AFTER_S
from tocsin.channels.contract import Tools
from tocsin.channels.conversation import (
    CheckMessage,
    ConversationAdapter,
    ConversationVariables,
    Keyboard,
    TellAdmin,
    UpdateSink,
    UpdateSource,
)
from tocsin.channels.inbound import Attachment, InboundMessage, WebhookRequest
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable, boolean, integer, text
from tocsin.core.text.markup import Shown
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import HandlingStatus


def room(value: str) -> str:
    if not value.startswith("#"):
        raise ValueError("a room, such as #ops")
    return value


def number(name: str, default: int) -> Variable[int]:
    return Variable(name, integer(1, 1000), default, "A number.")


ROOMS: Variable[frozenset[str]] = Variable("TOWN_ROOMS", lambda value: frozenset({value}), frozenset(), "Rooms.")
MAYOR = Variable("TOWN_MAYOR", room, "", "Who decides.")


@dataclass
class Sent:
    """A message of the bot in a room."""

    room: str
    text: str
    buttons: list[str] = field(default_factory=list)


class TownConversation(ConversationAdapter):
    """Message IDs are words here, chats have names, and text has no markup."""

    name = "town"
    supports_streaming = True
    edit_every_s = 5.0
    variables: ClassVar[ConversationVariables] = ConversationVariables(
        ROOMS, MAYOR, MAYOR, number("A", 60), number("B", 20), number("C", 2), number("D", 5), number("E", 10),
        Variable("F", boolean, True, "Whether previews are shown."), Variable("G", text, "recall", "Memory."),
    )  # fmt: skip

    def __init__(self, clock: Clock) -> None:
        super().__init__(Settings.load([], environ={"TOCSIN_DATA_DIR": "/nonexistent"}), Tools(None, clock))  # type: ignore[arg-type]
        self.messages: dict[str, Sent] = {}
        self.menu: dict[str, str] = {}

    def verify(self, request: WebhookRequest, now: float) -> None: ...

    async def receive(self, request: WebhookRequest) -> InboundMessage | None:
        return None

    def reply_target(self, message: InboundMessage) -> str:
        return message.chat_id

    def render_preview(self, markdown: str) -> Shown:
        return Shown(markdown.replace("*", ""))

    async def draft(self, message: InboundMessage, shown: Shown, buttons: Keyboard = ()) -> str:
        message_id = f"{message.chat_id}.{len(self.messages)}"
        await self.edit(message, message_id, shown, buttons)
        return message_id

    async def edit(self, message: InboundMessage, message_id: str, shown: Shown, buttons: Keyboard = ()) -> None:
        self.messages[message_id] = Sent(message.chat_id, shown.text, [label for row in buttons for label, _ in row])

    async def remove_buttons(self, message: InboundMessage, message_id: str) -> None:
        self.messages[message_id].buttons = []

    def sent_message_id(self, note: str) -> str:
        return note

    async def register_commands(self, descriptions: Mapping[str, str], chat_id: str = "") -> None:
        self.menu |= descriptions

    async def download(self, attachment: Attachment) -> bytes:
        return b""

    def open_source(self, inbox: UpdateSink, directory: Path, tell_admin: TellAdmin) -> UpdateSource:
        raise NotImplementedError

    def check_setup(self, directory: Path) -> Iterator[CheckMessage]:
        yield from ()

    async def check_provider(self) -> CheckMessage:
        return CheckMessage("ok", "the town is there")


def town_bench(make_bench: MakeBench) -> tuple[Bench, TownConversation]:
    bench = make_bench(channel=TownConversation)
    assert isinstance(bench.channel, TownConversation)
    return bench, bench.channel


async def test_a_preview_is_drafted_edited_at_the_channels_own_pace_and_sealed_by_its_id(make_bench: MakeBench):
    bench, town = town_bench(make_bench)
    assert bench.provider is not None
    bench.provider.reply = None
    asking = asyncio.create_task(bench.send("hello"))
    await bench.settle()
    call = bench.provider.calls[0]
    call.write("Once **upon**")
    await bench.settle()
    await bench.pass_time(FIRST_AFTER_S)
    assert town.messages == {"7.0": Sent("7", "Once upon", ["Cancel"])}
    call.write(" a time")
    await bench.settle()
    await bench.pass_time(4.9)
    assert town.messages["7.0"].text == "Once upon"
    await bench.pass_time(0.2)
    assert town.messages["7.0"].text == "Once upon a time"
    call.answer("Once **upon** a time.")
    await bench.pass_time(5)
    assert (await asking).replies[0].extra == {"edit_message_id": "7.0"}


async def test_the_menu_and_buttons_are_the_channels(make_bench: MakeBench):
    bench, town = town_bench(make_bench)
    assert await bench.bot.start() == ""
    assert town.menu.keys() > DESCRIPTIONS.keys()
    town.messages["a.b"] = Sent("7", "Which one?", ["One"])
    await bench.press("mode:unheard", reply_to_id="a.b")
    assert town.messages["a.b"].buttons == []
    (reply,) = (await bench.press("mode:skill", reply_to_id="a.b")).replies
    assert reply.extra == {"edit_message_id": "a.b"}


async def test_a_preview_whose_id_is_no_number_survives_a_restart(make_bench: MakeBench):
    bench, town = town_bench(make_bench)
    assert bench.provider is not None
    bench.provider.reply = None
    asking = asyncio.create_task(bench.send("hello", id="event"))
    await bench.settle()
    bench.provider.calls[0].write("half")
    await bench.settle()
    await bench.pass_time(FIRST_AFTER_S)
    asking.cancel()
    await asyncio.wait([asking])
    await bench.restart()
    bench.provider = None
    again = asyncio.create_task(bench.send("hello", id="event", attempt=2))
    await bench.settle()
    await bench.pass_time(5)
    assert (await again).replies[0].extra == {"edit_message_id": "7.0"}
    assert len(town.messages) == 1


async def test_the_admin_names_chats_as_the_product_does(make_bench: MakeBench):
    bench, _ = town_bench(make_bench)
    admin = bench.settings.admin
    assert "a room, such as #ops" in text_of(await bench.send("/approve 9", chat=admin))
    assert text_of(await bench.send("/approve #ops", chat=admin)) == "Chat #ops is now allowed (was unknown)."


async def test_messages_of_other_channels_are_left_to_other_handlers(make_bench: MakeBench):
    bench, _ = town_bench(make_bench)
    received = bench.received("hello")
    elsewhere = replace(received, message=replace(received.message, channel="village"))
    assert await bench.bot.access_handler(elsewhere) is None
    assert await bench.bot.handler(elsewhere) is None
    verdict = await bench.bot.handler(bench.received("/help"))
    assert verdict is not None
    assert verdict.ending is HandlingStatus.ANSWERED
