"""An installation in which every page has something to show, and every field holds a text that is not to be trusted."""

import base64
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.e2e.dashboard.callers import call_door
from tests.e2e.dashboard.served import PASSWORD, USER, ServedDashboard, serve_dashboard
from tests.http_calls import http_call
from tests.ports import free_port
from tests.waiting import until
from tests.web.ui.xss_strings import PLAIN, STRINGS

from tocsin.assembly.program import App
from tocsin.channels.webpush.standin import Browser
from tocsin.features.chat.answer_store import AnswerEnd, AnswerStore
from tocsin.features.chat.model import MessageStatus
from tocsin.features.chat.store import ChatStore, MessageDraft

GIT_ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "Ana" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
LOGIN = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
OVER = {"succeeded", "failed", "partially_succeeded", "timed_out", "cancelled", "interrupted"}


SHORT = 40


class Texts:
    """Hands out the corpus, so that each of its texts stands in some field."""

    def __init__(self, texts: Sequence[str] = PLAIN) -> None:
        self._texts = cycle(texts)
        self._short = cycle([text for text in texts if len(text) <= SHORT])

    def one(self) -> str:
        return next(self._texts)

    def short(self) -> str:
        return next(self._short)

    def much(self, limit: int) -> str:
        """Return as many texts as a field takes."""
        found = [self.one()]
        while sum(map(len, found)) + len(found) + 100 < limit:
            found.append(self.one())
        return " ".join(found)


