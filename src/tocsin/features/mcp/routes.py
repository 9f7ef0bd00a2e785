"""`POST /mcp`: the protocol over HTTP, for tokens only."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tocsin.features.hooks import OperationsOf
from tocsin.features.mcp.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ProtocolError,
    answer,
    error_reply,
)
from tocsin.features.mcp.service import Agent, AgentTools
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.describing.tools import InvalidArgumentsError, OperationTool, Override, ToolAnswer, find_tools
from tocsin.rest.headers import JSON, header_values
from tocsin.rest.operations import Operations
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.reading import StrictRequest, read_media_type

log = logging.getLogger(__name__)

PATH = "/mcp"
_LOGINS = ("token", "local")


class _Endpoint:
    """Answers the messages of agents with the tools among the routes of the application."""

    def __init__(self, agents: AgentTools) -> None:
        self._agents = agents
        self._tools: dict[str, OperationTool] | None = None

    async def __call__(self, request: Request) -> Response:
        _check_caller(request)
        try:
            message = await _read(request)
        except HttpProblemError as problem:
            code = PARSE_ERROR if problem.code == "invalid-request" else INVALID_REQUEST
            text = " ".join([problem.detail, *(str(each["detail"]) for each in problem.errors)])
            reply = error_reply(code, text, status=415 if problem.code == "unsupported-media-type" else 400)
        else:
            header_values(request.scope, b"mcp-method")  # parses all of them
            headers = {name.decode("latin-1"): values for name, values in request.scope["tocsin.headers"].items()}
            is_local = request.scope["tocsin.login"] == "local"
            reply = await answer(message, None if is_local else headers, self._agent(request))
        if reply.document is None:
            return Response(status_code=reply.status)
        # Only ASCII, because half of a surrogate pair in an echoed name could not be encoded.
        response = Response(json.dumps(reply.document), reply.status, media_type="application/json")
        if reply.missing_scope:  # RFC 6750, section 3.1
            response.headers["WWW-Authenticate"] = f'Bearer error="insufficient_scope", scope="{reply.missing_scope}"'
        return response

    def _agent(self, request: Request) -> Agent:
        if self._tools is None:
            self._tools = find_tools(request.app.router.routes)
            if unknown := set(self._agents.named) - self._tools.keys():
                log.warning("MCP_TOOLS names unknown tools", extra={"tools": ", ".join(sorted(unknown))})

        async def perform(tool: OperationTool, arguments: Mapping[str, Any], override: Override) -> ToolAnswer:
            try:
                return await tool.call(request.app, request.scope, arguments, override)
            except InvalidArgumentsError as error:
                raise ProtocolError(INVALID_PARAMS, f"Invalid arguments: {error}.") from None

        user, scopes = request.scope["tocsin.user"], request.scope["tocsin.scopes"]
        return Agent(self._agents, self._tools, user, scopes, DASHBOARD.name, perform)


async def _read(request: Request) -> Any:
    if read_media_type(request) != JSON:
        raise HttpProblemError("unsupported-media-type", f"The message must have `Content-Type: {JSON}`.")
    return await StrictRequest(request.scope, request.receive).json()


def _check_caller(request: Request) -> None:
    """Raise the response to requests of pages of other sites, without a valid token, or with one in the address."""
    scope = request.scope
    origins = {origin.partition("://")[2].lower() for origin in header_values(scope, b"origin")}
    if not origins <= {host.lower() for host in header_values(scope, b"host")}:
        raise HttpProblemError("cross-site-request", "Requests of pages of other sites are not accepted.")
    if scope.get("tocsin.login") not in _LOGINS:
        refusal = scope.get("tocsin.refusal")
        if refusal is not None and refusal.code in {"not-ready", "rate-limited"}:
            raise refusal
        detail = "Send a token of `tocsin tokens create` in the header `Authorization: Bearer`."
        # Without `resource_metadata`, which would start a sign-in that does not exist here.
        raise HttpProblemError("unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})
    if scope["query_string"]:
        detail = "This address has no query parameters. Send the token in the header `Authorization: Bearer`."
        raise HttpProblemError("invalid-request", detail)


def mcp_routes(agents: AgentTools) -> Operations:
    """Return the route, which is not an operation of the REST API."""
    found = Operations("mcp", object())
    endpoint = _Endpoint(agents)

    async def answer_message(request: Request) -> Response:
        return await endpoint(request)

    found.routes.append(Route(PATH, answer_message, methods=["POST"]))
    return found


OPERATIONS: OperationsOf[AgentTools] = mcp_routes
