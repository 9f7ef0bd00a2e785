"""The users of the demo page: what they see of the bot, and how they write to it and to the gateway."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tocsin_standins.botchat.entities import Entity, entity_end
from tocsin_standins.botchat.files import file_label
from tocsin_standins.botchat.methods import detected
from tocsin_standins.botchat.server import BotChat
from tocsin_standins.botchat.world import BOT_USERNAME, GROUP_CHAT, ME
from tocsin_standins.calling import WebhookAttempt
from tocsin_standins.guildchat.calls import GuildchatCaller
from tocsin_standins.guildchat.server import GENERAL, GuildChat
from tocsin_standins.teamchat.calls import TeamchatCaller
from tocsin_standins.teamchat.server import TeamChat

ALICE, BOB = 1001, 1002
SHOWN_MESSAGES = 200
TEAM_CHANNEL = "C0GENERAL"
NAME = "Alice"
NOT_TAKEN = "the gateway refused it"


@dataclass(frozen=True, slots=True)
class DemoChat:
    """A chat of the page; `tries` are texts to send with one click."""

    id: int
    title: str
    sender: str
    about: str
    hint: str
    tries: tuple[str, ...]


CHATS = (
    DemoChat(
        ALICE, "Alice", "Alice",
        "Alice may talk to the bot, and decides who else may.",
        "Write to the bot as Alice",
        ("/help", "/skills", "/mode", "Tell me a joke"),
    ),
    DemoChat(
        BOB, "Bob", "Bob",
        "Bob is a stranger: /start asks for access, and Alice gets the request.",
        "Write to the bot as Bob",
        ("/start", "Hello?"),
    ),
    DemoChat(
        GROUP_CHAT, "Kitchen", "Alice",
        "A group: the bot answers what mentions it, and what a rule matches. The page names the rule.",
        f"Write in the group; @{BOT_USERNAME} mentions the bot",
        (f"@{BOT_USERNAME} hello", "hello all"),
    ),
)  # fmt: skip


class DemoUsers:
    """The users of the page. `gateway` receives the products' calls, `texts` trigger an action there."""

    def __init__(self, botchat: BotChat, teamchat: TeamChat, guildchat: GuildChat) -> None:
        self.gateway = ""
        self.texts: Sequence[str] = ()
        self.say, self.press = botchat.say, botchat.press
        self._notes: list[tuple[int, int, str]] = []  # chat, the message that the note follows, text
        self._botchat, self._teamchat, self._guildchat = botchat, teamchat, guildchat

    def chats(self) -> list[dict[str, Any]]:
        """List the chats of the page; Alice's also offer `texts`."""
        return [
            {
                "id": chat.id, "title": chat.title, "sender": chat.sender, "about": chat.about, "hint": chat.hint,
                "tries": [*chat.tries, *(self.texts if chat.sender == NAME else ())],
            }
            for chat in CHATS
        ]  # fmt: skip

    def conversation(self, chat_id: int) -> list[dict[str, Any]]:
        """List the last messages of a chat in their current form, oldest first, with notes between them."""
        world = self._botchat.world
        notes = [
            (after, {"id": f"note-{n}", "note": text})
            for n, (chat, after, text) in enumerate(self._notes)
            if chat == chat_id
        ]
        found: list[dict[str, Any]] = []
        for (chat, number), message in world.messages.items():
            if chat == chat_id:
                found.append(_shown(message, world.reactions.get((chat_id, number), "")))
                found += [note for after, note in notes if after == number]
        return found[-SHOWN_MESSAGES:]

    def send_file(self, chat_id: int, *, data: str, **described: str) -> dict[str, Any]:
        """Send the bot a file, given in base64."""
        return self._botchat.send_file(chat_id, b64decode(data, validate=True), **described)

    def note(self, channel: str, target: str, text: str) -> None:
        """Add a note that explains a reply; the real product shows none."""
        if channel == self._botchat.channel:
            chat_id = int(target)
            latest = max((number for chat, number in self._botchat.world.messages if chat == chat_id), default=0)
            self._notes.append((chat_id, latest, text))
        self._botchat.recorder.add(channel, target, text, id="", kind="note")

    async def call(self, channel: str, text: str) -> None:
        """Send a message of Alice on a channel whose product calls the gateway; raises ValueError on failure."""
        text = str(text).strip()
        if not text:
            raise ValueError("there is no text")
        if not self.gateway:
            raise ValueError("the gateway's address is not set")
        calls = {"teamchat": self._call_from_team, "guildchat": self._call_from_guild}
        if channel not in calls:
            raise ValueError(f"{channel} does not call the gateway; choose: {', '.join(calls)}")
        try:
            made = await calls[channel](text)
        except TimeoutError:
            raise ValueError(NOT_TAKEN) from None
        if not made.ok:
            raise ValueError(f"{NOT_TAKEN}: {made.failure} {made.status or ''}".strip())

    async def _call_from_team(self, text: str) -> WebhookAttempt:
        caller = TeamchatCaller(self._teamchat, f"{self.gateway}/webhook/teamchat", sleep=_impatiently)
        self._record("teamchat", TEAM_CHANNEL, text)
        if not text.startswith("/"):
            return (await caller.message(text, TEAM_CHANNEL))[1][-1]
        command, _, rest = text.partition(" ")
        return (await caller.slash(command, rest.strip(), TEAM_CHANNEL))[1][-1]

    async def _call_from_guild(self, text: str) -> WebhookAttempt:
        if not text.startswith("/"):
            raise ValueError("this product hands over slash commands only: begin with /")
        caller = GuildchatCaller(self._guildchat, f"{self.gateway}/webhook/guildchat")
        self._record("guildchat", GENERAL, text)
        command, _, rest = text[1:].partition(" ")
        return (await caller.slash(command, GENERAL, **({"text": rest.strip()} if rest.strip() else {})))[1]

    def _record(self, channel: str, target: str, text: str) -> None:
        self._botchat.recorder.add(channel, target, text, id="", kind="inbound", account=NAME)


async def _impatiently(seconds: float) -> None:
    """Repeat a call at once, as the product does, but without its later attempts after minutes."""
    if seconds:
        raise TimeoutError


def _shown(message: dict[str, Any], reaction: str) -> dict[str, Any]:
    keyboard = (message.get("reply_markup") or {}).get("inline_keyboard", [])
    replied = message.get("reply_to_message") or {}
    text, entities = message.get("text", ""), message.get("entities", [])
    if caption := message.get("caption"):
        text, entities = caption, message.get("caption_entities", [])
    return {
        "id": message["message_id"],
        "own": message["from"]["id"] != ME["id"],
        "name": message["from"]["first_name"],
        "at": message["date"],
        "text": text,
        "file": file_label(message),
        "entities": _entities(text, entities),
        "edited": "edit_date" in message,
        "reply": str(replied.get("text", "")).partition("\n")[0],
        "reaction": reaction,
        "buttons": [[{"text": b["text"], "data": b.get("callback_data", "")} for b in row] for row in keyboard],
    }


def _entities(text: str, given: list[Entity]) -> list[Entity]:
    """Add the entities that the product adds itself, except in code and links."""
    closed = [entity for entity in given if entity["type"] in ("code", "pre", "text_link")]
    known = {(entity["type"], entity["offset"]) for entity in given}
    return given + [
        found
        for found in detected(text)
        if (found["type"], found["offset"]) not in known
        and not any(found["offset"] < entity_end(other) and other["offset"] < entity_end(found) for other in closed)
    ]