class Site:
    """A dashboard whose records carry the corpus; `routes` are the addresses of all its pages."""

    def __init__(self, served: ServedDashboard) -> None:
        self.served = served
        self.texts = Texts()
        self.routes: list[str] = []

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the REST API and return what it answers."""
        headers = {"Authorization": f"Basic {LOGIN}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": os.urandom(8).hex()} if method == "POST" else {}
        answer = http_call(f"{self.served.address}api/{path}", body, method=method, **headers)
        assert answer.status < 400, f"{method} {path}: {answer.body.decode()}"
        return json.loads(answer.body or b"null")

    def ended(self, run: str) -> None:
        until(lambda: self.call("GET", f"runs/{run}")["status"] in OVER, "the end of a run")


@contextmanager
def filled_site(folder: Path) -> Iterator[Site]:
    """Serve an installation that is filled."""
    with serve_dashboard(folder, write_files(folder)) as served:
        site = Site(served)
        fill(site)
        yield site


def write_files(folder: Path) -> dict[str, str]:
    """Write what people write in files; return settings."""
    texts = Texts()

    def rules(*items: dict[str, Any]) -> str:
        return json.dumps(items)

    def write(name: str, text: str) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)

    (folder / "inbox").mkdir()
    write("ssh_config", "")
    write("corpus", "\n".join(STRINGS))
    write("triggers.yaml", rules(*({"pattern": re.escape(texts.one()), "command": texts.much(900)} for _ in range(9))))
    watched = {"name": "inbox", "path": str(folder / "inbox"), "patterns": [texts.one()], "command": texts.much(900)}
    write("watchers.yaml", rules(watched, {**watched, "name": "gone", "path": f"{folder}/{texts.one()}".rstrip("/")}))
    host = {"name": "web1", "hostname": "127.0.0.1", "port": free_port(), "groups": ["web"]}
    write("ssh_hosts.yaml", json.dumps({"hosts": [{**host, "description": texts.much(400), "tags": [texts.short()]}]}))
    write("profiles.yaml", json.dumps({"oncall": [{"channel": "teamchat", "target": texts.one()}]}))
    write(
        "browser_profiles.yaml",
        json.dumps({"profiles": [{"name": "office", "user_data_dir": f"/nowhere/{texts.one()}"}]}),
    )
    skill = {"name": "hello", "description": texts.much(400), "command": texts.much(900), "dependencies": ["sh"]}
    write("skills/hello/skill.yaml", json.dumps(skill))
    write("skills/broken/skill.yaml", json.dumps({**skill, "name": "broken", texts.one(): texts.one()}))
    front = {
        "name": "reader",
        "description": texts.much(200).ljust(50, "."),
        "tools": ["Read"],
        "file_patterns": ["*.x"],
    }
    front["trigger_keywords"] = [texts.one()]
    write("skills/reader/SKILL.md", f"---\n{json.dumps(front)}\n---\n{texts.much(2000)}\n")
    steps = [
        {"name": "first", "command": "cat corpus"},
        {"name": "ask", "type": "wait", "approval": True, "message": texts.much(400), "depends_on": ["first"]},
    ]
    flow = {
        "name": "asks",
        "description": texts.much(300),
        "steps": steps,
        "params": {"place": {"default": texts.one()}},
    }
    write("workflows/asks.yaml", json.dumps(flow))
    write("workflows/wrong.yaml", json.dumps({**flow, "name": "wrong", texts.one(): texts.one()}))
    write("cron.d/filed.yaml", json.dumps({"schedule": "@yearly", "command": texts.much(900), texts.one(): 1}))
    _make_repository(folder / "repos" / "site", texts)
    return {
        "WEBPUSH_CONTACT": "mailto:ops@example.org",
        "SSH_CONFIG": str(folder / "ssh_config"),
        "JOB_REPOSITORIES": str(folder / "repos"),
        "TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa",
        "CHAT_PROVIDER": "openai",
        "CHAT_MODEL": "small-1",
        "OPENAI_API_KEY": "sk-of-a-test-000000000000",
    }


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=GIT_ENV, check=True, capture_output=True)


def _make_repository(folder: Path, texts: Texts) -> None:
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "commit", "-q", "--allow-empty", "-m", texts.one())


def fill(site: Site) -> None:
    """Do what people and programs do, by the REST API where it can be done there."""
    details = [*_talk(site), *_work(site), *_keep(site)]
    site.routes = [f"#/{path}" for path in details]


def _talk(site: Site) -> Iterator[str]:
    texts, call = site.texts, site.call
    for level in ("error", "info"):
        body = {
            "title": texts.much(200),
            "body": texts.much(900),
            "level": level,
            "link": f"#/{texts.one()}".replace(" ", ""),
        }
        call("POST", "notifications", body)
    call("POST", "notifications", {"title": "leads away", "link": "#/runs"})
    site.served.do(_converse)
    chats = call("GET", "chat/conversations")["items"]
    yield from ("msg", "chat", f"chat/{chats[0]['id']}", "notifications", "triggers", "access", "deliveries")
    for _ in range(3):
        call("POST", "msg/send", {"channel": "teamchat", "target": "#ops", "message": texts.much(900), "queue": True})
    queued = call("GET", "deliveries")["items"]
    yield f"deliveries/{queued[0]['id']}"


async def _converse(app: App) -> None:
    """Talk with a model that answers with the whole corpus, and have strangers ask to talk to the bot."""
    store, answers = ChatStore(app.database), AnswerStore(app.database)
    begun = await store.begin(MessageDraft("\n".join(STRINGS)), "test", app.clock.now())
    # One text after the other, as many Markdown blocks, and all as one.
    content = "\n\n".join(STRINGS) + "\n\n" + " ".join(PLAIN)
    end = AnswerEnd(MessageStatus.COMPLETE, content, model=PLAIN[0], provider="openai")
    await answers.finish(begun.answer.id, "test", end, app.clock.now())
    access = app.stores.bot().access
    for number, text in enumerate(PLAIN[:5]):
        await access.request(str(number), {"name": text, "username": text})


def _work(site: Site) -> Iterator[str]:
    texts, call = site.texts, site.call
    told = {"description": texts.much(500), "tags": [texts.short()], "params": {"place": texts.one()}}
    command = "cat corpus; cat corpus >&2; exit 3"
    job = call(
        "POST",
        "cron/jobs",
        {"name": "prints", "schedule": "@hourly", "command": command, "env": {"A": texts.one()}, **told},
    )
    call("POST", "cron/jobs", {"name": "says", "schedule": "@daily", "command": texts.much(900), **told})
    run = call("POST", f"cron/jobs/{job['id']}/run", {})["id"]
    flow = call("POST", "workflows/asks/run", {"params": {"place": texts.one()}})["id"]
    shell = call("POST", "ssh/run", {"hosts": ["web1"], "command": texts.much(900)})["id"]
    call("POST", "skills/hello/run", {"args": [texts.one()]})
    task = call(
        "POST", "jobs", {"title": texts.much(200), "description": texts.much(900), "labels": ["site"], "repo": "site"}
    )["id"]
    call("POST", f"jobs/{task}/start", {})
    _commit(Path(call("GET", f"jobs/{task}")["worktree_path"]), texts)
    done = call("POST", "jobs", {"title": texts.much(200), "description": texts.much(900)})["id"]
    call("POST", f"jobs/{done}/start", {})
    call("POST", f"jobs/{done}/complete", {"outcome": "failed", "summary": texts.much(400)})
    site.ended(run)
    site.ended(shell)
    yield from ("home", "cron", "cron?tab=ahead", "cron/new", f"cron/{job['id']}", f"cron/{job['id']}/edit", "runs")
    yield from (
        f"runs/{run}",
        f"runs/{flow}",
        f"runs/{shell}",
        "workflows",
        "workflows/asks",
        "workflows/wrong?tab=yaml",
    )
    yield from ("ssh", "ssh/web1", "jobs", f"jobs/{task}", f"jobs/{done}")


def _commit(worktree: Path, texts: Texts) -> None:
    (worktree / "<img src=x onerror=alert(1)>").write_text(texts.much(2000))
    _git(worktree, "add", ".")
    _git(worktree, "commit", "-q", "-m", texts.one())


def _keep(site: Site) -> Iterator[str]:
    texts, call = site.texts, site.call
    for number in range(3):
        call("POST", "memory", {"key": f"key-{number}", "value": texts.much(900), "tags": ["tag"]})
    site.served.do(_lock)
    call("POST", "heartbeats", {"name": "sensor", "period": 60, "description": texts.much(200)})
    yield from ("heartbeats", "heartbeats/new", "heartbeats/sensor", "heartbeats/sensor/edit")
    call("POST", "doors", {"name": "alerts", "profile": "oncall"})
    site.served.do(lambda app: call_door(app, "alerts", {"title": texts.one(), "text": texts.much(900)}))
    yield from ("doors", "doors/new", "doors/alerts", "doors/alerts/edit", "doors/alerts/rule")
    for number in range(3):
        keys = Browser(f"{number}").keys
        address = f"https://fcm.googleapis.com/fcm/send/{number}"
        call("POST", "devices", {"name": f"phone-{number}", "endpoint": address, **keys})
    yield from ("devices", "memory", "memory/key-0", "skills", "skills/hello", "skills/broken")
    yield from ("skills/reader", "audit", "vault", "watchers", "watchers/inbox", "browser", "settings")


async def _lock(app: App) -> None:
    vault = app.features.opened("vault").vault
    vault.init(source="test")
    vault.set("BACKUP_KEY", "a-value-that-nobody-sees", source="test")
