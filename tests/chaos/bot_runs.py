"""What the bot promises to people: every message is answered, once, whatever happens to it or to the chat app."""

import sqlite3
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from random import Random

from tests.chaos.bot_api import CONFLICT, SEND, Asked, ChatApp
from tests.chaos.figures import Figure, none_of
from tests.chaos.processes import TOCSIN, Child, Town, open_town, wait_for

from tocsin_standins.faults import Fault

FIRST_CHAT = 5_000_001
CHATS = 40
# How long one call takes over there: in the middle of it, nobody knows whether the message is out.
LATENCY_S = 0.05
# The model's pause before each word, so that an answer is written for a while.
PAUSE_S = 0.02
WORDS = 30
AFTER_KILL_S = 15.0
AFTER_CONFLICT_S = 10.0
AFTER_OUTAGE_S = 5.0
CONFLICTS = 3
REFUSALS = 6
# The figures that are known of others, too.
COLD_START = "answered after a cold start"
AFTER_CONFLICTS = "from the first 409 until a message is answered"
OPEN_DELIVERIES = "SELECT count(*) FROM deliveries WHERE status IN ('queued', 'sending', 'retry_wait')"
OPEN_EVENTS = "SELECT count(*) FROM inbox WHERE status IN ('new', 'working', 'replying')"
# What a killed bot may have sent without having noted it: answers, and previews that have no record yet.
ANSWERS_ON_THEIR_WAY = "SELECT count(*) FROM deliveries WHERE status = 'sending'"
PREVIEWS_ON_THEIR_WAY = """
    SELECT count(*) FROM inbox WHERE status = 'working' AND id NOT IN (SELECT key FROM bot_previews)
"""


@dataclass(slots=True)
class Stage:
    """A chat app, a chat model, and the bot that a run starts and ends."""

    town: Town
    app: ChatApp
    bot: Child | None = None
    started_at: float = 0.0
    _numbers: Iterator[int] = field(default_factory=count)

    def start(self, command: str = "bot") -> Child:
        """Start the bot; it receives as soon as it can."""
        self.started_at = time.time()
        self.bot = self.town.run([TOCSIN, command], "bot")
        return self.bot

    def start_and_wait(self) -> None:
        """Start the bot; return when it waits for messages."""
        before = self.app.polls
        bot = self.start()

        def look() -> bool:
            bot.must_live()
            return self.app.polls > before

        wait_for("the bot asks for updates", look)

    def kill(self) -> float:
        """End the bot as a crash does; return when."""
        assert self.bot is not None
        self.bot.must_live()
        at = time.time()
        self.bot.kill()
        return at

    def say(self, chats: Sequence[int], *, words: int = 0) -> list[Asked]:
        """Let somebody write in each of the chats."""
        return self.app.say([(f"k{next(self._numbers):05}", chat) for chat in chats], words=words)

    def wait(self, asked: Sequence[Asked]) -> None:
        """Return when everything is answered; the bot must live."""
        assert self.bot is not None
        self.app.wait_for_answers(asked, meanwhile=self.bot.must_live)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Read the bot's database."""
        path = self.town.data_dir / "tocsin.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
            return connection.execute(sql).fetchall()

    def number(self, sql: str) -> int:
        """Read one number of it."""
        [(found,)] = self.rows(sql)
        return int(str(found))

    def settle(self) -> None:
        """Return when nothing is open any more, in the queue or in the inbox."""
        wait_for("nothing is open", lambda: all(self.rows(sql) == [(0,)] for sql in (OPEN_EVENTS, OPEN_DELIVERIES)))


@contextmanager
def open_stage(
    directory: Path, *, streaming: bool = False, latency_s: float = LATENCY_S, settings: Mapping[str, str] | None = None
) -> Iterator[Stage]:
    """Run chat app and model for as long as the block lasts; end the bot with them."""
    with ChatApp(latency_s=latency_s, pause_s=PAUSE_S if streaming else 0.0) as app:
        environment = {
            "ALLOWED_CHAT_IDS": ",".join(map(str, chats(CHATS))),
            "BOTCHAT_STREAMING": "true" if streaming else "false",
            "REDIS_URL": "off",
            "LOG_FORMAT": "json",
            **app.environment,
            **(settings or {}),
        }
        with open_town(directory, environment) as town:
            yield Stage(town, app)


