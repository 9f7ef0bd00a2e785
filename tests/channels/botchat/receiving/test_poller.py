"""Updates are fetched and lose nothing, whatever fails (docs/facts/botchat.md)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.facts import mentions
from tests.waiting import PATIENCE_S, eventually

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.botchat.inbound import BotchatInbound
from tocsin.channels.botchat.receiving.liveness import ReceiveStatus
from tocsin.channels.botchat.receiving.poller import Poller
from tocsin.channels.contract import Tools
from tocsin.channels.conversation import UpdateLeaseLostError
from tocsin.channels.inbound import InboundMessage
from tocsin.core.config.settings import Settings
from tocsin.core.errors import StoreUnavailableError
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import HttpResponse, Transport, connect_failed
from tocsin.testing import FakeClock
from tocsin_standins.botchat.server import TOKEN, BotChat
from tocsin_standins.botchat.updates import OTHER_POLLER
from tocsin_standins.botchat.world import BOT_USERNAME
from tocsin_standins.faults import Fault

BOT_ID = TOKEN.partition(":")[0]
CONFLICT = Fault.error(OTHER_POLLER, http_status=409).only("getUpdates")
BAD_GATEWAY = Fault.status(502).only("getUpdates")

Until = Callable[[Callable[[], object]], Awaitable[None]]


class Inbox:
    """Stores in memory, and nothing while it `fails`."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.cursors: dict[str, int] = {}
        self.calls: list[tuple[list[str], int | None]] = []
        self.fails = False
        self.leases: dict[str, list[str]] = {}  # by cursor: who has had it, the last one has it now
        self.shared = False
        self._seen: set[str] = set()

    async def accept(
        self, messages: Sequence[InboundMessage], *, cursor: tuple[str, int] | None = None, lease: int = 0
    ) -> list[bool]:
        self.calls.append(([m.text for m in messages], cursor and cursor[1]))
        if self.fails:
            raise StoreUnavailableError("the store is away")
        if lease and cursor and lease != len(self.leases[cursor[0]]):
            raise UpdateLeaseLostError("another process fetches")
        new = [not self._seen & set(message.dedupe_keys) for message in messages]
        for message in messages:
            self._seen |= set(message.dedupe_keys)
        self.messages += [message for message, is_new in zip(messages, new, strict=True) if is_new]
        if cursor:
            self.cursors[cursor[0]] = cursor[1]
        return new

    async def cursor(self, name: str) -> int | None:
        return self.cursors.get(name)

    def lease(self, name: str) -> "Lease | None":
        return Lease(self, name) if self.shared else None

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]


class Lease:
    """Somebody has it until another one takes it away."""

    lasts_s, renew_s = 6.0, 2.0

    def __init__(self, inbox: Inbox, name: str) -> None:
        self.token = 0
        self._inbox, self._name = inbox, name
        self._holders = inbox.leases.setdefault(name, [])

    async def acquire(self) -> bool:
        if self._inbox.fails:
            raise StoreUnavailableError("the store is away")
        if not self.token and (not self._holders or self._holders[-1] == "free"):
            self._holders.append("a poller")
            self.token = len(self._holders)
        return self.token == len(self._holders)

    async def release(self) -> None:
        self._holders.append("free")


