"""By operation, a request that succeeds."""

from dataclasses import dataclass
from typing import Any

PASSWORD = "a made-up password"
UNKNOWN = "nobody-has-this"
MESSAGE = {"channel": "teamchat", "target": "#ops", "message": "hello"}


@dataclass(frozen=True, slots=True)
class Absent:
    """What a request names that there is not; without a body, that of the example."""

    query: str = ""
    body: Any = None


@dataclass(frozen=True, slots=True)
class Example:
    """A request that succeeds."""

    made: str = ""  # what the path, or `{made}` elsewhere, names; made anew for each request
    body: Any = None
    query: str = ""
    status: int = 200
    streams: bool = False
    media: str = "application/json"
    new: str = ""  # the key of the body whose value nothing may have yet
    absent: "Absent | None" = None  # asks for what there is not; else the example does, with another name in its path


LOGIN = {"username": "anna", "password": PASSWORD}
GREET = "name: greet\nsteps:\n  - {name: say, type: shell, command: echo hello}\n"
JOB = {"name": "nightly", "schedule": "30 2 * * *", "command": "true", "tags": ["night"]}

# That of RFC 8291, 5.
SUBSCRIPTION = {
    "endpoint": "https://fcm.googleapis.com/fcm/send/example",
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}

EXAMPLES: dict[str, Example] = {
    "GET /health": Example(),
    "GET /api/health": Example(),
    "GET /api/openapi.json": Example(),
    "GET /api/status": Example(query="refresh=true"),
    "GET /metrics": Example(),
    "POST /login": Example(body=LOGIN),
    "POST /logout": Example(status=204),
    "GET /login/link/{code}": Example("link", status=303),
    "GET /api/runs": Example(query="status=succeeded&status=failed&kind=cron"),
    "GET /api/runs/{run_id}": Example("ended run", query="log=tail"),
    "POST /api/runs/{run_id}/cancel": Example("active run", {"reason": "no need", "grace_seconds": 1}, status=202),
    "POST /api/runs/{run_id}/retry": Example("ended run", {}, status=202),
    "POST /api/runs/{run_id}/approve": Example("waiting run", {"comment": "yes"}),
    "POST /api/runs/{run_id}/reject": Example("waiting run", {"comment": "no"}),
    "GET /api/msg/channels": Example(),
    "POST /api/msg/send": Example(body=MESSAGE, absent=Absent(body={**MESSAGE, "channel": UNKNOWN})),
    "POST /api/msg/test/{channel}": Example("channel"),
    "GET /api/msg/profiles": Example(),
    "POST /api/msg/profiles/{name}/send": Example("profile", {"message": "hello"}),
    "GET /api/deliveries": Example(query="status=queued"),
    "GET /api/deliveries/{id}": Example("delivery"),
    "GET /api/deliveries/{id}/file": Example("delivery with a file", query="number=1"),
    "POST /api/deliveries/{id}/withdraw": Example("keyed delivery"),
    "POST /api/deliveries/{id}/replay": Example("cancelled delivery"),
    "POST /api/deliveries/{id}/retry": Example("failed delivery"),
    "POST /api/deliveries/{id}/dismiss": Example("dead delivery"),
    "POST /api/deliveries/{id}/cancel": Example("delivery"),
    "POST /api/deliveries/{id}/press": Example("keyed delivery", {"button": 0}),
    "GET /api/audit/tail": Example(query="limit=5"),
    "GET /api/audit/search": Example(query="query=cron&limit=5"),
    "GET /api/audit/verify": Example(),
    "GET /api/settings/overview": Example(),
    "GET /api/settings/integrations": Example(),
    "GET /api/settings/first-steps": Example(),
    "POST /api/settings/first-steps": Example(body={"dismissed": True}),
    "GET /api/settings/channels/{channel}": Example("channel"),
    "POST /api/settings/channels/{channel}": Example("channel", {"settings": {"TEAMCHAT_CHUNK_AT": "4000"}}),
    "GET /api/access": Example(),
    "POST /api/access/{chat_id}/approve": Example("unknown chat"),
    "POST /api/access/{chat_id}/deny": Example("chat"),
    "POST /api/access/{chat_id}/remove": Example("chat"),
    "GET /api/tokens": Example(),
    "POST /api/tokens": Example(body={"name": "backup", "scopes": ["send"]}, status=201, new="name"),
    "GET /api/tokens/{name}": Example("spare token"),
    "DELETE /api/tokens/{name}": Example("spare token", status=204),
    "GET /api/jobs/stream/updates": Example(query="topics=runs,status", streams=True),
    "GET /api/browser/profiles": Example(),
    "POST /api/browser/profiles/{name}/start": Example("browser"),
    "POST /api/browser/profiles/{name}/stop": Example("browser"),
    "GET /api/cron/jobs": Example(query="sort=next_run_at"),
    "POST /api/cron/jobs": Example(body=JOB, status=201, new="name"),
    "GET /api/cron/upcoming": Example(query="hours=48"),
    "GET /api/cron/jobs/{id}": Example("cron job"),
    "PATCH /api/cron/jobs/{id}": Example("cron job", {"timeout_seconds": 5}),
    "DELETE /api/cron/jobs/{id}": Example("cron job", status=204),
    "POST /api/cron/jobs/{id}/enable": Example("cron job"),
    "POST /api/cron/jobs/{id}/disable": Example("cron job", {"reason": "not now"}),
    "POST /api/cron/jobs/{id}/run": Example("cron job", {}, status=202),
    "GET /api/cron/jobs/{id}/logs": Example("cron job", query="tail=10"),
    "GET /api/jobs": Example(query="status=queued"),
    "POST /api/jobs": Example(
        body={"title": "Fix the login", "repo": "site"},
        status=201,
        absent=Absent(body={"title": "Fix it", "repo": UNKNOWN}),
    ),
    "GET /api/jobs/branches": Example(query="repo=site", absent=Absent(query=f"repo={UNKNOWN}")),
    "GET /api/jobs/branches/{job_id}": Example("job", query="patch=true"),
    "GET /api/jobs/{jid}": Example("job"),
    "DELETE /api/jobs/{jid}": Example("job", query="delete_branch=true", status=204),
    "POST /api/jobs/{jid}/start": Example("job"),
    "POST /api/jobs/{jid}/complete": Example("started job", {"outcome": "completed", "summary": "done"}),
    "GET /api/workflows": Example(query="valid=true"),
    "GET /api/workflows/{name}": Example("workflow"),
    "PUT /api/workflows/{name}": Example("workflow", {"yaml": GREET}),
    "POST /api/workflows/{name}/validate": Example("workflow", {"yaml": GREET}, absent=Absent(body={})),
    "POST /api/workflows/{name}/run": Example("workflow", {}, status=202),
    "GET /api/vault/keys": Example(),
    "GET /api/vault/status": Example(),
    "GET /api/chat/conversations": Example(query="q=hello"),
    "POST /api/chat/conversations": Example(body={"title": "Backups"}, status=201),
    "GET /api/chat/conversations/{cid}": Example("conversation", query="limit=5"),
    "DELETE /api/chat/conversations/{cid}": Example("conversation", status=204),
    "POST /api/chat/send": Example(
        "conversation",
        {"conversation_id": "{made}", "content": "hello"},
        status=202,
        absent=Absent(body={"conversation_id": UNKNOWN, "content": "hello"}),
    ),
    "GET /api/chat/stream": Example(
        "conversation",
        query="conversation_id={made}",
        streams=True,
        absent=Absent(query=f"conversation_id={UNKNOWN}"),
    ),
    "GET /api/chat/models": Example(),
    "POST /api/chat/attachments": Example(body=b"hello", query="name=a.txt", status=201, media="text/plain"),
    "GET /api/chat/attachments/{aid}": Example("attachment"),
    "GET /api/skills": Example(query="kind=runnable&enabled=true"),
    "GET /api/skills/{name}": Example("skill", query="file=a.py"),
    "POST /api/skills/{name}/run": Example("skill", {"args": ["now"], "mode": "standard"}, status=202),
    "POST /api/runs/{run_id}/apply": Example("proposal"),
    "GET /api/devices": Example(query="limit=5"),
    "POST /api/devices": Example(
        body={"name": "phone", **SUBSCRIPTION},
        status=201,
        new="name",
        absent=Absent(body={**SUBSCRIPTION, "endpoint": "https://fcm.googleapis.com/fcm/send/x", "replaces": "x"}),
    ),
    "GET /api/push-setup": Example(),
    "GET /api/devices/{name}": Example("device"),
    "PATCH /api/devices/{name}": Example("device", {"name": "annas-phone"}, new="name"),
    "DELETE /api/devices/{name}": Example("device", status=204),
    "GET /api/doors": Example(query="q=alerts"),
    "POST /api/doors": Example(body={"name": "alerts", "profile": "oncall"}, status=201, new="name"),
    "GET /api/doors/kinds": Example(),
    "GET /api/doors/{id}": Example("door"),
    "PATCH /api/doors/{id}": Example("door", {"severity": "warning"}),
    "DELETE /api/doors/{id}": Example("door", status=204),
    "POST /api/doors/{id}/rotate": Example("door"),
    "GET /api/doors/{id}/requests": Example("called door"),
    "POST /api/doors/{id}/test": Example("door"),
    "POST /api/doors/{id}/preview": Example("door", {"payload": '{"title": "Disk full"}'}),
    "POST /api/doors/{id}/rule": Example("called door", {"write": True}),
    "GET /api/heartbeats": Example(query="state=new&q=night"),
    "POST /api/heartbeats": Example(body={"name": "nightly", "period": "1d"}, status=201, new="name"),
    "GET /api/heartbeats/jobs": Example(),
    "GET /api/heartbeats/{id}": Example("heartbeat"),
    "PATCH /api/heartbeats/{id}": Example("heartbeat", {"grace": "2h"}),
    "DELETE /api/heartbeats/{id}": Example("heartbeat", status=204),
    "POST /api/heartbeats/{id}/pause": Example("heartbeat"),
    "POST /api/heartbeats/{id}/resume": Example("paused heartbeat"),
    "GET /api/heartbeats/{id}/pings": Example("heartbeat"),
    "GET /api/heartbeats/{id}/pings/{n}/body": Example("pinged heartbeat"),
    "GET /api/heartbeats/{id}/address": Example("heartbeat"),
    "POST /api/heartbeats/{id}/new-address": Example("heartbeat"),
    "GET /api/memory": Example(query="q=blue"),
    "POST /api/memory": Example(body={"key": "colour", "value": "blue"}, status=201, new="key"),
    "GET /api/memory/stats": Example(),
    "GET /api/memory/search": Example(query="query=blue"),
    "GET /api/memory/own/entries": Example(query="query=deploy"),
    "POST /api/memory/own/entries": Example(
        body={"key": "deploy", "value": "the database first"}, status=201, new="key"
    ),
    "POST /api/memory/decay": Example(body={}),
    "GET /api/memory/{key}": Example("memory"),
    "DELETE /api/memory/{key}": Example("memory", status=204),
    "POST /api/memory/{key}/restore": Example("forgotten memory"),
    "GET /api/notifications": Example(query="unread=true"),
    "POST /api/notifications": Example(body={"title": "Backup finished"}, status=201),
    "GET /api/notifications/unread": Example(),
    "POST /api/notifications/read-all": Example(body={"category": "user"}),
    "GET /api/notifications/feed": Example(),
    "GET /api/notifications/target": Example(),
    "POST /api/notifications/target": Example(body={"channel": "teamchat", "target": "#ops"}),
    "GET /api/notifications/{nid}": Example("notification"),
    "POST /api/notifications/{nid}/read": Example("notification"),
    "POST /api/notifications/{nid}/unread": Example("read notification"),
    "DELETE /api/notifications/{nid}": Example("notification", status=204),
    "GET /api/ssh/hosts": Example(query="q=web", absent=Absent(query=f"group={UNKNOWN}")),
    "GET /api/ssh/groups": Example(),
    "POST /api/ssh/run": Example(
        body={"hosts": ["web1"], "command": "uptime"},
        status=202,
        absent=Absent(body={"hosts": [UNKNOWN], "command": "uptime"}),
    ),
    "GET /api/ssh/health": Example(query="host=web1&refresh=true", absent=Absent(query=f"host={UNKNOWN}")),
    "GET /api/triggers": Example(),
    "POST /api/triggers/test": Example(body={"text": "deploy now", "on": "message"}),
    "GET /api/watchers/rules": Example(),
    "GET /api/watchers/rules/{name}": Example("watcher"),
}

