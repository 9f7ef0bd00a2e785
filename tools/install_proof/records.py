"""What a Tocsin in use has stored: fill an installation through commands and routes, and read everything back."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tools.install_proof.installation import Installation

from tocsin.cli.demo.files import GREET, RELEASE, REPORT, SKILLS, TRIGGERS, WORKFLOWS
from tocsin_standins import StandinCluster

ANNA, BERT, CARL = 1001, 1002, 1003
WAIT_S = 60
# `DATA` stands for the data directory.
FILES = {
    "profiles.yaml": "oncall:\n  - channel: slack\n    target: '#ops'\n",
    "triggers.yaml": TRIGGERS,
    "watchers.yaml": '- name: inbox\n  path: DATA/inbox\n  command: wc -c < "$1"\n',
    "inbox/letter": "Dear all\n",
    "ssh_hosts.yaml": "hosts:\n  - {name: web1, hostname: 192.0.2.1}\n",
    "browser_profiles.yaml": "profiles:\n  - {name: work, default: true}\n",
    "cron.d/nightly.yaml": 'schedule: "30 3 * * *"\ncommand: echo nightly\n',
    **{f"workflows/{name}.yaml": text for name, text in WORKFLOWS.items()},
    **{f"skills/{name}/skill.yaml": text for name, text in SKILLS.items()},
}
# Each prints one JSON document; the number of rows is far above what `fill` makes.
LISTS = (
    "deliveries list -n 200", "deliveries counts", "runs list -n 200", "cron list", "workflows list", "skills list",
    "memory list", "memory stats", "vault list", "tokens list", "bot access list", "notifications list -n 200",
    "watchers list", "ssh hosts", "jobs list", "triggers list", "profiles", "browser profiles",
)  # fmt: skip
# What is in tocsin.db alone, and does not depend on the time.
IN_DATABASE = (
    "deliveries list -n 200", "deliveries counts", "runs list -n 200", "cron list", "memory list", "tokens list",
    "bot access list", "notifications list -n 200", "jobs list",
)  # fmt: skip
# By list: the command that shows one row, and the field of the row that names it.
DETAILS = {
    "deliveries list -n 200": ("deliveries show", "id"),
    "runs list -n 200": ("runs show", "id"),
    "cron list": ("cron show", "name"),
    "jobs list": ("jobs show", "id"),
    "notifications list -n 200": ("notifications show", "id"),
}
OPERATIONS = (
    "/api/deliveries?limit=200", "/api/runs?limit=200", "/api/cron/jobs", "/api/memory", "/api/tokens", "/api/access",
    "/api/notifications", "/api/jobs", "/api/workflows", "/api/skills", "/api/vault/keys",
    "/api/chat/conversations", "/api/msg/profiles", "/api/triggers", "/api/ssh/hosts",
)  # fmt: skip
# Fields that are computed for the answer, not stored.
COMPUTED = frozenset(
    {
        "age", "age_days", "age_s", "last_used", "last_used_at", "next_at", "next_run", "next_runs", "now",
        "schedule_text", "strength",
    }
)  # fmt: skip


def fill(tocsin: Installation, town: StandinCluster) -> None:
    """Leave records of every kind, in the states that they can have; the services must be running."""
    tocsin.write({name: text.replace("DATA", tocsin.data) for name, text in FILES.items()})
    tocsin.tocsin("send", "slack", "#ops", "sent at once")
    tocsin.attempt("send", "slack", "#nosuch", "refused at once")
    tocsin.tocsin("send", "slack", "#ops", "sent by the queue", "--queue")
    tocsin.tocsin("send", "telegram", str(ANNA), "sent to a chat", "--queue")
    tocsin.tocsin("send", "slack", "#nosuch", "dead", "--queue")
    later = {"channel": "slack", "target": "#ops", "message": "for later", "not_before": str(int(time.time()) + 86_400)}
    headers = {"Authorization": "Bearer a-token-for-this-proof", "Prefer": "respond-async", "Idempotency-Key": "later"}
    tocsin.post("/send", later, headers)
    tocsin.tocsin("memory", "set", "office.wifi", "The guest network is called Lighthouse", "--tag", "office", "--pin")
    tocsin.tocsin("memory", "set", "plan", "first", "--type", "note")
    tocsin.tocsin("memory", "set", "plan", "second", "--type", "note")
    tocsin.tocsin("memory", "set", "gone", "restorable")
    tocsin.tocsin("memory", "delete", "gone", "--yes")
    tocsin.tocsin("vault", "init")
    tocsin.tocsin("vault", "set", "API_KEY", text="a value of the vault\n")
    tocsin.tocsin("vault", "set", "DB_PASSWORD", text="another\n")
    tocsin.tocsin("tokens", "create", "reader", "--scope", "read")
    tocsin.token = json.loads(tocsin.tocsin("tokens", "create", "proof", "--scope", "admin", "--json"))["token"]
    tocsin.tocsin("bot", "access", "approve", str(ANNA))
    tocsin.tocsin("bot", "access", "deny", str(BERT))
    town.botchat.say(CARL, "/start", sender_name="Carl")
    town.botchat.say(ANNA, "weather Oslo")
    tocsin.tocsin("cron", "add", "failing", "0 3 * * *", "echo full >&2; exit 1", "--output", "oncall")
    tocsin.attempt("cron", "run", "failing")
    tocsin.tocsin("skills", "run", GREET, "Alice")
    tocsin.tocsin("workflows", "run", REPORT)
    # By the services: a process of `--detach` would go on in the root of the older version.
    tocsin.post(f"/api/workflows/{RELEASE}/run", {}, {"Authorization": f"Bearer {tocsin.token}"}, dashboard=True)
    tocsin.tocsin("watchers", "run", "inbox", f"{tocsin.data}/inbox/letter")
    tocsin.tocsin("jobs", "create", "Write the report", "--description", "By Friday", "--label", "office")
    wait_for(lambda: "waiting" in tocsin.tocsin("runs", "list", "--status", "waiting"), "a run that waits for approval")
    tocsin.tocsin("cron", "add", "tick", "every 1s", "echo tick")
    wait_for(lambda: len(_items(tocsin.tocsin("cron", "logs", "tick", "--json"))) >= 3, "three runs of a cron job")
    tocsin.tocsin("cron", "disable", "tick")
    wait_for(lambda: str(CARL) in tocsin.tocsin("bot", "access", "list"), "a request for access")
    wait_for(lambda: any("sunny" in one.text for one in town.recorder.of("botchat")), "the answer of a trigger")
    states = {"sent by the queue": "sent", "dead": "dead"}
    wait_for(lambda: _ended(tocsin, states), "the end of queued messages")


def _items(printed: str) -> list[Any]:
    """Return the rows of a list, which some commands put into a document with `items`."""
    found = json.loads(printed)
    return list(found["items"]) if isinstance(found, Mapping) else list(found)


def _ended(tocsin: Installation, states: Mapping[str, str]) -> bool:
    found = {
        one["message"]: one["status"] for one in json.loads(tocsin.tocsin("deliveries", "list", "-n", "200", "--json"))
    }
    return all(found.get(message) == state for message, state in states.items())


def wait_for(condition: Callable[[], bool], what: str, seconds: float = WAIT_S) -> None:
    """Return when the condition holds; raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"no {what} within {seconds} s")
        time.sleep(0.2)


