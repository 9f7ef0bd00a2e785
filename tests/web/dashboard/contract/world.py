"""A dashboard with one thing of every kind behind it, and what makes further ones."""

import os
import zlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.features.browser.conftest import write_program
from tests.features.jobs.conftest import make_repository
from tests.waiting import eventually
from tests.web.access.accounts import CHEAP
from tests.web.conftest import SCHEMAS, TEAMCHAT, make_app
from tests.web.dashboard.contract.examples import MESSAGE, PASSWORD, SUBSCRIPTION

from tocsin.assembly.full.access import open_tokens, sign_in_link
from tocsin.assembly.full.dashboard import create_dashboard
from tocsin.assembly.full.live import event_hub
from tocsin.assembly.program import App
from tocsin.core.http.transport import HttpResponse
from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus
from tocsin.delivery.store import ChannelRules
from tocsin.features.assistant_skills.model import ChangedText
from tocsin.features.assistant_skills.results import SkillResultRecord
from tocsin.features.doors.model import DoorRequest, RequestState
from tocsin.features.doors.rows import RequestOutcome, facts_of
from tocsin.features.heartbeats.model import PingKind, ReceivedPing
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.dashboard import DashboardAnswer, DashboardClient
from tocsin.testing.fakes import FakeClock, ScriptedTransport
from tocsin.web.access.passwords import hash_password

ACTIVE = "status=queued&status=running&status=waiting&status=cancelling"
_ACCEPTED = HttpResponse(
    200, {}, b'{"ok": true, "ts": "1503435956.000247", "user": "bot", "team": "Ops", "url": "https://ops.example/"}'
)
_FILES = {
    "profiles.yaml": "oncall:\n  - {channel: teamchat, target: '#ops'}\n",
    "triggers.yaml": "- {pattern: '^deploy', action: shell, command: 'true'}\n",
    "watchers.yaml": "- {name: sort, path: {data}, command: 'true', enabled: false}\n",
    "browser_profiles.yaml": "profiles:\n  - {name: work, executable: {data}/chromium, sandbox: false}\n",
    "ssh_hosts.yaml": "hosts:\n  - {name: web1, hostname: 127.0.0.1, port: 1}\n",
    "workflows/greet.yaml": "name: greet\nsteps:\n  - {name: say, type: shell, command: echo hello}\n",
    "skills/greeter/skill.yaml": "name: greeter\ndescription: It greets.\ncommand: echo hello\n",
    "workflows/ask.yaml": "name: ask\nsteps:\n  - {name: ask, type: wait, approval: true, message: really?}\n",
}


