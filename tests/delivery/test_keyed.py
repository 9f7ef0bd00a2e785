"""Messages with a key: sent once, then edited or withdrawn, on both stores.

Source: docs/messages.md, "Keys: edit and withdraw".
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.conftest import RedisServer
from tests.delivery.test_dispatcher import Watched, World
from tests.facts import mentions
from tests.redis_clients import patient_redis

from tocsin.channels.contract import ChannelSpec, MessageGoneError, OutboundAdapter, Part, Sent
from tocsin.channels.model import native
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.ids import new_id
from tocsin.delivery.files.store import gone
from tocsin.delivery.model import KEYS_KEPT_S, LEASE_S, Delivery, DeliveryStatus, MessageOperation, NewDelivery, Policy
from tocsin.delivery.redis.store import RedisStore

LOST = ChannelError("outcome unknown", kind=FailureKind.AMBIGUOUS)
DOWN = ChannelError("refused", kind=FailureKind.TRANSIENT)
WRONG = ChannelError("no such target")


@dataclass
class Chat:
    """A chat whose messages can be edited; `script` has what the next calls raise, None for none."""

    messages: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    script: list[BaseException | asyncio.Event | None] = field(default_factory=list)
    threads: list[Mapping[str, str]] = field(default_factory=list)  # what each post was a reply to
    editable: bool = True
    repeats: dict[str, str] | None = None  # the IDs by key, if it recognises repeats
    finds: bool = False  # it finds what it has among `repeats`
    looked: list[Mapping[str, str]] = field(default_factory=list)  # in which threads it was looked for messages
    files: dict[str, list[str]] = field(default_factory=dict)  # names by message
    uploads: list[str] = field(default_factory=list)  # names of the files of edits

    def channel(self, **spec: Any) -> type[OutboundAdapter]:
        chat = self
        abilities = {"key": native(), "withdraw": native()} if self.editable else {}
        made = ChannelSpec("bell", "Bell", "Bell", abilities=abilities, **spec)

        class Bell(OutboundAdapter):
            spec = made

            async def probe(self) -> str:
                return "bell"

            async def deliver(self, part: Part) -> str | Sent:
                chat.threads.append(part.thread.ref if part.thread else {})
                return await chat.post(part.text, part.key)

            def finds_sent(self) -> bool:
                return chat.finds

            async def find(self, part: Part, since: float) -> Sent | None:
                chat.looked.append(part.thread.ref if part.thread else {})
                id_ = (chat.repeats or {}).get(part.key)
                return Sent(f"id={id_}", {"id": id_}) if id_ else None

            async def edit(self, part: Part, ref: Mapping[str, str]) -> str | Sent:
                return await chat.edit(part.text, ref["id"])

            async def withdraw(self, ref: Mapping[str, str]) -> str:
                return await chat.delete(ref["id"])

        return Bell

    async def _begin(self, call: str) -> None:
        self.calls.append(call)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, asyncio.Event):
            await step.wait()
        elif step is not None:
            if step is LOST and call.startswith("post") and self.repeats is None:
                self.messages.setdefault(f"lost-{len(self.calls)}", call.removeprefix("post "))
            raise step

    async def post(self, text: str, key: str) -> str | Sent:
        known = (self.repeats or {}).get(key)
        if self.repeats is not None and known is None:
            self.repeats[key] = known = f"m{len(self.messages) + 1}"
        id_ = known or f"m{len(self.messages) + 1}"
        if self.repeats is not None:
            self.messages[id_] = text
        await self._begin(f"post {text}")
        self.messages[id_] = text
        return Sent(f"id={id_}", {"id": id_}) if self.editable else f"id={id_}"

    async def edit(self, text: str, id_: str) -> str:
        await self._begin(f"edit {text}")
        if id_ not in self.messages:
            raise MessageGoneError("it was deleted there")
        self.messages[id_] = text
        return f"id={id_}"

    async def delete(self, id_: str) -> str:
        await self._begin("delete")
        self.messages.pop(id_, None)
        return f"withdrew {id_}"


@pytest.fixture(params=["sqlite", "redis"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path / "queue.db")
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        client = patient_redis(server.url)
        world.stack.push_async_callback(client.aclose)
        world.store = Watched(RedisStore(client, world.clock, prefix=f"test-{new_id()}"))
        world.watched.append(world.store)
    yield world
    await world.close()


@pytest.fixture
def chat() -> Chat:
    return Chat()


def said(text: str, key: str = "disk", **extra: Any) -> NewDelivery:
    policy = extra.pop("policy", Policy.AT_LEAST_ONCE)
    content = {"key": key, **extra}
    return NewDelivery("bell", "door", text, "test", policy=policy, extra={"content": content}, key=key)


def withdrawal(key: str = "disk") -> NewDelivery:
    return NewDelivery("bell", "door", "", "test", key=key, operation=MessageOperation.WITHDRAW)


async def send(world: World, *news: NewDelivery) -> list[Delivery]:
    """Queue one delivery after the other, each when the one before has ended."""
    found = []
    for new in news:
        [delivery] = await world.put(new)
        await world.pass_time(2)
        found.append(await world.get(delivery))
    return found


def start(world: World, chat: Chat, **spec: Any) -> None:
    world.start_dispatcher(world.registry(chat.channel(**spec)))


# --- the states of the first message


async def test_a_second_message_with_a_key_edits_the_first(world: World, chat: Chat):
    start(world, chat)
    first, second = await send(world, said("firing"), said("resolved"))
    assert chat.messages == {"m1": "resolved"}
    assert chat.calls == ["post firing", "edit resolved"]
    assert [(each.operation, each.revision, each.status) for each in (first, second)] == [
        (MessageOperation.SEND, 1, DeliveryStatus.SENT),
        (MessageOperation.EDIT, 2, DeliveryStatus.SENT),
    ]


async def test_another_key_and_another_target_are_other_messages(world: World, chat: Chat):
    start(world, chat)
    await send(world, said("a"), said("b", "other"), replace(said("c"), target="window"))
    assert chat.calls == ["post a", "post b", "post c"]


async def test_an_edit_of_a_waiting_message_takes_its_place(world: World, chat: Chat):
    [first] = await world.put(said("firing"))
    await world.put(NewDelivery("bell", "door", "between", "test"))
    [second] = await world.put(said("resolved"))
    start(world, chat)
    await world.pass_time(5)
    assert chat.calls == ["post resolved", "post between"]
    assert (await world.get(first)).status is DeliveryStatus.SUPERSEDED
    assert (await world.get(second)).revision == 1


async def test_an_edit_of_a_message_that_waits_for_its_retry_waits_as_long(world: World, chat: Chat):
    chat.script = [DOWN]
    start(world, chat)
    [first] = await send(world, said("firing"))
    assert first.status is DeliveryStatus.RETRY_WAIT
    [second] = await world.put(said("resolved"))
    waiting = await world.get(second)
    assert (waiting.status, waiting.next_attempt_at) == (DeliveryStatus.RETRY_WAIT, first.next_attempt_at)
    await world.pass_time(10)
    assert chat.calls == ["post firing", "post resolved"]


async def test_the_new_message_keeps_the_time_before_which_the_old_one_was_not_to_be_sent(world: World, chat: Chat):
    late = world.clock.now() + 60
    await world.put(replace(said("firing"), not_before=late))
    start(world, chat)
    [second] = await send(world, said("resolved"))
    assert (second.status, second.not_before) == (DeliveryStatus.QUEUED, late)
    await world.pass_time(61)
    assert chat.calls == ["post resolved"]


async def test_an_edit_waits_behind_the_message_that_is_being_sent(world: World, chat: Chat):
    hold = asyncio.Event()
    chat.script = [hold]
    start(world, chat)
    await world.put(said("firing"))
    await world.pass_time(1)
    await world.put(said("resolved"))
    await world.pass_time(1)
    assert chat.calls == ["post firing"]
    hold.set()
    await world.pass_time(2)
    assert chat.calls == ["post firing", "edit resolved"]


async def test_an_edit_that_changes_nothing_makes_no_call(world: World, chat: Chat):
    start(world, chat)
    _, second, third = await send(world, said("firing"), said("firing"), said("resolved"))
    assert chat.calls == ["post firing", "edit resolved"]
    assert (second.status, second.note, third.revision) == (DeliveryStatus.SENT, "unchanged", 2)


async def test_a_key_on_a_channel_that_cannot_edit_is_a_new_message_and_says_so(world: World):
    chat = Chat(editable=False)
    start(world, chat)
    _, second = await send(world, said("firing"), said("resolved"))
    assert chat.calls == ["post firing", "post resolved"]
    assert mentions(second.note, "a new message", "Bell")


async def test_after_a_message_that_was_never_sent_the_next_one_is_sent(world: World, chat: Chat):
    chat.script = [WRONG]
    start(world, chat)
    first, second = await send(world, said("firing"), said("resolved"))
    assert first.status is DeliveryStatus.DEAD
    assert (second.operation, chat.messages) == (MessageOperation.SEND, {"m1": "resolved"})


async def test_an_unknown_send_is_asked_again_where_repeats_are_recognised(world: World):
    chat = Chat(repeats={})
    chat.script = [LOST]
    start(world, chat, recognises_repeats=True)
    [first] = await send(world, replace(said("firing"), policy=Policy.AT_MOST_ONCE))
    assert first.status is DeliveryStatus.RETRY_WAIT
    await send(world, said("resolved"))
    await world.pass_time(10)
    assert list(chat.messages.values()) == ["resolved"]


@pytest.mark.parametrize("policy", Policy)
async def test_an_alarm_whose_answer_was_lost_is_found_and_edited(world: World, policy: Policy):
    chat = Chat(repeats={}, finds=True)
    chat.script = [LOST]
    start(world, chat)
    [first] = await send(world, said("firing", policy=policy))
    assert first.status is DeliveryStatus.RETRY_WAIT
    await send(world, said("resolved"))
    await world.pass_time(10)
    assert chat.calls == ["post firing", "edit resolved"]


@pytest.mark.parametrize("policy", Policy)
async def test_an_alarm_that_a_worker_sent_before_it_died_is_found_and_edited(world: World, policy: Policy):
    chat = Chat(repeats={}, finds=True)
    chat.script = [asyncio.Event()]
    start(world, chat)
    await world.put(said("firing", policy=policy))
    await world.pass_time(1)
    await world.crash()
    start(world, chat)
    await world.pass_time(LEASE_S + 10)
    await send(world, said("resolved"))
    assert chat.calls == ["post firing", "edit resolved"]


async def test_an_alarm_in_a_thread_is_looked_for_there(world: World):
    chat = Chat(repeats={})
    chat.script = [None, LOST]
    start(world, chat)
    firing = replace(in_thread("firing", key="disk"), policy=Policy.AT_MOST_ONCE)
    _, unknown = await send(world, in_thread("one"), firing)
    assert unknown.status is DeliveryStatus.UNCERTAIN
    chat.finds = True
    await send(world, said("resolved"))
    assert chat.calls == ["post one", "post firing", "edit resolved"]
    assert chat.looked == [{"id": "m1"}]


@pytest.mark.parametrize(
    ("policy", "status"),
    [(Policy.AT_LEAST_ONCE, DeliveryStatus.SENT), (Policy.AT_MOST_ONCE, DeliveryStatus.UNCERTAIN)],
)
async def test_after_an_unknown_send_the_policy_decides(
    world: World, chat: Chat, policy: Policy, status: DeliveryStatus
):
    chat.script = [LOST]
    start(world, chat)
    first, second = await send(world, said("firing", policy=Policy.AT_MOST_ONCE), said("resolved", policy=policy))
    assert (first.status, second.status) == (DeliveryStatus.UNCERTAIN, status)
    if status is DeliveryStatus.SENT:
        assert "an older copy may be there" in second.note
        assert (await send(world, said("closed")))[0].operation is MessageOperation.EDIT


# --- withdrawing


async def test_a_message_is_withdrawn_and_its_key_begins_anew(world: World, chat: Chat):
    start(world, chat)
    _, gone, third = await send(world, said("firing"), withdrawal(), said("again"))
    assert (gone.status, gone.operation) == (DeliveryStatus.SENT, MessageOperation.WITHDRAW)
    assert (third.operation, chat.messages) == (MessageOperation.SEND, {"m1": "again"})


async def test_withdrawing_twice_and_withdrawing_nothing_succeed_without_a_call(world: World, chat: Chat):
    start(world, chat)
    *_, again, nothing = await send(world, said("firing"), withdrawal(), withdrawal(), withdrawal("other"))
    assert chat.calls == ["post firing", "delete"]
    assert [each.status for each in (again, nothing)] == [DeliveryStatus.SENT] * 2


async def test_withdrawing_a_waiting_message_cancels_it(world: World, chat: Chat):
    [first] = await world.put(said("firing"))
    await world.put(withdrawal())
    start(world, chat)
    await world.pass_time(2)
    assert (await world.get(first)).status is DeliveryStatus.CANCELLED
    assert chat.calls == []


async def test_a_message_of_unknown_fate_cannot_be_withdrawn_and_the_error_says_why(world: World, chat: Chat):
    chat.script = [LOST]
    start(world, chat)
    _, gone = await send(world, said("firing", policy=Policy.AT_MOST_ONCE), withdrawal())
    assert (gone.status, "unknown" in gone.error) == (DeliveryStatus.DEAD, True)


# --- faults


@pytest.mark.parametrize("policy", Policy)
async def test_an_edit_whose_answer_was_lost_is_repeated_whatever_the_policy(world: World, chat: Chat, policy: Policy):
    start(world, chat)
    await send(world, said("firing"))
    chat.script = [LOST]
    [second] = await send(world, said("resolved", policy=policy))
    assert second.status is DeliveryStatus.RETRY_WAIT
    await world.pass_time(10)
    assert chat.calls == ["post firing", "edit resolved", "edit resolved"]
    assert (await world.get(second)).status is DeliveryStatus.SENT


@pytest.mark.parametrize("policy", Policy)
async def test_an_edit_whose_worker_died_is_repeated_whatever_the_policy(world: World, chat: Chat, policy: Policy):
    start(world, chat)
    await send(world, said("firing"))
    chat.script = [asyncio.Event()]
    [second] = await world.put(said("resolved", policy=policy))
    await world.pass_time(1)
    await world.crash()
    start(world, chat)
    await world.pass_time(LEASE_S + 2)
    assert chat.messages == {"m1": "resolved"}
    assert (await world.get(second)).status is DeliveryStatus.SENT


@pytest.mark.parametrize(("if_gone", "shown"), [("post", {"m1": "resolved"}), ("drop", {})])
async def test_an_edit_of_a_deleted_message_is_sent_anew_or_dropped(
    world: World, chat: Chat, if_gone: str, shown: dict[str, str]
):
    start(world, chat)
    await send(world, said("firing"))
    chat.messages.clear()
    [second] = await send(world, said("resolved", if_gone=if_gone))
    assert (second.status, chat.messages) == (DeliveryStatus.SENT, shown)


async def test_many_edits_behind_a_throttled_chat_cost_three_calls_at_most(world: World, chat: Chat):
    start(world, chat)
    await send(world, said("0"))
    chat.script = [ChannelError("slow", kind=FailureKind.RATE_LIMITED, retry_after_s=30.0)]
    for number in range(1, 300):
        await world.put(said(str(number)))
    await world.pass_time(40)
    assert chat.messages == {"m1": "299"}
    assert len(chat.calls) <= 4  # the first message, and three for the edits
    assert (await world.counts())["superseded"] >= 297


async def test_a_search_finds_the_text_that_took_a_place_and_the_superseded_one(world: World, chat: Chat):
    from tocsin.delivery.store import DeliveryFilter

    await world.put(said("alpha"))
    assert len((await world.store.search(DeliveryFilter(text="alpha"))).items) == 1
    await world.put(said("beta"))
    for word, status in (("alpha", DeliveryStatus.SUPERSEDED), ("beta", DeliveryStatus.QUEUED)):
        [found] = (await world.store.search(DeliveryFilter(text=word))).items
        assert (found.message, found.status) == (word, status)


async def test_the_reference_is_kept_for_thirty_days_though_other_deliveries_are_pruned(world: World, chat: Chat):
    start(world, chat)
    first, second = await send(world, said("firing"), said("resolved"))
    await world.store.prune(world.clock.now() + 1)
    assert (await world.store.latest("bell", "door", "disk")).id == second.id
    assert (await world.counts()) == {"sent": 1}
    await world.crash()
    world.clock.advance(KEYS_KEPT_S + 2)
    await world.store.prune(world.clock.now())
    await world.store.prune(world.clock.now())
    assert await world.store.latest("bell", "door", "disk") is None
    assert first.status is DeliveryStatus.SENT


# --- threads and times to live


def in_thread(text: str, thread: str = "alerts", **content: Any) -> NewDelivery:
    content = {"thread": thread, **content}
    new = NewDelivery("bell", "door", text, "test", extra={"content": content}, thread=thread)
    return replace(new, key=content.get("key", ""))


async def test_later_messages_of_a_thread_are_sent_with_its_first_one(world: World, chat: Chat):
    start(world, chat)
    await send(world, in_thread("one"), in_thread("two"), in_thread("else", "other"), in_thread("three"))
    assert [each.get("id", "") for each in chat.threads] == ["", "m1", "", "m1"]


async def test_the_first_message_of_a_thread_is_kept_for_thirty_days(world: World, chat: Chat):
    start(world, chat)
    first, *_ = await send(world, in_thread("one"), in_thread("two"))
    await world.store.prune(world.clock.now() + 1)
    root = await world.store.thread_root("bell", "door", "alerts")
    assert (root.id, await world.counts()) == (first.id, {"sent": 1})


async def test_a_message_may_have_a_key_and_a_thread(world: World, chat: Chat):
    start(world, chat)
    await send(world, in_thread("one"), in_thread("firing", key="disk"), in_thread("resolved", key="disk"))
    assert chat.calls == ["post one", "post firing", "edit resolved"]
    assert [each.get("id", "") for each in chat.threads] == ["", "m1"]


# --- files

F, E = ({"name": f"{name}.log", "hash": name * 64, "size": 1} for name in "fe")


def with_files(chat: Chat) -> type[OutboundAdapter]:
    """Return the channel of a chat that takes files."""
    made = replace(chat.channel().spec, abilities={"key": native(), "withdraw": native(), "attach": native()})

    class Bell(chat.channel()):
        spec = replace(made, edit_length=200)

        async def deliver(self, part: Part) -> str | Sent:
            sent = await super().deliver(part)
            chat.files[sent.ref["id"]] = [each.name for each in part.files]
            return sent

        async def edit(self, part: Part, ref: Mapping[str, str]) -> str | Sent:
            sent = await super().edit(part, ref)
            chat.uploads += [] if part.keeps_files else [each.name for each in part.files]
            if not part.keeps_files:
                chat.files[ref["id"]] = [each.name for each in part.files]
            return sent

    return Bell


async def files_after(world: World, chat: Chat, *news: NewDelivery) -> list[str]:
    world.start_dispatcher(world.registry(with_files(chat)))
    await send(world, *news)
    return chat.files["m1"]


@pytest.mark.parametrize(
    ("later", "shown"),
    [({}, ["f.log"]), ({"attach": []}, []), ({"attach": [E]}, ["e.log"])],
    ids=["absent", "empty", "others"],
)
async def test_a_message_that_takes_the_place_of_a_waiting_one_keeps_its_files_unless_it_names_some(
    world: World, chat: Chat, later: dict[str, Any], shown: list[str]
):
    await world.put(said("firing", attach=[F]))
    await world.put(said("still firing", **later))
    [last] = await world.put(said("resolved"))
    named = {each["hash"] for each in (await world.get(last)).content.get("attach", ())}
    assert await world.store.needed_files(world.clock.now()) == named
    world.start_dispatcher(world.registry(with_files(chat)))
    await world.pass_time(2)
    assert (chat.calls, chat.files) == (["post resolved"], {"m1": shown})


async def test_an_empty_list_that_waits_still_removes_the_files_if_its_place_is_taken(world: World, chat: Chat):
    await files_after(world, chat, said("firing", attach=[F]))
    chat.script = [DOWN]
    await send(world, said("no file", attach=[]), said("resolved"))
    await world.pass_time(10)
    assert (chat.messages, chat.files) == ({"m1": "resolved"}, {"m1": []})


async def test_a_repeated_request_is_the_same_message_though_it_kept_files(world: World):
    await world.put(said("firing", attach=[F]))
    new = replace(said("resolved"), idempotency_key="one")
    [last] = await world.put(new)
    assert (await world.get(last)).is_same_message(new)


async def test_withdrawing_a_waiting_message_lets_its_files_go(world: World, chat: Chat):
    await world.put(said("firing", attach=[F]))
    [last] = await world.put(withdrawal())
    assert "attach" not in (await world.get(last)).content
    assert await world.store.needed_files(world.clock.now() + 1) == frozenset()


async def test_files_that_an_edit_kept_are_not_attached_again(world: World, chat: Chat):
    shown = await files_after(
        world, chat, said("firing", attach=[F]), said("kept"), said("kept too"), said("resolved", attach=[F])
    )
    assert (shown, chat.uploads) == (["f.log"], [])
    assert chat.messages == {"m1": "resolved"}


async def test_an_edit_that_says_and_keeps_the_same_makes_no_call(world: World, chat: Chat):
    await files_after(world, chat, said("firing", attach=[F]), said("firing"), said("firing", attach=[F]))
    assert chat.calls == ["post firing"]


async def test_an_edit_of_a_deleted_message_sends_the_files_that_it_was_to_keep(world: World, chat: Chat):
    await files_after(world, chat, said("firing", attach=[F]))
    chat.messages.clear()
    chat.files.clear()
    await send(world, said("resolved"))
    assert chat.files == {"m1": ["f.log"]}


async def test_an_edit_of_a_deleted_message_whose_files_are_not_stored_is_sent_without_them(world: World, chat: Chat):
    await files_after(world, chat, said("firing", attach=[F]))
    chat.messages.clear()
    chat.files.clear()
    chat.script = [None, gone("f" * 64)]
    [last] = await send(world, said("resolved"))
    assert (chat.files, last.status, "not stored" in last.note) == ({"m1": []}, DeliveryStatus.SENT, True)


async def test_a_short_edit_after_a_cut_text_removes_its_whole_and_keeps_named_files(world: World, chat: Chat):
    long = "word " * 60
    shown = await files_after(world, chat, said(long, attach=[F]))
    assert shown == ["f.log", "message.txt"]
    await send(world, said("short"))
    assert chat.files == {"m1": ["f.log"]}
    await send(world, said(long, attach=[]), said("short"))
    assert chat.files == {"m1": []}
