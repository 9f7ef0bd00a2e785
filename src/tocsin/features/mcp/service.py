"""The tools of agents: which ones a caller gets, the limits per caller, and results as data."""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tocsin.core.text.redaction import redact_json
from tocsin.core.text.visible import visible
from tocsin.features.context import FeatureContext
from tocsin.features.mcp.feature import MCP_CALL, MCP_TOOLS
from tocsin.features.mcp.protocol import INVALID_PARAMS, MissingScopeError, ProtocolError, ToolServer

if TYPE_CHECKING:
    from tocsin.rest.describing.tools import OperationTool, Override, ToolAnswer

SENDS_PER_HOUR, HOUR_S = 30, 3600.0
MAX_AT_ONCE = 16
MAX_TEXT = 8_192  # characters of one text of a result, such as the end of a log
MAX_RESULT = 65_536  # characters of a result
MAX_KEY = 64  # characters of the key of a message
_FIELD_ERRORS = ("validation-failed", "invalid-request")

# Called with the tool, its arguments, and what returns keys of the body that replace them. Raises ProtocolError.
Perform = Callable[["OperationTool", Mapping[str, Any], "Override"], "Awaitable[ToolAnswer]"]


class CallRefusedError(Exception):  # raised to become a result
    """The caller may not make this call now."""


@dataclass(slots=True)
class AgentUsage:
    """The calls of one caller."""

    active: int = 0
    sends: deque[float] = field(default_factory=deque)  # times of the last hour


class AgentTools:
    """The operations that are offered as tools, and what each caller has used."""

    def __init__(self, context: FeatureContext) -> None:
        self.context = context
        self.named = context.settings[MCP_TOOLS]
        self._usage: dict[str, AgentUsage] = {}

    def is_on(self, tool: "OperationTool") -> bool:
        """Whether the settings offer a tool."""
        return tool.name in self.named if self.named else not tool.tool.optional

    @contextmanager
    def within_limits(self, user: str, *, is_send: bool) -> Iterator[None]:
        """Count a call; raise CallRefusedError if the caller makes too many. Calls with invalid arguments are free."""
        now, usage = self.context.clock.monotonic(), self._usage.setdefault(user, AgentUsage())
        if usage.active >= MAX_AT_ONCE:
            raise CallRefusedError(f"{MAX_AT_ONCE} calls of this token are active. Wait until one has ended.")
        while usage.sends and usage.sends[0] <= now - HOUR_S:
            usage.sends.popleft()
        if is_send and len(usage.sends) >= SENDS_PER_HOUR:
            wait = int(usage.sends[0] + HOUR_S - now) + 1
            raise CallRefusedError(
                f"This token has sent {SENDS_PER_HOUR} messages within an hour. Try again in {wait} seconds."
            )
        usage.active += 1
        usage.sends.extend([now] * is_send)
        try:
            yield
        except ProtocolError:
            if is_send:
                usage.sends.remove(now)
            raise
        finally:
            usage.active -= 1


@dataclass(frozen=True, slots=True)
class Agent(ToolServer):
    """The caller of a request, and the tools that it may use."""

    offered: AgentTools
    tools: Mapping[str, "OperationTool"]
    user: str  # such as `token:web`
    scopes: frozenset[str]
    source: str  # through which its calls are recorded
    perform: Perform

    async def listed(self) -> list[dict[str, Any]]:
        """Return the descriptions of the tools, in a fixed order."""
        allowed = (each for each in self.tools.values() if self.offered.is_on(each) and each.scope in self.scopes)
        return [each.description for each in allowed]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a call, which becomes one audit entry."""
        outcome = "error"
        try:
            tool = self.tools.get(name)
            if tool is None or not self.offered.is_on(tool):
                return await ToolServer.call(self, name, arguments)
            if tool.scope not in self.scopes:
                outcome = "denied"
                raise MissingScopeError(tool.name, tool.scope)
            with self.offered.within_limits(self.user, is_send=bool(tool.tool.signed)):
                found = await self.perform(tool, arguments, partial(_signature, tool, self.user))
                result = self._result(tool, found)
            outcome = "ok" if found.status < 400 else "denied" if found.status in {401, 403, 429} else "error"
            return result
        except CallRefusedError as error:
            outcome = "denied"
            return _failure(str(error))
        finally:
            facts = {"tool": visible(name[:100]), "arguments": _digest(arguments), "outcome": outcome}
            self.offered.context.audit.record(
                MCP_CALL, f"{self.user} called {facts['tool']}", source=self.source, metadata=facts
            )

    def _result(self, tool: "OperationTool", found: "ToolAnswer") -> dict[str, Any]:
        document = self._as_data(found.document)
        if found.is_problem:
            details = [
                f"{each.get('pointer') or each.get('parameter')}: {each['detail']}"
                for each in document.get("errors", ())
            ]
            is_of_fields = document["code"] in _FIELD_ERRORS and bool(details)
            text = "; ".join(details if is_of_fields and len(details) == 1 else (str(document["detail"]), *details))
            if is_of_fields:
                raise ProtocolError(INVALID_PARAMS, text, {"errors": document["errors"]})
            return _failure(text)
        text = json.dumps(document, ensure_ascii=False)
        if tool.tool.read_only:
            cut = text if len(text) <= MAX_RESULT else f"{text[:MAX_RESULT]} … cut: ask for fewer records"
            document = {"untrusted": True, "data": cut}
            text = json.dumps(document, ensure_ascii=False)
        if found.status >= 400:  # a send result that is not ok
            return _failure(text)
        return {"content": [{"type": "text", "text": text}], "structuredContent": document, "isError": False}

    def _as_data(self, document: Any) -> Any:
        """Return a document whose texts are masked, cut and without control characters."""
        return redact_json(document, lambda text: _cut(visible(self.offered.context.redact(text))))


def _signature(tool: "OperationTool", user: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a message of an agent gets: its name in the text, plain text, and a key of its own."""
    text, key = arguments.get(tool.tool.signed), arguments.get("key")
    if not tool.tool.signed or not isinstance(text, str) or not text:
        return {}
    found = {tool.tool.signed: f"{text}\n\n(by agent {user})", "format": "plain"}
    if isinstance(key, str) and 0 < len(key) <= MAX_KEY:  # a caller edits only its own messages
        own = f"{sha256(user.encode()).hexdigest()[:8]}:"
        found["key"] = own + (key if len(own + key) <= MAX_KEY else sha256(key.encode()).hexdigest()[: -len(own)])
    return found


def _failure(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"… cut …{text[-MAX_TEXT:]}"


def _digest(arguments: Mapping[str, Any]) -> str:
    return sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