@dataclass
class ContractWorld:
    """The dashboard, called with name and password."""

    app: App
    client: DashboardClient
    document: dict[str, Any] = field(default_factory=dict)
    _numbers: Any = field(default_factory=count)

    async def made(self, kind: str) -> str:
        """Make a thing and return what paths call it."""
        return await MAKERS[kind](self)

    def name(self) -> str:
        return f"thing-{next(self._numbers)}"

    async def post(self, path: str, body: object = None, **headers: str) -> dict[str, Any]:
        answer = await self.client.post(path, body, **headers)
        assert answer.status < 300, (path, answer.status, answer.body)
        found: dict[str, Any] = answer.json()
        return found

    async def is_idle(self, kind: str = "") -> bool:
        """Whether no run, or none of a kind, is active."""
        query = f"{ACTIVE}&kind={kind}" if kind else ACTIVE
        return not (await self.client.get(f"/api/runs?{query}")).json()["items"]

    async def token(self, *scopes: str) -> dict[str, str]:
        """Return the header of a caller with a token."""
        _, text = await open_tokens(self.app).create(self.name(), scopes, Caller("cli"))
        return {"authorization": f"Bearer {text}"}

    def actions(self) -> defaultdict[str, list[str]]:
        """Return the actions that the audit log has of each request."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for entry in self.app.audit.log.tail(500):
            found[str(entry.metadata.get("request_id"))].append(entry.action)
        return found

    async def streamed(self, path: str, headers: dict[str, str]) -> DashboardAnswer:
        """Read a stream, which ends because we go."""
        self.client.leaves = True
        try:
            return await self.client.call("GET", path, headers=headers)
        finally:
            self.client.leaves = False


async def _cron(world: ContractWorld, **fields: object) -> str:
    job = {"name": world.name(), "schedule": "@daily", "command": "echo done", **fields}
    return str((await world.post("/api/cron/jobs", job))["id"])


async def _ended_run(world: ContractWorld) -> str:
    run = await world.post(f"/api/cron/jobs/{await _cron(world)}/run", Prefer="wait=20")
    return str(run["id"])


async def _active_run(world: ContractWorld) -> str:
    run = await world.post(f"/api/cron/jobs/{await _cron(world, command='exec sleep 600')}/run")
    return str(run["id"])


async def _waiting_run(world: ContractWorld) -> str:
    async def waiting() -> str | None:
        found = (await world.client.get("/api/runs?kind=workflow&status=waiting")).json()["items"]
        return str(found[0]["id"]) if found else None

    if known := await waiting():
        return known
    await eventually(lambda: world.is_idle("workflow"))  # another run of the workflow would be skipped
    await world.post(f"/api/cron/jobs/{await _cron(world, type='workflow', command='ask')}/run")
    return str(await eventually(waiting))


async def _job(world: ContractWorld) -> str:
    return str((await world.post("/api/jobs", {"title": world.name(), "repo": "site"}))["id"])


async def _started_job(world: ContractWorld) -> str:
    job = await _job(world)
    await world.post(f"/api/jobs/{job}/start")
    return job


async def _delivery(world: ContractWorld) -> str:
    queued = await world.post("/api/msg/send", {**MESSAGE, "target": f"#{world.name()}", "queue": True})
    return str(queued["id"])


async def _cancelled_delivery(world: ContractWorld) -> str:
    delivery = await _delivery(world)
    await world.post(f"/api/deliveries/{delivery}/cancel")
    return delivery


async def _keyed_delivery(world: ContractWorld) -> str:
    message = {"channel": "teamchat", "target": "#ops", "message": "hello", "key": world.name(), "queue": True}
    return str((await world.post("/api/msg/send", message))["id"])


async def _delivery_with_a_file(world: ContractWorld) -> str:
    attach = [{"name": "a.log", "content": b64encode(b"line").decode()}]
    message = {"channel": "teamchat", "target": "#ops", "message": "hello", "attach": attach, "queue": True}
    return str((await world.post("/api/msg/send", message))["id"])


async def _failed_delivery(world: ContractWorld) -> str:
    delivery, store = await _delivery(world), world.app.outbox.store
    waits = AttemptOutcome(DeliveryStatus.RETRY_WAIT, error="HTTP 502", error_class="transient", wait_s=3600)
    for claimed in await store.claim_due("worker", 200, {"teamchat": ChannelRules()}):
        await store.finish("worker", claimed.id, waits)
    return delivery


async def _dead_delivery(world: ContractWorld) -> str:
    delivery, store = await _delivery(world), world.app.outbox.store
    dead = AttemptOutcome(DeliveryStatus.DEAD, error="no such channel", error_class="permanent")
    for claimed in await store.claim_due("worker", 200, {"teamchat": ChannelRules()}):
        await store.finish("worker", claimed.id, dead)
    return delivery


async def _notification(world: ContractWorld) -> str:
    return str((await world.post("/api/notifications", {"title": world.name()}))["id"])


async def _read_notification(world: ContractWorld) -> str:
    notification = await _notification(world)
    await world.post(f"/api/notifications/{notification}/read")
    return notification


async def _conversation(world: ContractWorld) -> str:
    return str((await world.post("/api/chat/conversations", {"title": world.name()}))["id"])


async def _attachment(world: ContractWorld) -> str:
    text = {"content-type": "text/plain"}
    return str((await world.client.call("POST", "/api/chat/attachments", b"hello", headers=text)).json()["id"])


async def _proposal(world: ContractWorld) -> str:
    folder, name = world.app.settings.data_dir.parent / "watched", world.name()
    folder.mkdir(exist_ok=True)
    changes = (ChangedText(name, "", "new\n"),)
    result = SkillResultRecord(new_id(), "reviewer", str(folder), patch="+new", changes=changes)
    await world.app.features.opened("assistant_skills").results.add(result)
    return result.run_id


async def _device(world: ContractWorld) -> str:
    name = world.name()
    subscription = {**SUBSCRIPTION, "endpoint": f"{SUBSCRIPTION['endpoint']}-{name}"}
    return str((await world.post("/api/devices", {"name": name, **subscription}))["name"])


async def _door(world: ContractWorld) -> str:
    return str((await world.post("/api/doors", {"name": world.name(), "profile": "oncall"}))["name"])


async def _called_door(world: ContractWorld) -> str:
    """Return a door that has taken a request."""
    name, store = await _door(world), world.app.features.opened("doors").store
    request = DoorRequest(body=b'{"title": "Disk full"}', at=world.app.clock.now())
    [number] = await store.take_all([(await store.get(name), request)], "", 200)
    outcome = RequestOutcome(state=RequestState.SENT, payload=request.body.decode(), facts=facts_of(request))
    await store.finish({number: outcome}, {}, lambda _: None)
    return name


async def _heartbeat(world: ContractWorld) -> str:
    return str((await world.post("/api/heartbeats", {"name": world.name(), "period": "1d"}))["id"])


async def _paused_heartbeat(world: ContractWorld) -> str:
    heartbeat = await _heartbeat(world)
    await world.post(f"/api/heartbeats/{heartbeat}/pause")
    return heartbeat


async def _pinged_heartbeat(world: ContractWorld) -> str:
    """Return the name of a heartbeat, which is also the number of its ping."""
    heartbeats = world.app.features.opened("heartbeats")
    await world.client.post("/api/heartbeats", {"name": "1", "period": "1d"})
    log = ReceivedPing(kind=PingKind.LOG, size=4, body=zlib.compress(b"done"))
    await heartbeats.store.take("name", "1", log, world.app.clock.now())
    return "1"


async def _memory(world: ContractWorld) -> str:
    return str((await world.post("/api/memory", {"key": world.name(), "value": "blue"}))["key"])


async def _forgotten_memory(world: ContractWorld) -> str:
    key = await _memory(world)
    assert (await world.client.call("DELETE", f"/api/memory/{key}")).status == 204
    return key


async def _token(world: ContractWorld) -> str:
    return str((await world.post("/api/tokens", {"name": world.name(), "scopes": ["read"]}))["name"])


async def _chat(world: ContractWorld) -> str:
    chat = str(1000 + int(world.name().rpartition("-")[2]))
    await world.post(f"/api/access/{chat}/approve")
    return chat


async def _link(world: ContractWorld) -> str:
    return (await sign_in_link(world.app, "http://127.0.0.1:8200")).rpartition("/")[2]


def _fixed(name: str) -> Callable[[ContractWorld], Awaitable[str]]:
    async def same(_: ContractWorld) -> str:
        return name

    return same


MAKERS: dict[str, Callable[[ContractWorld], Awaitable[str]]] = {
    "active run": _active_run,
    "attachment": _attachment,
    "cancelled delivery": _cancelled_delivery,
    "channel": _fixed("teamchat"),
    "called door": _called_door,
    "chat": _chat,
    "conversation": _conversation,
    "cron job": _cron,
    "dead delivery": _dead_delivery,
    "delivery": _delivery,
    "delivery with a file": _delivery_with_a_file,
    "device": _device,
    "door": _door,
    "ended run": _ended_run,
    "failed delivery": _failed_delivery,
    "forgotten memory": _forgotten_memory,
    "heartbeat": _heartbeat,
    "job": _job,
    "keyed delivery": _keyed_delivery,
    "link": _link,
    "memory": _memory,
    "notification": _notification,
    "paused heartbeat": _paused_heartbeat,
    "pinged heartbeat": _pinged_heartbeat,
    "profile": _fixed("oncall"),
    "proposal": _proposal,
    "read notification": _read_notification,
    "skill": _fixed("greeter"),
    "spare token": _token,
    "started job": _started_job,
    "unknown chat": _fixed("77"),
    "waiting run": _waiting_run,
    "watcher": _fixed("sort"),
    "browser": _fixed("work"),
    "workflow": _fixed("greet"),
}


@asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[ContractWorld]:
    """Open the whole program, with its login, over a directory with one file of every kind."""
    data = folder / "data"
    for name, text in _FILES.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text.replace("{data}", str(data)))
    make_repository(folder / "repos" / "site")
    machine = folder / "machine"
    machine.mkdir()
    (machine / "mode").touch()
    write_program(machine).rename(data / "chromium")
    env = {
        "WEBPUSH_CONTACT": "mailto:ops@example.org",
        **TEAMCHAT,
        "REDIS_URL": "off",
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "RATE_LIMIT_PER_USER": "100000",
        "RATE_LIMIT_PER_IP": "100000",
        "CHAT_PROVIDER": "openai",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "CHAT_MODEL": "nobody",
        "SKILLS_WATCH": str(folder / "watched"),
        "JOB_REPOSITORIES": str(folder / "repos"),
        "DASHBOARD_USER": "anna",
        "DASHBOARD_PASS_HASH": hash_password(PASSWORD, CHEAP),
    }
    clock, transport = FakeClock(), ScriptedTransport([_ACCEPTED] * 1000)
    database = Database(data / "tocsin.db", SCHEMAS)
    app = make_app(data, env, transport, clock, database)
    login = "Basic " + b64encode(f"anna:{PASSWORD}".encode()).decode()
    client = DashboardClient(
        create_dashboard(app, lambda: False, None, event_hub(app)), "", headers={"authorization": login}
    )
    world = ContractWorld(app, client)
    app.features.opened("vault").vault.init(source="cli")
    world.document = (await client.get("/api/openapi.json")).json()
    try:
        yield world
    finally:
        await _end_runs(world)
        for part in (app.features, app.runs, app.presence, app.messenger, database):
            await part.aclose()
        app.audit.log.close()


async def _end_runs(world: ContractWorld) -> None:
    """End what still runs: nothing of a test outlives it."""
    for run in (await world.client.get(f"/api/runs?{ACTIVE}&limit=200")).json()["items"]:
        await world.client.post(f"/api/runs/{run['id']}/cancel", {"grace_seconds": 0})
    await world.client.post("/api/browser/profiles/work/stop")

    await eventually(world.is_idle)
