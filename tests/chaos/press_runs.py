"""Pressed buttons: how soon a press has its effect, also if the process is killed right after it acknowledged it."""

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.figures import Figure, none_of
from tests.chaos.message_runs import SEED, environment, targets
from tests.chaos.processes import TOCSIN, Child, wait_for
from tests.http_calls import http_call, is_answered
from tests.ports import free_port
from tests.town_thread import town_on_a_thread

import tocsin
from tocsin.messaging.inbound.model import InboxStatus
from tocsin_standins import StandinCluster
from tocsin_standins.calling import WebhookAttempt
from tocsin_standins.guildchat.calls import GuildchatCaller
from tocsin_standins.teamchat.calls import TeamchatCaller

RULE = """
- on: action
  command: 'echo "$ACTION_VALUE $(date +%s.%N)" >> "$HOME/pressed"'
  reply: false
"""
ON_LABEL = "Acknowledge"
AFTER_PRESS_S, AFTER_KILL_S = 1.0, 11.0


@dataclass(frozen=True, slots=True)
class ShownButton:
    """A button as a chat shows it."""

    channel: str
    target: str
    message: str
    token: str
    value: str


@dataclass
class Ward:
    """The stand-ins, the service, and when each press was made."""

    town: StandinCluster
    place: Path
    port: int
    service: Child | None = None
    worker: Child | None = None
    values: dict[str, str] = field(default_factory=dict)  # by token

    def start(self, command: str) -> None:
        """Start a service with a gateway, and wait until it takes calls."""
        self.service = self._child(command)
        wait_for("the service is healthy", self._is_healthy)

    def start_worker(self) -> None:
        """Start a process that takes over what killed ones leave."""
        self.worker = self._child("worker")

    def stop(self) -> None:
        """Ask the processes to end."""
        for child in (self.service, self.worker):
            if child:
                child.stop()

    def _child(self, command: str) -> Child:
        env = dict(os.environ, HOME=str(self.place), GATEWAY_PORT=str(self.port), RATE_LIMIT_PER_IP="1000000")
        return Child([TOCSIN, command], self.place / f"{command}.log", env, cwd=self.place)

    def press(self, button: ShownButton, *, kills: bool = False) -> float:
        """Press a button, and return when; with `kills`, kill the service as soon as it has acknowledged the press."""
        at = time.time()
        if button.channel == "botchat":
            self._ask("press", chat_id=int(button.target), message_id=int(button.message), data=button.token)
        elif button.channel == "teamchat":
            caller = TeamchatCaller(self.town.teamchat, f"{self._url}/webhook/teamchat")
            made = caller.press(button.token, button.message, button.target)
            asyncio.run(self._call(made, caller.calls, kills=kills))
        else:
            community = GuildchatCaller(self.town.guildchat, f"{self._url}/webhook/guildchat")
            pressed = community.press(button.token, {"id": button.message, "channel_id": button.target})
            asyncio.run(self._call(pressed, community.calls, kills=kills))
        return at

    async def _call(self, press: Awaitable[object], calls: Sequence[WebhookAttempt], *, kills: bool) -> None:
        await press
        if kills:
            assert self.service
            self.service.signal(signal.SIGKILL)
        assert [each.ok for each in calls] == [True]

    def effects(self) -> dict[str, list[float]]:
        """Return when each value was pressed into effect."""
        file = self.place / "pressed"
        found: dict[str, list[float]] = {}
        for line in file.read_text().splitlines() if file.exists() else []:
            value, _, at = line.partition(" ")
            found.setdefault(value, []).append(float(at))
        return found

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _is_healthy(self) -> bool:
        assert self.service
        self.service.must_live()
        return is_answered(f"{self._url}/health")

    def _ask(self, what: str, **arguments: object) -> None:
        assert http_call(f"{self.town.botchat.url}/_standin/{what}", arguments).status < 300