@contextmanager
def open_warm_stage(directory: Path, *, streaming: bool = False) -> Iterator[Stage]:
    """Run a bot that has answered one message."""
    with open_stage(directory, streaming=streaming) as stage:
        stage.start_and_wait()
        stage.wait(stage.say(chats(1)))
        yield stage


def on_a_stage(directory: Path, run: Callable[[Stage], list[Figure]], *, streaming: bool = False) -> list[Figure]:
    """Do `run` with a bot that has answered one message."""
    with open_warm_stage(directory, streaming=streaming) as stage:
        return run(stage)


def chats(how_many: int) -> list[int]:
    """Return the numbers of so many chats that may use the bot."""
    return list(range(FIRST_CHAT, FIRST_CHAT + how_many))


def exactly_once(stage: Stage, asked: Sequence[Asked]) -> list[Figure]:
    """Return what must hold at the end of every run: each message answered, each once, nothing else said."""
    stage.settle()
    found = {one.name: stage.app.answers(one.name) for one in asked}
    whole = {(seen.chat, seen.message_id) for answers in found.values() for seen in answers}
    others = [seen for seen in stage.app.seen() if (seen.chat, seen.message_id) not in whole]
    return [
        Figure("messages", len(asked)),
        none_of("not answered", [name for name, answers in found.items() if not answers]),
        none_of("answered more than once", [name for name, answers in found.items() if len(answers) > 1]),
        none_of("anything else that a person saw", [repr(seen.text[:80]) for seen in others]),
    ]


def answer_what_waited(directory: Path, *, chats_: int, messages_each: int) -> list[Figure]:
    """Write while the bot is down; start it; everything is answered, however much it is."""
    with open_stage(directory) as stage:
        asked = [one for _ in range(messages_each) for one in stage.say(chats(chats_))]
        stage.start()
        stage.wait(asked)
        answered = [stage.app.answers(one.name)[0].at for one in asked]
        return [
            *exactly_once(stage, asked),
            Figure(COLD_START, len(answered), "=", len(asked)),
            Figure("answers that came before that of an earlier message of the chat", _out_of_order(stage, asked)),
            Figure("until the first answer after a cold start", min(answered) - stage.started_at, unit="s"),
            Figure("until the last answer (one a second in a chat)", max(answered) - stage.started_at, unit="s"),
        ]


def _out_of_order(stage: Stage, asked: Sequence[Asked]) -> int:
    places: dict[int, list[int]] = {}
    for one in asked:
        places.setdefault(one.chat, []).append(stage.app.answers(one.name)[0].message_id)
    return sum(later < earlier for ids in places.values() for earlier, later in pairwise(ids))