def stored(tocsin: Installation) -> dict[str, Any]:
    """Return by command what it prints, with secrets as hashes; services need not run."""
    found = listed(tocsin, LISTS, DETAILS)
    for row in found["runs list -n 200"]:
        found[f"runs log {row['id']}"] = tocsin.attempt("runs", "log", row["id"]).stdout
    found["memory export"] = [json.loads(line) for line in tocsin.tocsin("memory", "export").splitlines()]
    for name in ("API_KEY", "DB_PASSWORD"):
        found[f"vault get {name}"] = hashlib.sha256(tocsin.tocsin("vault", "get", name).encode()).hexdigest()
    tocsin.tocsin("audit", "verify")
    for name in FILES:
        found[name] = hashlib.sha256((tocsin.data_path / name).read_bytes()).hexdigest()
    return found


def listed(
    tocsin: Installation, lists: Sequence[str], details: Mapping[str, tuple[str, str]] | None = None
) -> dict[str, Any]:
    """Return by command what it prints: each list, and each of its rows in detail."""
    found: dict[str, Any] = {}
    for command in lists:
        done = tocsin.attempt(*command.split(), "--json")
        if done.returncode:  # the image of a former version has no `ssh`; afterwards, a list that fails is missing
            continue
        rows = found[command] = json.loads(done.stdout)
        if details and command in details:
            show, name = details[command]
            for row in rows if isinstance(rows, list) else next(v for v in rows.values() if isinstance(v, list)):
                found[f"{show} {row[name]}"] = json.loads(tocsin.tocsin(*show.split(), row[name], "--json"))
    return found


def go_on(tocsin: Installation, town: StandinCluster) -> None:
    """Approve the run that waited, and write in a chat that was allowed; the services must be running."""
    [waiting] = _items(tocsin.tocsin("runs", "list", "--status", "waiting", "--json"))
    tocsin.tocsin("runs", "approve", waiting["id"])
    ended: dict[str, Any] = {}

    def has_ended() -> bool:
        ended.update(json.loads(tocsin.tocsin("runs", "show", waiting["id"], "--json")))
        return bool(ended["finished_at"])

    try:
        wait_for(has_ended, "end of the approved run")
    finally:
        if ended.get("status") != "succeeded":
            print(json.dumps(ended, indent=1))
    town.botchat.say(ANNA, "weather Bergen")
    wait_for(lambda: any("sunny in Bergen" in one.text for one in town.recorder.of("botchat")), "answer of a trigger")


def audit_lines(tocsin: Installation) -> list[str]:
    """Return the lines of the audit log."""
    return (tocsin.data_path / "audit.log").read_text("utf-8").splitlines()


def served(tocsin: Installation) -> dict[str, Any]:
    """Return by operation of the REST API what it answers."""
    answers = {path: tocsin.api(path) for path in OPERATIONS}
    return {path: answer for path, answer in answers.items() if answer is not None}


def lost(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield what was there before and is missing or different after; new fields and rows are no loss."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name, value in before.items():
            if name not in COMPUTED:
                yield from (
                    lost(value, after[name], f"{place} {name}") if name in after else [f"{place} {name}: missing"]
                )
    elif _are_rows(before) and isinstance(after, Sequence):
        rows = {_name(row): row for row in after}
        for row in before:
            key = _name(row)
            yield from lost(row, rows[key], f"{place} {key}") if key in rows else [f"{place} {key}: missing"]
    elif before != after:
        yield f"{place}: {str(before)[:200]!r} became {str(after)[:200]!r}"


def count(values: Any) -> int:
    """Return how many values are compared."""
    if isinstance(values, Mapping):
        return sum(count(value) for name, value in values.items() if name not in COMPUTED)
    return sum(map(count, values)) if isinstance(values, list) else 1


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _name(row: Any) -> str:
    names = ("id", "name", "key", "chat_id", "kind", "pattern")
    return next((str(row[name]) for name in names if isinstance(row, Mapping) and name in row), json.dumps(row))
