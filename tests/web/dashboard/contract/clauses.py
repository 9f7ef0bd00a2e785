"""What every operation is asked for, clause by clause, and where a clause cannot apply, why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.web.dashboard.contract.examples import EXAMPLES, MESSAGE

UNKNOWN = "nobody-has-this"
CLAUSES = ("success", "401", "403 scope", "403 origin", "404", "422", "audit")


@dataclass(frozen=True, slots=True)
class Absent:
    """A request for what is not there, and its answer; without a body that of the example, the name in the path."""

    query: str = ""
    body: Any = None
    status: int = 404
    code: str = "not-found"
    is_problem: bool = True  # else a send result


READS = tuple(name for name in EXAMPLES if name.startswith("GET "))
_ANYBODY = ("GET /health", "GET /api/health")
_SIGNS_IN = ("POST /login", "GET /login/link/{code}")

# By clause and reason, the operations that it cannot apply to.
CANNOT: Mapping[str, Mapping[str, Iterable[str]]] = {
    "success": {},
    "401": {
        "probes ask without credentials": _ANYBODY,
        "it takes the credentials itself, and refuses them with 401 by its own code": _SIGNS_IN,
        "signing out twice is no mistake": ["POST /logout"],
    },
    "403 scope": {
        "probes have no token": _ANYBODY,
        "who signs in has no token": (*_SIGNS_IN, "POST /logout"),
    },
    "403 origin": {
        # GET /login/link/{code} comes from a terminal or a mail, which is another site; its code holds once.
        "it changes nothing that another site's page could be after": READS,
    },
    "404": {
        "there is one of it": [
            "GET /health", "GET /api/health", "GET /api/status", "GET /metrics", "GET /api/openapi.json",
            "GET /api/audit/verify", "GET /api/settings/overview", "GET /api/settings/integrations",
            "GET /api/memory/stats", "POST /api/memory/decay", "GET /api/vault/keys", "GET /api/vault/status",
            "GET /api/chat/models", "GET /api/jobs/stream/updates", "GET /api/notifications/feed",
            "GET /api/notifications/unread", "POST /api/notifications/read-all", "POST /login", "POST /logout",
        ],
        "a list that nothing fits is empty": [
            "GET /api/runs", "GET /api/msg/channels", "GET /api/msg/profiles", "GET /api/deliveries",
            "GET /api/audit/tail", "GET /api/audit/search", "GET /api/access", "GET /api/tokens",
            "GET /api/browser/profiles", "GET /api/chat/conversations", "GET /api/cron/jobs",
            "GET /api/cron/upcoming", "GET /api/jobs", "GET /api/memory", "GET /api/memory/search",
            "GET /api/notifications", "GET /api/skills", "GET /api/ssh/groups", "GET /api/triggers",
            "POST /api/triggers/test", "GET /api/watchers/rules", "GET /api/workflows",
        ],
        "it makes what there is not": [
            "POST /api/tokens", "POST /api/chat/conversations", "POST /api/chat/attachments", "POST /api/cron/jobs",
            "POST /api/memory", "POST /api/notifications", "PUT /api/workflows/{name}",
        ],
    },
    "422": {},
    "audit": {
        "it reads": [name for name in READS if name not in _SIGNS_IN],
        "it tells of a text and keeps nothing": ["POST /api/workflows/{name}/validate", "POST /api/triggers/test"],
        "nobody was signed in": ["POST /logout"],
    },
}  # fmt: skip

# What there is not, for operations whose example with another name in the path does not ask for it.
ABSENT: Mapping[str, Absent] = {
    "GET /login/link/{code}": Absent(status=401, code="invalid-credentials"),  # it says nothing of other links
    # Any chat may be approved; this is the name of none.
    "POST /api/access/{chat_id}/approve": Absent(status=422, code="validation-failed"),
    "POST /api/access/{chat_id}/deny": Absent(status=422, code="validation-failed"),
    "POST /api/access/{chat_id}/remove": Absent(status=422, code="validation-failed"),
    "POST /api/workflows/{name}/validate": Absent(body={}),  # with a text, there need be no file
    "POST /api/msg/test/{channel}": Absent(is_problem=False),
    "POST /api/msg/send": Absent(body={**MESSAGE, "channel": UNKNOWN}, is_problem=False),
    "POST /api/chat/send": Absent(body={"conversation_id": UNKNOWN, "content": "hello"}),
    "GET /api/chat/stream": Absent(query=f"conversation_id={UNKNOWN}"),
    "POST /api/jobs": Absent(body={"title": "Fix the login", "repo": UNKNOWN}),
    "GET /api/jobs/branches": Absent(query=f"repo={UNKNOWN}"),
    "GET /api/ssh/hosts": Absent(query=f"group={UNKNOWN}"),
    "GET /api/ssh/health": Absent(query=f"host={UNKNOWN}"),
    "POST /api/ssh/run": Absent(body={"hosts": [UNKNOWN], "command": "uptime"}),
}


def why_not(clause: str, name: str) -> str:
    """Return why a clause cannot apply to an operation; empty where it does."""
    return next((why for why, names in CANNOT[clause].items() if name in names), "")


def whole_numbers_of(document: dict[str, Any], says: dict[str, Any]) -> list[str]:
    """Return the fields of a body that are whole numbers."""
    schema = says.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    fields: dict[str, Any] = schema.get("properties", {})
    return [name for name, field in fields.items() if _is_whole(field) or any(map(_is_whole, field.get("anyOf", ())))]


def _is_whole(field: dict[str, Any]) -> bool:
    return "integer" in field.get("type", "") and "number" not in field.get("type", "")
