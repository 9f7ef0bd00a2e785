"""What hosts agree on under load: the pace of an account, and that it is throttled."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.chaos.clients import Message
from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import RedisQueue
from tests.chaos.many_hosts import Host, open_hosts
from tests.chaos.processes import ask, wait_for
from tests.chaos.standins import StandIns

ALLOWED, SHARE = 30.0, 0.95  # a second, over the whole account; the share that the queue uses of it
WARM_UP_S = 3.0
CHATS = 120
HOUR_S = 3600
KNOWN_S = 1.0
QUIET_S = 3.0


def keep_one_pace(directory: Path, *, seconds: int = 60, workers: int = 4) -> list[Figure]:
    """Send as fast as several hosts do together to a provider that refuses more than 30 a second."""
    with open_hosts(directory) as (town, redis, _):
        standins = StandIns(town, paced=True)
        gateway = Host(town, "gateway", 0)
        gateway.start()
        town.port = gateway.port
        many = round(seconds * ALLOWED)
        ids = [town.send("botchat", str(5000 + n % CHATS), f"c{n}") for n in range(many)]
        for number in range(workers):
            Host(town, "worker", number).start()
        queue = RedisQueue(town, redis)
        wait_for("everything is finished", lambda: not queue.open_count(), every_s=0.2)
        entries = queue.entries().values()
        at = sorted(item["at"] for item in standins.received("botchat"))
        steady = [moment for moment in at if at[0] + WARM_UP_S < moment < at[-1] - WARM_UP_S]
        rate = (len(steady) - 1) / (steady[-1] - steady[0])
        return [
            Figure("hosts that send", workers),
            Figure("received, of as many as were accepted", len(at), "=", len(ids)),
            none_of("not sent", [entry.id for entry in entries if entry.status != "sent"]),
            Figure("refused with 429", sum(entry.attempts - 1 for entry in entries), "=", 0),
            Figure("sent a second by all, of 30 that are allowed", rate, "≤", ALLOWED * 1.03),
            Figure(
                "off the pace that hosts agree on, 95 % of that", abs(rate / ALLOWED / SHARE - 1) * 100, "≤", 3, "%"
            ),
            Figure("in the fullest second", _most_in(1.0, steady)),
        ]


def _most_in(window_s: float, moments: Sequence[float]) -> int:
    return max(
        sum(start <= moment < start + window_s for moment in moments[at : at + 100]) for at, start in enumerate(moments)
    )


def know_of_a_throttle(directory: Path) -> list[Figure]:
    """Let one of three hosts be asked to wait for an hour; measure when the others know, directly and in the queue."""
    with open_hosts(directory) as (town, _, __):
        hosts = [Host(town, "gateway", number) for number in range(3)] + [Host(town, "worker", n) for n in range(2)]
        for host in hosts:
            host.start()
        gateways = hosts[:3]
        first = Message("throttled", "chaoschat", "t0", plan=[f"429a:{HOUR_S}"])
        for host in gateways:  # each has sent before, and looked for a throttle just now
            assert _send(host, Message(f"before-{host.name}", "chaoschat", host.name))[0] == 200
        _send(gateways[0], first)
        met_at = time.monotonic()
        known = [_knows_after(host, met_at) for host in gateways[1:]]
        town.port = gateways[2].port
        queued = [town.send("chaoschat", f"q{n}", f'{{"id": "queued-{n}"}}') for n in range(10)]
        time.sleep(QUIET_S)
        sent = [row.id for row in town.provider.rows() if row.id.startswith("queued-")]
        held = [town.delivery(id_) for id_ in queued]
        silent = [item["id"] for item in held if "account is on hold:" not in item["error"]]
        return [
            Figure("hosts of which one met the throttle", len(hosts)),
            Figure("direct sends of the others are refused after, at most", max(known), "≤", KNOWN_S, "s"),
            none_of("queued messages sent in the hour", sent),
            none_of("queued messages that do not say why they wait", silent),
        ]


def _send(host: Host, message: Message) -> tuple[int, Any]:
    body = {"channel": message.channel, "target": message.target, "message": message.text}
    return ask(host.port, "POST", "/send", body, {})


def _knows_after(host: Host, since: float) -> float:
    """Return after how many seconds a host first refuses a direct send; what it sends before that is lawful."""
    number = 0

    def refused() -> bool:
        nonlocal number
        number += 1
        status, _ = _send(host, Message(f"{host.name}-{number}", "chaoschat", host.name))
        return status != 200

    wait_for(f"{host.name} knows of the throttle", refused, every_s=0.02)
    return time.monotonic() - since