class Wire:
    """A Bot API that gives the scripted answers and is silent after them."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.timeouts: list[float] = []

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b"", **times: float
    ) -> HttpResponse:
        self.sent.append((url.rsplit("/", 1)[-1], json.loads(body)))
        self.timeouts.append(times["read_timeout_s"])
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, HttpResponse):
            return answer
        return HttpResponse(200, {}, json.dumps({"ok": True, "result": answer}).encode())

    async def aclose(self) -> None:
        pass


class Bench:
    """Everything around a poller."""

    def __init__(self, directory: Path, http: Transport, url: str) -> None:
        self.directory, self.http, self.url = directory, http, url
        self.clock = FakeClock()
        self.inbox = Inbox()
        self.admin: list[str] = []

    async def tell(self, text: str) -> None:
        self.admin.append(text)

    def poller(self, *, http: Transport | None = None, token: str = TOKEN, url: str = "", **options: float) -> Poller:
        env = {"TOCSIN_DATA_DIR": "/nonexistent", "BOTCHAT_BOT_TOKEN": token, "BOTCHAT_API_URL": url or self.url}
        options = {"confirm_s": 0.02, **options}
        config = Settings.load(BotchatAdapter.spec.variables, environ=env).only(BotchatAdapter.spec.variables)
        inbound = BotchatInbound(config, Tools(http or self.http, self.clock))
        return Poller(inbound, self.inbox, self.clock, self.directory, self.tell, **options)

    @asynccontextmanager
    async def running(self, poller: Poller | None = None, **options: Any) -> AsyncIterator[Poller]:
        poller = poller or self.poller(**options)
        task = asyncio.create_task(poller.run())
        try:
            yield poller
        finally:
            poller.stop()
            async with asyncio.timeout(PATIENCE_S):
                await task


@pytest.fixture
async def botchat() -> AsyncIterator[BotChat]:
    async with BotChat() as botchat:
        yield botchat


@pytest.fixture
async def bench(botchat: BotChat, tmp_path: Path) -> AsyncIterator[Bench]:
    http = DirectTransport()
    yield Bench(tmp_path, http, botchat.api_url)
    await http.aclose()


@pytest.fixture
def until() -> Until:
    """Wait for something that sends no signal."""
    return eventually


def update(number: int, text: str = "hi") -> dict[str, Any]:
    chat = {"id": 1001, "type": "private"}
    return {"update_id": number, "message": {"message_id": number, "chat": chat, "date": 1, "text": text}}


# The ordinary course


async def test_what_people_write_is_stored_in_order_and_then_confirmed(bench: Bench, botchat: BotChat, until: Until):
    botchat.say(1001, "before the start")
    async with bench.running() as poller:
        await until(lambda: bench.inbox.texts)
        for number in range(3):
            botchat.say(1001, f"text {number}")
        await until(lambda: len(bench.inbox.texts) == 4)
        await until(lambda: not botchat.updates.queue)
        assert poller.state.status is ReceiveStatus.OK
        assert poller.state.is_healthy
    assert bench.inbox.texts == ["before the start", "text 0", "text 1", "text 2"]
    assert list(bench.inbox.cursors.values()) == [5]
    assert poller.state.status is ReceiveStatus.STOPPED


async def test_polls_return_at_once_until_none_waits_then_last_30_s_and_name_the_kinds_of_updates(
    bench: Bench, until: Until
):
    wire = Wire([update(7)], [])
    async with bench.running(http=wire):
        await until(lambda: len(wire.sent) == 3)
    kinds = ["message", "edited_message", "callback_query", "my_chat_member"]
    assert wire.sent[:3] == [
        ("getUpdates", {"limit": 100, "timeout": 0, "allowed_updates": kinds}),
        ("getUpdates", {"offset": 8, "limit": 100, "timeout": 0, "allowed_updates": kinds}),
        ("getUpdates", {"offset": 8, "limit": 100, "timeout": 30, "allowed_updates": kinds}),
    ]
    assert wire.timeouts[:3] == [10, 10, 40]


async def test_what_came_while_nobody_was_there_is_known_and_what_comes_later_too(bench: Bench, until: Until):
    gone = connect_failed("https://x", "unreachable")
    wire = Wire([update(1)], [update(2)], [], [update(3)], gone, [update(4)], [], [update(5)])
    async with bench.running(http=wire):
        await until(lambda: len(bench.inbox.texts) == 5)
    assert [message.waited for message in bench.inbox.messages] == [True, True, False, True, False]


async def test_a_server_that_does_not_wait_is_asked_four_times_a_second(bench: Bench, until: Until):
    wire = Wire([], *[[]] * 5, [update(7)])
    async with bench.running(http=wire):
        await until(lambda: bench.inbox.texts)
    assert bench.clock.slept == [0.25] * 5


async def test_after_a_restart_the_poll_goes_on_where_the_store_stopped(bench: Bench, until: Until):
    async with bench.running(http=Wire([update(7)])):
        await until(lambda: bench.inbox.texts)
    again = Wire()
    async with bench.running(http=again):
        await until(lambda: again.sent)
    assert again.sent[0][1]["offset"] == 8


@pytest.mark.parametrize("other", [{"token": "99:AAother"}, {"url": "http://127.0.0.1:9"}])
async def test_another_bot_and_another_server_start_without_an_offset(
    bench: Bench, until: Until, other: dict[str, str]
):
    async with bench.running(http=Wire([update(7)])):
        await until(lambda: bench.inbox.texts)
    wire = Wire()
    async with bench.running(http=wire, **other):
        await until(lambda: wire.sent)
    assert "offset" not in wire.sent[0][1]


async def test_updates_that_concern_nobody_are_passed_by(bench: Bench, until: Until):
    wire = Wire([{"update_id": 7, "poll": {}}, update(8)], [{"update_id": 9, "my_chat_member": {}}])
    async with bench.running(http=wire):
        await until(lambda: len(wire.sent) == 3)
    assert (bench.inbox.texts, wire.sent[2][1]["offset"]) == (["hi"], 10)


async def test_update_numbers_may_jump_forth_and_back_and_nothing_is_dropped(
    bench: Bench, botchat: BotChat, until: Until
):
    async with bench.running():
        for number, jump in enumerate((0, 1_000, -900, 5, -100)):
            botchat.updates.skip_ids(jump)
            botchat.say(1001, f"text {number}")
            await until(lambda wanted=number + 1: len(bench.inbox.texts) == wanted and not botchat.updates.queue)
    assert bench.inbox.texts == [f"text {number}" for number in range(5)]


async def test_a_kill_between_storing_and_confirming_stores_nothing_twice(bench: Bench, until: Until):
    async with bench.running(http=Wire([update(7, "once")])):
        await until(lambda: bench.inbox.texts)
    bench.inbox.cursors.clear()
    async with bench.running(http=Wire([update(7, "once"), update(8, "then")])):
        await until(lambda: len(bench.inbox.calls) == 2)
    assert bench.inbox.texts == ["once", "then"]


async def test_answers_that_are_too_large_are_fetched_in_smaller_pieces(bench: Bench, botchat: BotChat, until: Until):
    for number in range(60):
        botchat.say(1001, f"{number} " + "ж" * 10_000)
    async with bench.running() as poller:
        await until(lambda: len(bench.inbox.texts) == 60)
        await until(lambda: poller.state.status is ReceiveStatus.OK)
    assert [text.split()[0] for text in bench.inbox.texts] == [str(number) for number in range(60)]


# The end


async def test_at_the_end_what_was_stored_is_confirmed(bench: Bench, until: Until):
    wire = Wire([update(7)])
    async with bench.running(http=wire):
        await until(lambda: len(wire.sent) == 2)
    assert wire.sent[2:] == [("getUpdates", {"offset": 8, "limit": 1, "timeout": 0})]


async def test_at_the_end_nothing_is_confirmed_where_the_token_belongs_to_somebody_else(bench: Bench, until: Until):
    refusal = {"ok": False, "error_code": 409, "description": OTHER_POLLER}
    wire = Wire([update(7)], *[HttpResponse(409, {}, json.dumps(refusal).encode())] * 50)
    async with bench.running(http=wire) as poller:
        await until(lambda: poller.state.status is ReceiveStatus.CONFLICT)
    assert [body for _, body in wire.sent if body["limit"] == 1] == []


async def test_the_last_call_cannot_hold_up_the_end(bench: Bench, until: Until):
    wire = Wire([update(7)])
    async with bench.running(http=wire, confirm_s=0.01):
        await until(lambda: len(wire.sent) == 2)
    assert len(wire.sent) == 3, "and nothing answered the last one"


# The store


async def test_what_cannot_be_stored_is_not_confirmed_and_fetched_again(bench: Bench, botchat: BotChat, until: Until):
    bench.inbox.fails = True
    botchat.say(1001, "one")
    async with bench.running() as poller:
        await until(lambda: len(bench.inbox.calls) >= 5)
        assert poller.state.status is ReceiveStatus.FAILING
        assert poller.state.problem == "the store is away"
        assert len(botchat.updates.queue) == 1
        bench.inbox.fails = False
        await until(lambda: bench.inbox.texts)
        await until(lambda: poller.state.status is ReceiveStatus.OK)
    assert bench.inbox.calls[:5] == [(["one"], 2)] * 5
    assert bench.inbox.texts == ["one"]
    assert all(wait_s <= 3 for wait_s in bench.clock.slept)


async def test_while_the_bots_name_cannot_be_asked_for_a_command_is_not_lost(
    bench: Bench, botchat: BotChat, until: Until
):
    botchat.faults.push(*[Fault.status(502).only("getMe")] * 3)
    botchat.say(-3001, f"/status@{BOT_USERNAME}")
    async with bench.running():
        await until(lambda: bench.inbox.texts)
    assert [message.command for message in bench.inbox.messages] == ["status"]


async def test_a_bug_in_the_store_does_not_end_receiving(bench: Bench, until: Until, caplog: pytest.LogCaptureFixture):
    class Broken(Inbox):
        async def cursor(self, name: str) -> int | None:
            if not self.cursors:
                self.cursors[name] = 3
                raise KeyError("made-up")
            return await super().cursor(name)

    bench.inbox, wire = Broken(), Wire([update(7)])
    async with bench.running(http=wire):
        await until(lambda: bench.inbox.texts)
    assert [record.exc_info is not None for record in caplog.records if record.levelno == logging.ERROR] == [True]


# Several hosts


async def test_one_host_polls_and_the_next_one_goes_on_where_it_stopped(bench: Bench, until: Until):
    bench.inbox.shared = True
    waiting = Wire()
    async with bench.running(http=Wire([update(7)])):
        await until(lambda: bench.inbox.texts)
        async with bench.running(http=waiting) as second:
            await until(lambda: second.state.status is ReceiveStatus.LOCKED)
            assert "token" in second.state.problem
            assert waiting.sent == []
    async with bench.running(http=waiting):
        await until(lambda: waiting.sent)
    assert waiting.sent[0][1]["offset"] == 8


async def test_who_lost_the_right_to_poll_stores_nothing_and_asks_no_more(bench: Bench, until: Until):
    class LosingWire(Wire):
        async def request(self, *args: Any, **kwargs: Any) -> HttpResponse:
            if len(self.answers) == 1:  # while the second answer is on its way
                next(iter(bench.inbox.leases.values())).append("another host")
            return await super().request(*args, **kwargs)

    bench.inbox.shared, wire = True, LosingWire([update(7)], [update(8)])
    async with bench.running(http=wire) as poller:
        await until(lambda: poller.state.status is ReceiveStatus.LOCKED)
    assert (bench.inbox.texts, list(bench.inbox.cursors.values()), len(wire.sent)) == (["hi"], [8], 2)


async def test_without_a_store_nobody_polls_and_the_reason_is_told(bench: Bench, until: Until):
    bench.inbox.shared, bench.inbox.fails, wire = True, True, Wire([update(7)])
    async with bench.running(http=wire) as poller:
        await until(lambda: poller.state.status is ReceiveStatus.FAILING)
        assert (poller.state.problem, wire.sent) == ("the store is away", [])
        bench.inbox.fails = False
        await until(lambda: bench.inbox.texts)


# Trouble with the provider


async def test_six_bad_gateways_in_a_row_delay_by_seconds(bench: Bench, botchat: BotChat, until: Until):
    botchat.faults.push(*[BAD_GATEWAY] * 6)
    botchat.say(1001, "one")
    async with bench.running():
        await until(lambda: bench.inbox.texts)
    assert len(bench.clock.slept) == 6
    assert sum(bench.clock.slept) < 12


async def test_after_an_outage_of_23_s_everything_is_there_within_5_s(bench: Bench, botchat: BotChat, until: Until):
    botchat.faults.hold(BAD_GATEWAY)
    start = bench.clock.now()
    async with bench.running() as poller:
        await until(lambda: bench.clock.now() > start + 23)
        assert (poller.state.status, poller.state.is_healthy) == (ReceiveStatus.FAILING, False)
        assert "502" in poller.state.problem
        botchat.say(1001, "one")
        botchat.faults.hold(None)
        over = bench.clock.now()
        await until(lambda: bench.inbox.texts)
        assert bench.clock.now() - over <= 5
        await until(lambda: poller.state.status is ReceiveStatus.OK)
    assert max(bench.clock.slept) <= 3


async def test_a_provider_that_is_gone_is_asked_until_it_is_back(bench: Bench, botchat: BotChat, until: Until):
    await botchat.stop()
    async with bench.running() as poller:
        await until(lambda: len(bench.clock.slept) > 5)
        assert "127.0.0.1" in poller.state.problem
        await botchat.start()
        botchat.say(1001, "one")
        await until(lambda: bench.inbox.texts)


async def test_too_many_requests_wait_exactly_as_told(bench: Bench, botchat: BotChat, until: Until):
    botchat.faults.push(Fault.rate_limited(40).only("getUpdates"))
    botchat.say(1001, "one")
    async with bench.running():
        await until(lambda: bench.inbox.texts)
    assert bench.clock.slept == [40]


async def test_the_state_is_right_as_soon_as_the_provider_is_back(bench: Bench, until: Until):
    wire = Wire(connect_failed("https://x", "unreachable"), [])
    async with bench.running(http=wire) as poller:
        await until(lambda: len(wire.sent) == 3)
        assert poller.state.status is ReceiveStatus.OK
    assert [body["timeout"] for _, body in wire.sent[:3]] == [0, 0, 30]


async def test_a_bad_token_is_told_and_tried_seldom(bench: Bench, botchat: BotChat, until: Until):
    botchat.token = "7000000001:AAnew"
    async with bench.running() as poller:
        await until(lambda: len(bench.clock.slept) > 3)
        assert poller.state.status is ReceiveStatus.STOPPED
        assert "invalid token" in poller.state.problem
        assert TOKEN not in poller.state.problem
    waits = bench.clock.slept
    assert sum(waits[:3]) >= 60 + 120
    assert max(waits) <= 750


@pytest.mark.parametrize("answer", [{}, "updates", [1], [{"message": {}}], [{"update_id": "x"}]])
async def test_an_answer_that_makes_no_sense_is_a_failure_and_nothing_is_confirmed(
    bench: Bench, until: Until, answer: object
):
    wire = Wire(answer, [update(7)])
    async with bench.running(http=wire) as poller:
        await until(lambda: len(wire.sent) == 2 or bench.inbox.texts)
        assert bench.clock.slept
        await until(lambda: bench.inbox.texts)
    assert "offset" not in wire.sent[1][1]
    assert poller.state.status is ReceiveStatus.STOPPED


async def test_a_server_that_repeats_itself_is_not_asked_without_a_pause(bench: Bench, until: Until):
    wire = Wire(*[[update(7)]] * 4)
    async with bench.running(http=wire) as poller:
        await until(lambda: len(wire.sent) == 5)
        assert "repeats confirmed updates" in poller.state.problem
    assert (bench.inbox.texts, len(bench.clock.slept)) == (["hi"], 3)


async def test_a_poll_that_never_ends_is_given_up_and_made_anew(bench: Bench, until: Until):
    wire = Wire()
    async with bench.running(http=wire, watchdog_s=0.02) as poller:
        await until(lambda: len(wire.sent) == 2)
        assert poller.state.problem.startswith("The request timed out")
        wire.answers = [[update(number)] for number in range(7, 60)]  # a busy machine may give up some of these too
        await until(lambda: bench.inbox.texts)


async def test_an_end_in_the_middle_of_a_long_wait_comes_at_once(bench: Bench, botchat: BotChat, until: Until):
    bench.clock = SteppedClock()
    botchat.faults.push(Fault.rate_limited(3600).only("getUpdates"))
    async with bench.running():
        await until(lambda: bench.clock.slept)


# Conflicts


async def test_a_webhook_is_removed_once_and_what_waited_there_comes(bench: Bench, botchat: BotChat, until: Until):
    botchat.updates.set_webhook({"url": "http://127.0.0.1:9/hook"}, insecure=True)
    botchat.say(1001, "one")
    async with bench.running() as poller:
        await until(lambda: bench.inbox.texts)
        assert (botchat.updates.webhook, bench.clock.slept) == ({}, [])
        assert poller.state.status is ReceiveStatus.OK
    assert bench.inbox.texts == ["one"]


async def test_a_webhook_that_is_set_again_and_again_is_a_conflict(bench: Bench, until: Until):
    refusal = {"ok": False, "error_code": 409, "description": "Conflict: … webhook is active; …"}
    refused = HttpResponse(409, {}, json.dumps(refusal).encode())
    wire = Wire(refused, True, refused, refused, [])
    async with bench.running(http=wire) as poller:
        await until(lambda: bench.clock.slept)
        await until(lambda: poller.state.status is ReceiveStatus.OK)
    methods = [method for method, _ in wire.sent]
    assert methods[:5] == ["getUpdates", "deleteWebhook", "getUpdates", "getUpdates", "getUpdates"]
    assert wire.sent[1][1] == {"drop_pending_updates": False}


async def test_three_conflicts_in_a_row_are_over_within_10_s(bench: Bench, botchat: BotChat, until: Until):
    botchat.faults.push(*[CONFLICT] * 3)
    botchat.say(1001, "one")
    async with bench.running():
        await until(lambda: bench.inbox.texts)
    assert len(bench.clock.slept) == 3
    assert sum(bench.clock.slept) < 10


async def test_a_conflict_that_stays_is_asked_about_once_a_minute_and_logged_once(
    bench: Bench, botchat: BotChat, until: Until, caplog: pytest.LogCaptureFixture
):
    botchat.faults.hold(CONFLICT)
    async with bench.running() as poller:
        await until(lambda: bench.clock.now() > 1_700_000_000 + 200)
        assert poller.state.status is ReceiveStatus.CONFLICT
        botchat.faults.hold(None)
    steps = bench.clock.slept[:7]
    assert all(earlier < later for earlier, later in pairwise(steps))
    assert 60 <= steps[-1] <= 75
    assert len(caplog.records) == 1


async def test_two_programs_that_end_each_others_polls_both_live_on(bench: Bench, botchat: BotChat, until: Until):
    other = Bench(bench.directory / "elsewhere", bench.http, bench.url)
    other.directory.mkdir()
    async with bench.running() as one, other.running() as two:
        await until(lambda: ReceiveStatus.CONFLICT in {one.state.status, two.state.status})
        botchat.say(1001, "one")
        await until(lambda: bench.inbox.texts or other.inbox.texts)


# The lock


async def test_a_second_process_waits_for_the_first_and_takes_over(bench: Bench, botchat: BotChat, until: Until):
    second = Bench(bench.directory, bench.http, bench.url)
    second.inbox = bench.inbox
    async with bench.running() as first:
        await until(lambda: botchat.updates.polls)
        async with second.running() as waiting:
            await until(lambda: waiting.state.status is ReceiveStatus.LOCKED)
            assert waiting.state.is_healthy
            botchat.say(1001, "to the first")
            await until(lambda: bench.inbox.texts and not botchat.updates.queue)
            assert waiting.state.status is ReceiveStatus.LOCKED
            first.stop()
            await until(lambda: waiting.state.status is not ReceiveStatus.LOCKED)
            botchat.say(1001, "to the second")
            await until(lambda: len(bench.inbox.texts) == 2)
    assert bench.inbox.texts == ["to the first", "to the second"]
    assert second.admin == []


async def test_waiting_for_the_lock_is_logged_once(bench: Bench, until: Until, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    async with bench.running(http=Wire()):
        await asyncio.sleep(0)
        second = Bench(bench.directory, bench.http, bench.url)
        async with second.running(http=Wire()):
            await until(lambda: len(second.clock.slept) > 3)
    assert [record.message for record in caplog.records].count("another process receives messages") == 1
    assert set(second.clock.slept) == {3.0}


async def test_bots_do_not_wait_for_each_other(bench: Bench, until: Until):
    one, two = Wire(), Wire()
    async with bench.running(http=one), bench.running(http=two, token="99:AAother"):
        await until(lambda: one.sent and two.sent)


async def test_a_lock_file_that_cannot_be_used_is_told_and_tried_again(bench: Bench, until: Until):
    bench.directory, wire = bench.directory / "missing", Wire()
    async with bench.running(http=wire) as poller:
        await until(lambda: poller.state.status is ReceiveStatus.FAILING)
        assert "No such file or directory" in poller.state.problem
        bench.directory.mkdir()
        await until(lambda: wire.sent)
    (lock,) = bench.directory.iterdir()
    assert (lock.name, lock.stat().st_mode & 0o777) == (f"poller-{BOT_ID}.lock", 0o600)


# The admin


async def test_the_admin_is_told_once_when_it_stays_bad_and_once_when_it_is_good_again(
    bench: Bench, botchat: BotChat, until: Until
):
    botchat.faults.hold(BAD_GATEWAY)
    start = bench.clock.now()
    async with bench.running() as poller:
        await until(lambda: bench.clock.now() > start + 100)
        assert bench.admin == []
        await until(lambda: bench.clock.now() > start + 900)
        assert len(bench.admin) == 1
        assert mentions(bench.admin[0], "5 minutes", "HTTP 502: ")
        botchat.faults.hold(None)
        await until(lambda: poller.state.status is ReceiveStatus.OK)
        bench.clock.advance(61)
        botchat.say(1001, "one")
        await until(lambda: len(bench.admin) == 2)
    assert "15 minutes" in bench.admin[1]
