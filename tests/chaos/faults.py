"""What providers do to messages, and what must become of these."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.figures import Figure, none_of, percentile
from tests.chaos.ledger import Ledger, SqliteQueue, settle
from tests.chaos.processes import PATIENCE_S, Town, open_town, wait_for
from tests.chaos.standins import StandIns
from tests.ports import free_port

LEAST, MOST = "at_least_once", "at_most_once"
HANGING = ("stall", "drip", "endless")


@dataclass(frozen=True, slots=True)
class Case:
    """One fault and what must become of a message that meets it at its first try."""

    fault: str
    policy: str
    status: str
    attempts: int
    taken: int  # how often a person sees it
    least_wait_s: float = 0.0  # before the second try

    @property
    def hangs(self) -> bool:
        """Whether only a limit of time ends its first try."""
        return self.fault.startswith(HANGING)


# A first wait of 5 s: the schedule of the durable queue.
CASES = (
    Case("502", LEAST, "sent", 2, 1, 5.0),
    Case("502", MOST, "sent", 2, 1, 5.0),  # 5xx counts as not delivered
    Case("429", MOST, "sent", 2, 1, 5.0),
    Case("reset", LEAST, "sent", 2, 1, 5.0),
    Case("reset", MOST, "uncertain", 1, 0),  # the request was out: nobody can know
    Case("reset-after", LEAST, "sent", 2, 2, 5.0),
    Case("reset-after", MOST, "uncertain", 1, 1),
    Case("json", LEAST, "sent", 2, 2, 5.0),
    Case("json", MOST, "uncertain", 1, 1),
    Case("endless", MOST, "uncertain", 1, 1),
    Case("stall:60", LEAST, "sent", 2, 2, 5.0),
    Case("stall:60", MOST, "uncertain", 1, 1),
    Case("drip:5", MOST, "uncertain", 1, 1),
)


def survive_provider_faults(directory: Path, *, read_s: float = 20.0) -> list[Figure]:
    """Let the provider misbehave in every way at once; what becomes of each message is as documented.

    Where it hangs, it is waited for `read_s` for its next byte, and a quarter more for the whole answer; elsewhere for
    so long that no answer comes too late, however slow the machine is.
    """
    with open_town(directory, {"CHAOSCHAT_READ_S": f"{PATIENCE_S:g}"}) as town:
        queue = SqliteQueue(town)
        town.environment["NONCECHAT_URL"] = f"http://127.0.0.1:{free_port()}"
        town.start_gateway()
        ids, names = {}, {}
        for number, case in enumerate(CASES):
            name = f"f{number}"
            names[name] = case
            limit = {"read_s": read_s} if case.hangs else {}
            ids[name] = town.send("chaoschat", name, _text(name, [case.fault], **limit), policy=case.policy)
        refused = town.send("noncechat", "nobody", _text("refused", []), policy=MOST)
        waiting = town.wait_until(refused, "retry_wait")
        town.ask("POST", f"/deliveries/{refused}/cancel")
        ledger = settle(town, queue, {**ids, "refused": refused})
        wrong = [line for name, case in names.items() for line in _differences(case, name, ledger, read_s)]
        return [
            *ledger.figures(),
            Figure("kinds of misbehaviour", len(CASES) + 1),
            none_of("outcomes other than documented", wrong),
            Figure("a refused connection counts as certainly not delivered", waiting["attempts"], "≥", 1),
        ]


def _text(name: str, plan: Sequence[str], **limit: float) -> str:
    from json import dumps

    return dumps({"id": name, "plan": list(plan), **limit})


def _differences(case: Case, name: str, ledger: Ledger, read_s: float) -> list[str]:
    entry = ledger.entries[ledger.accepted[name]]
    tries = [row.at for row in ledger.received if row.id == name]
    waited = tries[1] - tries[0] if len(tries) > 1 else 0.0
    found = (entry.status, entry.attempts, ledger.taken[name])
    # Where the machine stands still, the limit of time cuts off a later try as well, which is then repeated.
    cut_off = sum(later - try_ >= read_s for try_, later in pairwise(tries))
    further = max(0, cut_off - (case.attempts - 1)) if case.hangs and case.policy == LEAST else 0
    wanted = (case.status, case.attempts + further, case.taken + further)
    wrong = [f"{case.fault} {case.policy}: {found}, not {wanted} ({entry.error})"] if found != wanted else []
    if case.least_wait_s and waited < case.least_wait_s + read_s * case.fault.startswith("stall"):
        wrong.append(f"{case.fault} {case.policy}: tried again after {waited:.2f} s")
    return wrong


def honour_retry_after(directory: Path, *, messages: int, workers: int = 1) -> list[Figure]:
    """Refuse every message once or twice with a wait in seconds, as a float or as a date."""
    random = Random(429)  # a run that can be repeated
    with open_town(directory) as town:
        queue = SqliteQueue(town)
        town.start_gateway()
        for _ in range(workers):
            town.start_worker()
        ids = {}
        for number in range(messages):
            waits = [f"429{'sfd'[(number + n) % 3]}:{random.uniform(1, 4):.2f}" for n in range(1 + number % 2)]
            ids[f"l{number}"] = town.send("chaoschat", f"t{number}", _text(f"l{number}", waits))
        ledger = settle(town, queue, ids)
        late = list(_lateness(ledger))
        return [
            *ledger.figures(),
            Figure("waits that were asked for", len(late)),
            none_of("tried earlier than told", [f"{seconds:.4f}" for seconds in late if seconds < 0]),
            Figure("Retry-After lateness, median", percentile(late, 0.5), unit="s"),
            Figure("Retry-After lateness, p99", percentile(late, 0.99), "≤", 1.0, "s"),
        ]


def _lateness(ledger: Ledger) -> list[float]:
    """Return how long after the told time each refused message came again."""
    tries = defaultdict(list)
    for row in ledger.received:
        tries[row.id].append(row)
    return [
        later.at - (earlier.at + earlier.told_s)
        for rows in tries.values()
        for earlier, later in pairwise(rows)
        if earlier.told_s
    ]


TARGETS = {"teamchat": "#ops", "botchat": "1001", "guildchat": "100000000000000002"}


def survive_real_providers(directory: Path) -> list[Figure]:
    """Throttle, break and cut off each of the three providers that speak HTTP."""
    with open_town(directory) as town:
        standins = StandIns(town)
        town.start_gateway()
        early, late, lost, twice = [], [], [], []
        told = {"teamchat": 2.0, "botchat": 2.0, "guildchat": 1.5}
        begun, ids = {}, {}
        for channel, seconds in told.items():
            standins.script(channel, {"kind": "rate_limited", "seconds": seconds})
            begun[channel] = time.time()
            ids[channel] = town.send(channel, TARGETS[channel], f"throttled on {channel}")
        for channel, seconds in told.items():
            town.wait_until(ids[channel], "sent")
            [item] = standins.received(channel)
            lateness = item["at"] - begun[channel] - seconds
            early += [channel] * (lateness < 0)
            late.append(lateness)
        # One after the other to each target, so that each meets its own fault.
        for fault in ({"kind": "status", "http_status": 502}, {"kind": "reset_after_accept"}):
            for channel, target in TARGETS.items():
                standins.script(channel, fault)
                ids[channel] = town.send(channel, target, f"{fault['kind']} on {channel}", policy=MOST)
            for channel, id_ in ids.items():
                wanted = "sent" if fault["kind"] == "status" or channel == "guildchat" else "uncertain"
                town.wait_until(id_, "sent", "uncertain", "dead")
                found = town.delivery(id_)["status"]
                lost += [f"{channel}: {fault['kind']} ended as {found}"] * (found != wanted)
        for channel in TARGETS:
            texts = [item["text"] for item in standins.received(channel)]
            twice += [f"{channel}: {text}" for text in set(texts) if texts.count(text) != 1]
        return [
            none_of("tried earlier than told", early),
            # From before the message was queued: the wait alone is measured by the recording provider.
            Figure("longest beyond the told wait, from queueing on", max(late), "≤", 3.0, "s"),
            none_of("outcomes other than documented", lost),
            none_of("not received exactly once", twice),
        ]


# By name: the fault, the policy, and what may become of the message, with how often it is received.
MAIL_FAULTS: Mapping[str, tuple[dict[str, Any], str, Mapping[str, int]]] = {
    "dropped-before-mail": ({"kind": "reset", "operation": "MAIL"}, MOST, {"sent": 1}),
    "dropped-after-rcpt": ({"kind": "reset_after_accept", "operation": "RCPT"}, MOST, {"sent": 1}),
    # Noticed before the final dot, the drop delivered nothing; on a busy machine the dot may be on its way by then.
    "dropped-in-data": ({"kind": "reset", "operation": "DATA"}, MOST, {"sent": 1, "uncertain": 0}),
    "dropped-in-data-again": ({"kind": "reset", "operation": "DATA"}, LEAST, {"sent": 1}),
    "dropped-after-dot": ({"kind": "reset_after_accept", "operation": "DATA"}, MOST, {"uncertain": 1}),
    "dropped-after-dot-again": ({"kind": "reset_after_accept", "operation": "DATA"}, LEAST, {"sent": 2}),
    "busy": ({"kind": "error", "code": "421 4.3.2 Come back", "operation": "MAIL"}, LEAST, {"sent": 1}),
    "try-later": ({"kind": "error", "code": "451 4.3.0 Try again", "operation": "RCPT"}, LEAST, {"sent": 1}),
    "no-such-user": ({"kind": "error", "code": "550 5.1.1 No such user", "operation": "RCPT"}, LEAST, {"dead": 0}),
}


def survive_mail_faults(directory: Path) -> list[Figure]:
    """Break SMTP sessions at every step; then offer a wrong certificate, and no STARTTLS."""
    with open_town(directory) as town:
        standins = StandIns(town)
        town.start_gateway(DELIVERY_WORKERS="0")
        worker = town.start_worker()
        ids = {}
        for name, (fault, policy, _) in MAIL_FAULTS.items():
            standins.script("email", fault)
            ids[name] = town.send("email", f"{name}@example.org", f"mail {name}", policy=policy)
            # Only then the next: a fault is met by the session that comes first, which may be a repeat.
            town.wait_until(ids[name], "sent", "uncertain", "dead")
        wrong = []
        for name, (_, _, outcomes) in MAIL_FAULTS.items():
            found = town.delivery(ids[name])
            mails = [item for item in standins.received("email") if item["target"] == f"{name}@example.org"]
            if outcomes.get(found["status"]) != len(mails):
                wrong.append(f"{name}: {found['status']} and received {len(mails)} times ({found['error']})")
            if len({mail["id"] for mail in mails}) > 1:
                wrong.append(f"{name}: came again with another Message-ID")
        town.end_worker(worker, kill=False)
        return [
            Figure("kinds of broken sessions", len(MAIL_FAULTS)),
            none_of("outcomes other than documented", wrong),
            *_untrusted(town, standins),
        ]


def _untrusted(town: Town, standins: StandIns) -> list[Figure]:
    import sys

    import trustme

    before = len(standins.received("email"))
    stranger = town.directory / "stranger.pem"
    trustme.CA().cert_pem.write_to_path(str(stranger))
    worker = town.start_worker(SMTP_CA_FILE=str(stranger))
    id_ = town.send("email", "wrong-certificate@example.org", "secret")
    town.wait_until(id_, "retry_wait", "dead")
    town.end_worker(worker, kill=False)
    town.ask("POST", f"/deliveries/{id_}/cancel")
    script = Path(__file__).with_name("plain_mail.py")
    plain = town.run([sys.executable, script], "plain-mail", pipes=True)
    town.start_worker(SMTP_PORT=plain.first_line().strip())
    id_ = town.send("email", "stripped@example.org", "secret")
    wait_for("the stripped server was refused", lambda: town.delivery(id_)["error"])
    assert plain.process.stdin is not None
    plain.process.stdin.close()
    return [
        Figure("mail given to a server with a wrong certificate", len(standins.received("email")) - before, "=", 0),
        Figure("mail given to a server without STARTTLS", int(plain.first_line()), "=", 0),
    ]