def press_under_kills(place: Path, *, presses: int, kills: int) -> list[Figure]:
    """Press buttons on three products, then more of them on two with a kill right after each acknowledgement."""
    with opened(place) as ward:
        calm = buttons(ward, ["teamchat", "botchat", "guildchat"], presses, "calm")
        pressed = {button.value: ward.press(button) for button in calm}
        wait_for("every press has its effect", lambda: pressed.keys() <= ward.effects().keys())
        ward.stop()
        ward.start_worker()
        ward.start("gateway")
        killed = buttons(ward, ["teamchat", "guildchat"], kills, "kill")
        for button in killed:
            pressed[button.value] = ward.press(button, kills=True)
            assert ward.service
            ward.service.kill()
            ward.start("gateway")
            wait_for(
                "the press has its effect, or is reported",
                lambda value=button.value: value in ward.effects() or not open_events(ward),
            )
        wait_for("the inbox is empty", lambda: open_events(ward) == 0)
        effects = ward.effects()
        waited = {value: effects[value][0] - at for value, at in pressed.items() if value in effects}
        counts = Counter({value: len(times) for value, times in effects.items()})
        reported = interrupted(ward)
        return [
            Figure("presses", len(pressed), "=", presses + kills),
            Figure("kills between acknowledgement and effect", len(killed), "=", kills),
            Figure("presses reported as interrupted", len(reported)),
            none_of("presses lost: neither carried out nor reported", pressed.keys() - effects.keys() - reported),
            Figure("presses carried out twice", sum(count > 1 for count in counts.values()), "=", 0),
            Figure("from a press to its effect, p95", p95(waited, calm), "≤", AFTER_PRESS_S, "s"),
            Figure("… with a kill in between, p95", p95(waited, killed), "≤", AFTER_KILL_S, "s"),
        ]


@contextmanager
def opened(place: Path) -> Iterator[Ward]:
    """Run the stand-ins and the service; end the service at the end."""
    with town_on_a_thread() as town, environment(place, town):
        town.botchat.world.open_world = True
        chats = targets(town)
        os.environ["ALLOWED_CHAT_IDS"] = ",".join(chats["botchat"])
        (place / "data" / "triggers.yaml").write_text(RULE)
        ward = Ward(town, place, free_port())
        ward.start("up")
        try:
            yield ward
        finally:
            ward.stop()


def buttons(ward: Ward, kinds: Sequence[str], count: int, word: str) -> list[ShownButton]:
    """Send messages with a button each; return the buttons once the chats show them."""
    chance = random.Random(SEED)
    chats = targets(ward.town)
    wanted = {f"{word}-{number}": kinds[number % len(kinds)] for number in range(count)}

    async def send() -> None:
        async with tocsin.open() as t:
            for value, kind in wanted.items():
                action = {"action": "call", "label": ON_LABEL, "name": "ack", "value": value}
                await t.enqueue(kind, chance.choice(chats[kind]), value, actions=[action])

    asyncio.run(send())

    def shown() -> list[ShownButton]:
        found = [each for item in ward.town.recorder.of() if (each := button_of(item)) and each.value in wanted]
        return found if len(found) == count else []

    made = wait_for("every message is shown", shown, every_s=0.2)
    ward.values |= {button.token: button.value for button in made}
    return made


def button_of(item: object) -> ShownButton | None:
    """Return the button of a recorded message; `None` if it has none."""
    channel, body = item.channel, item.body  # type: ignore[attr-defined]  # a RecordedRequest
    if not isinstance(body, dict):
        return None
    if channel == "teamchat":
        blocks = [each for block in body.get("blocks") or [] for each in block.get("elements", ())]
        tokens = [each["value"] for each in blocks]
    elif channel == "botchat":
        markup = body.get("reply_markup") or {}
        markup = json.loads(markup) if isinstance(markup, str) else markup
        tokens = [each["callback_data"] for row in markup.get("inline_keyboard", ()) for each in row]
    else:
        tokens = [each["custom_id"] for row in body.get("components") or () for each in row["components"]]
    if not tokens:
        return None
    return ShownButton(channel, item.target, item.id, tokens[0], item.text)  # type: ignore[attr-defined]


def open_events(ward: Ward) -> int:
    """Return the number of received events that have not ended."""

    async def count() -> int:
        async with tocsin.open() as t:
            return (await t._app.stores.inbox().backlog()).open  # noqa: SLF001  # there is no other interface in Python

    return asyncio.run(count())


def interrupted(ward: Ward) -> set[str]:
    """Return the values of the presses whose run was interrupted, and who pressed was told so."""

    async def find() -> set[str]:
        async with tocsin.open() as t:
            found = await t._app.stores.inbox().search(1_000, status=InboxStatus.FAILED)  # noqa: SLF001  # there is no other interface in Python
            messages = [event.message for event in found if "interrupted" in event.reason and event.message]
            return {ward.values[message.callback_data] for message in messages}

    return asyncio.run(find())


def p95(waited: dict[str, float], of: Sequence[ShownButton]) -> float:
    """Return the 95th percentile of the waits of these presses."""
    ordered = sorted(waited[button.value] for button in of if button.value in waited)
    return round(ordered[max(0, round(0.95 * len(ordered)) - 1)], 2) if ordered else 0.0