# The operations by number, as they were agreed on; everything else is an extension.
OPERATIONS = """
GET /health
GET /api/status
GET /api/cron/jobs
GET /api/cron/jobs/{id}
POST /api/cron/jobs
DELETE /api/cron/jobs/{id}
POST /api/cron/jobs/{id}/enable
POST /api/cron/jobs/{id}/disable
POST /api/cron/jobs/{id}/run
GET /api/cron/jobs/{id}/logs
GET /api/msg/channels
POST /api/msg/send
POST /api/msg/test/{channel}
GET /api/msg/profiles
POST /api/msg/profiles/{name}/send
GET /api/ssh/hosts
GET /api/ssh/groups
POST /api/ssh/run
GET /api/ssh/health
GET /api/workflows
GET /api/workflows/{name}
POST /api/workflows/{name}/validate
POST /api/workflows/{name}/run
GET /api/memory
GET /api/memory/stats
GET /api/memory/search
POST /api/memory
GET /api/memory/{key}
DELETE /api/memory/{key}
POST /api/memory/decay
GET /api/skills
GET /api/skills/{name}
POST /api/skills/{name}/run
GET /api/audit/tail
GET /api/audit/search
GET /api/vault/keys
GET /api/vault/status
GET /api/watchers/rules
GET /api/watchers/rules/{name}
GET /api/browser/profiles
POST /login
POST /logout
GET /api/chat/conversations
POST /api/chat/conversations
GET /api/chat/conversations/{cid}
DELETE /api/chat/conversations/{cid}
POST /api/chat/send
GET /api/chat/stream
GET /api/jobs
POST /api/jobs
GET /api/jobs/{jid}
POST /api/jobs/{jid}/start
POST /api/jobs/{jid}/complete
DELETE /api/jobs/{jid}
GET /api/jobs/branches
GET /api/jobs/branches/{job_id}
GET /api/jobs/stream/updates
GET /api/notifications
POST /api/notifications
GET /api/notifications/unread
POST /api/notifications/{nid}/read
POST /api/notifications/read-all
DELETE /api/notifications/{nid}
GET /api/notifications/feed
GET /api/settings/overview
GET /api/settings/integrations
GET /api/health
PATCH /api/cron/jobs/{id}
GET /api/runs/{run_id}
POST /api/runs/{run_id}/cancel
""".strip().splitlines()