def survive_kills(
    directory: Path, *, kills: int, messages: int, streaming: bool, window_s: float = 1.5, seed: int = 20261120
) -> list[Figure]:
    """Kill the bot at random moments while it works; every message is answered soon after the restart.

    One kill in five hits a bot that has just been started.
    """
    random = Random(seed)  # a run that can be repeated
    asked: list[Asked] = []
    killed_at: list[float] = []
    waits: list[float] = []
    on_their_way = Counter[str]()
    with open_stage(directory, streaming=streaming) as stage:
        stage.start_and_wait()
        while len(killed_at) < kills:
            each = -(-(messages - len(asked)) // (kills - len(killed_at)))
            some = stage.say(random.sample(chats(CHATS), each), words=WORDS if streaming else 0)
            asked += some
            for _ in range(2 if random.random() < 0.2 and kills - len(killed_at) > 1 else 1):
                time.sleep(random.uniform(0, window_s))
                killed_at.append(stage.kill())
                on_their_way["answers"] += stage.number(ANSWERS_ON_THEIR_WAY)
                on_their_way["previews"] += stage.number(PREVIEWS_ON_THEIR_WAY)
                stage.start()
            stage.wait(some)
            waits.append(max(stage.app.answers(one.name)[0].at for one in some) - stage.started_at)
        stage.settle()
        return [Figure("kills of the bot", kills), *_kill_figures(stage, asked, killed_at, waits, on_their_way)]


def _kill_figures(
    stage: Stage,
    asked: Sequence[Asked],
    killed_at: Sequence[float],
    waits: Sequence[float],
    on_their_way: Mapping[str, int],
) -> list[Figure]:
    found = {one.name: stage.app.answers(one.name) for one in asked}
    final = {(answers[-1].chat, answers[-1].message_id) for answers in found.values() if answers}
    extra = [seen for seen in stage.app.seen() if (seen.chat, seen.message_id) not in final]
    # A message that was repeated came before a kill whose process did not learn of it.
    by_kill = Counter(bisect_left(killed_at, seen.at) for seen in extra)
    by_kill_and_chat = Counter((bisect_left(killed_at, seen.at), seen.chat) for seen in extra)
    again = [name for name, answers in found.items() if len(answers) > 1]
    repeats = sum(len(found[name]) - 1 for name in again)
    left = [seen.text[:60] for seen in extra if not any(seen in found[name] for name in again)]
    return [
        Figure("messages", len(asked)),
        none_of("lost", [name for name, answers in found.items() if not answers]),
        Figure("longest until answered after the restart", max(waits), "≤", AFTER_KILL_S, "s"),
        Figure("median until answered after the restart", sorted(waits)[len(waits) // 2], unit="s"),
        Figure("duplicates (at most: on their way at the kills)", repeats, "≤", on_their_way["answers"]),
        Figure(
            "previews left behind, and other texts (the same)",
            len(left),
            "≤",
            on_their_way["previews"],
            detail=", ".join(map(repr, left[:5])),
        ),
        Figure("most messages too many in one chat by one kill", max(by_kill_and_chat.values(), default=0), "≤", 1),
        Figure("messages too many after the last kill", by_kill[len(killed_at)], "=", 0),
        Figure("most messages too many in all chats by one kill", max(by_kill.values(), default=0)),
        none_of("duplicates that the record does not mark", [name for name in again if not _is_marked(stage, name)]),
    ]


def _is_marked(stage: Stage, name: str) -> bool:
    """Whether the record of deliveries shows that an answer was sent more than once."""
    rows = stage.rows(f"SELECT max(attempts) FROM deliveries WHERE message LIKE '%{name}%'")
    return rows[0][0] is not None and int(str(rows[0][0])) > 1


def endure_bad_gateways(stage: Stage) -> list[Figure]:
    """Answer six calls of sendMessage in a row with a page of a broken proxy."""
    stage.app.meet(Fault.status(502).only(SEND), times=REFUSALS)
    asked = stage.say(chats(REFUSALS))
    stage.wait(asked)
    last = max(stage.app.answers(one.name)[0].at for one in asked)
    return [
        Figure("answers of 502 in a row", REFUSALS - stage.app.faults_left(), "=", REFUSALS),
        *_once(stage, asked),
        Figure("until all are delivered", last - asked[0].at, unit="s"),
    ]


def endure_bad_gateways_in_one_chat(stage: Stage, *, refusals: int) -> list[Figure]:
    """Answer every try of one message so often with a page of a broken proxy."""
    stage.app.meet(Fault.status(502).only(SEND), times=refusals)
    asked = stage.say(chats(1))
    stage.wait(asked)
    return [
        Figure("answers of 502 to one message", refusals - stage.app.faults_left(), "=", refusals),
        *_once(stage, asked),
        Figure("until it is delivered", stage.app.answers(asked[0].name)[0].at - asked[0].at, unit="s"),
    ]


def obey_retry_after(stage: Stage, *, seconds: float, times: int = 2) -> list[Figure]:
    """Tell the bot to wait, again when it comes back; it is never early. With streaming, a preview is told first."""
    already = len(stage.app.refused_at)
    stage.app.meet(Fault.rate_limited(seconds).only(SEND), times=times)
    asked = stage.say(chats(1), words=WORDS)
    stage.wait(asked)
    told_at = stage.app.refused_at[already:]
    tries = [*told_at[1:], stage.app.answers(asked[0].name)[0].first_at]
    late = [came - told - seconds for told, came in zip(told_at, tries, strict=True)]
    return [
        Figure("Retry-After that was told", seconds, unit="s"),
        Figure("answers of 429", len(told_at), "=", times),
        *_once(stage, asked),
        none_of("tried earlier than told", [f"by {-value:.3g} s" for value in late if value < 0]),
        Figure("latest try after the told time", max(late), "≤", 1.0, "s"),
    ]


def outlive_conflicts(stage: Stage) -> list[Figure]:
    """End three polls in a row as a second program with the same token does."""
    time.sleep(0.5)  # it waits in a long poll
    stage.app.meet(CONFLICT, times=CONFLICTS - 1)
    stage.app.poll_as_another()
    begun = time.time()
    asked = stage.say(chats(1))
    stage.wait(asked)
    return [
        Figure("answers of 409 in a row", CONFLICTS - stage.app.faults_left(), "=", CONFLICTS),
        *_once(stage, asked),
        Figure(
            AFTER_CONFLICTS,
            stage.app.answers(asked[0].name)[0].at - begun,
            "≤",
            AFTER_CONFLICT_S,
            "s",
        ),
    ]


def outlive_outage(stage: Stage, *, seconds: float) -> list[Figure]:
    """Refuse every connection for a while: what was written before and meanwhile is answered soon after."""
    before = stage.say(chats(10))
    wait_for("the bot has them", lambda: _known_to_bot(stage, before), every_s=0.002)
    stage.app.go_down()
    begun = time.time()
    pending = [one for one in before if not stage.app.answers(one.name)]
    time.sleep(seconds / 2)
    meanwhile = stage.say(chats(20)[10:])
    time.sleep(max(0.0, begun + seconds - time.time()))
    ended = time.time()
    stage.app.come_back()
    stage.wait([*before, *meanwhile])

    def longest(asked: Sequence[Asked]) -> float:
        return max((stage.app.answers(one.name)[0].at - ended for one in asked), default=0.0)

    return [
        Figure("connections are refused for", ended - begun, unit="s"),
        *_once(stage, [*before, *meanwhile]),
        Figure("longest until what was written meanwhile is answered", longest(meanwhile), "≤", AFTER_OUTAGE_S, "s"),
        Figure("received before it and not answered yet", len(pending)),
        Figure("longest until these are answered", longest(pending), "≤", AFTER_OUTAGE_S, "s"),
    ]


def _known_to_bot(stage: Stage, asked: Sequence[Asked]) -> bool:
    return stage.number(f"SELECT count(*) FROM inbox WHERE accepted_at >= {asked[0].at}") > 0


def _once(stage: Stage, asked: Sequence[Asked]) -> list[Figure]:
    stage.settle()
    counts = Counter(len(stage.app.answers(one.name)) for one in asked)
    return [
        Figure("delivered", len(asked) - counts[0], "=", len(asked)),
        Figure("delivered more than once", len(asked) - counts[0] - counts[1], "=", 0),
    ]


def stay_small_and_quick(directory: Path, *, idle_s: float, ask_too: bool = True) -> list[Figure]:
    """Start gateway and bot together, and let them do nothing; then have the chat model loaded, which takes seconds."""
    with open_stage(directory) as stage:
        stage.town.quick = False
        begun = time.perf_counter()
        up = stage.start("up")
        stage.town.gateway = up
        wait_for("the gateway answers", lambda: not up.alive or stage.town.health() == 200, every_s=0.005)
        up.must_live()
        healthy_s = time.perf_counter() - begun
        wait_for("the bot asks for updates", lambda: stage.app.polls)
        time.sleep(idle_s / 10)  # what it does once, after the start
        used, since = up.cpu_s(), time.perf_counter()
        time.sleep(idle_s)
        busy = (up.cpu_s() - used) / (time.perf_counter() - since)
        figures = [
            Figure("from the start until GET /health is 200", healthy_s, "≤", 2.0, "s"),
            Figure("processor time while idle", busy, "≤", 0.01, "of a processor"),
            Figure("resident memory of gateway and bot", _resident_mib(up.pid), "≤", 100, "MiB"),
        ]
        if ask_too:
            stage.wait(stage.say(chats(1)))
            figures.append(Figure("resident memory once the chat model was asked", _resident_mib(up.pid), unit="MiB"))
        return figures


def _resident_mib(pid: int) -> float:
    """Return the memory of a process and all that it has started."""
    kib = 0
    for one in (pid, *_children(pid)):
        for line in Path(f"/proc/{one}/status").read_text().splitlines():
            kib += int(line.split()[1]) if line.startswith("VmRSS:") else 0
    return kib / 1024


def _children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from _children(int(child))
