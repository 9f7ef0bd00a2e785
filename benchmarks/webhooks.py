"""What verification costs: processor time of a webhook call beside the same call to a gateway that does not verify."""

import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random

from report import Row, at_most

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.channels.guildchat.calls import ANNA, CHANNEL_ID
from tests.channels.guildchat.calls import event as guildchat_event
from tests.channels.teamchat.calls import event as teamchat_event
from tests.chaos.processes import Child, Town, open_town, wait_for
from tests.web.webhook_products import PRODUCTS

WARM_UP, CALLS, ROUNDS, CONNECTIONS = 1_000, 4_000, 7, 32
ADDS_AT_MOST = 1.25
OPEN = "SELECT count(*) FROM inbox WHERE status IN ('new', 'working', 'replying')"


def measure() -> list[Row]:
    """Return a row for each channel that receives; takes about 2 minutes."""
    secrets = {name: value for product in PRODUCTS.values() for name, value in product.env.items()}
    # Without tokens no message is answered, and only receiving is measured.
    settings = {product.secret: secrets[product.secret] for product in PRODUCTS.values()}
    settings |= {"WEBHOOK_RATE_LIMIT": "1000000000", "REDIS_URL": "off"}
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as place:
        verifies, trusts = Path(place, "verifies"), Path(place, "trusts")
        verifies.mkdir()
        trusts.mkdir()
        with (
            open_town(verifies, settings) as one,
            open_town(trusts, {**settings, "WEBHOOK_REQUIRE_SIGNATURE": "false"}) as other,
        ):
            gateways = (one, one.start_gateway()), (other, other.start_gateway())
            return [_compare(kind, *gateways) for kind in PRODUCTS]


def _compare(kind: str, verifying: tuple[Town, Child], trusting: tuple[Town, Child]) -> Row:
    """Send the same calls to both, in turn."""
    requests = _requests(kind)
    found = []
    for size in (WARM_UP, *[CALLS] * ROUNDS):
        calls = [next(requests) for _ in range(size)]
        spent, spent_without = (_spent(town, gateway, calls) for town, gateway in (verifying, trusting))
        found.append((spent / spent_without, spent / size * 1e6, spent_without / size * 1e6))
    ratios = found[1:]
    _, cost, cost_without = sorted(ratios)[len(ratios) // 2]
    what = f"POST /webhook/{kind}, processor time a call to the end of its work, verified"
    return at_most(what, cost, cost_without, ADDS_AT_MOST, "µs", "not verified")


def _spent(town: Town, gateway: Child, calls: list[bytes]) -> float:
    """Return the processor seconds that the gateway takes for the calls, until they are worked off."""
    before = gateway.cpu_s()
    statuses = asyncio.run(_send(town.port, calls))
    assert statuses <= {b"200", b"204"}, statuses
    path = town.data_dir / "tocsin.db"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as database:
        wait_for("all is worked off", lambda: database.execute(OPEN).fetchone() == (0,))
    return gateway.cpu_s() - before


async def _send(port: int, calls: list[bytes]) -> set[bytes]:
    """Send the calls over kept connections; return the statuses of the answers."""
    left, statuses = iter(calls), set[bytes]()

    async def send_some() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for call in left:
            writer.write(call)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            statuses.add(head.split(b" ", 2)[1])
        writer.close()

    await asyncio.gather(*(send_some() for _ in range(CONNECTIONS)))
    return statuses


def _requests(kind: str) -> Iterator[bytes]:
    """Yield signed calls without an end, each with an ordinary message of its own in a room of many."""
    product, random = PRODUCTS[kind], Random(1)
    for number in count(1):
        body = BODIES[kind](number)
        proof = product.proof(body, time.time(), random)
        headers = b"".join(name + b": " + value + b"\r\n" for name, value in proof)
        head = f"POST /webhook/{kind} HTTP/1.1\r\nHost: tocsin.example.org\r\nContent-Type: application/json\r\n"
        yield head.encode() + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _guildchat(number: int) -> bytes:
    said = {"id": str(10**17 + number), "content": _text(number), "channel_id": CHANNEL_ID, "lobby_id": "4"}
    return guildchat_event("LOBBY_MESSAGE_CREATE", author=ANNA, **said)


def _botchat(number: int) -> bytes:
    person, group = (
        {"id": 1001, "is_bot": False, "first_name": "Ann"},
        {"id": -1001, "type": "supergroup", "title": "ops"},
    )
    said = {"message_id": number, "from": person, "chat": group, "date": int(time.time()), "text": _text(number)}
    return json.dumps({"update_id": number, "message": said}).encode()


def _text(number: int) -> str:
    return f"disk 91 % full on web-3, seen {number} times since midnight; please look at it"


BODIES: dict[str, Callable[[int], bytes]] = {
    "teamchat": lambda number: teamchat_event(number, text=_text(number)),
    "guildchat": _guildchat,
    "botchat": _botchat,
}
