"""Operations as tools of language models: their schemas, and the request that a call of the tool makes."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

from fastapi.openapi.utils import get_openapi
from starlette.routing import Match
from starlette.types import ASGIApp, Scope

from tocsin.core.records.schema import RecordSchemas
from tocsin.rest.in_process import request_in_process
from tocsin.rest.models import RecordReceipt
from tocsin.rest.operations import OfferedTool, Operation

# Called with the arguments by their names in the operation.
Override = Callable[[Mapping[str, Any]], Mapping[str, Any]]
# The Python type of each type of JSON Schema that a parameter has, and its words.
_TYPES = {
    "string": (str, "a text"),
    "integer": (int, "an integer"),
    "number": (int | float, "a number"),
    "boolean": (bool, "a boolean"),
    "array": (list, "a list"),
}
_SHARED, _OWN = '"#/components/schemas/', '"#/$defs/'


class InvalidArgumentsError(Exception):  # raised to become a response
    """The arguments of a call do not fit the schema of the tool."""


class ToolAnswer(NamedTuple):
    """The response of an operation to a call."""

    status: int
    document: Any  # parsed JSON; a text if it is not JSON
    is_problem: bool


@dataclass(frozen=True)
class OperationTool:
    """An operation that language models may call."""

    operation: Operation
    tool: OfferedTool

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    @property
    def scope(self) -> str:
        """The scope that a caller needs."""
        return self.operation.needs

    @property
    def method(self) -> str:
        """The method of the operation."""
        return next(iter(self.operation.methods or {"GET"}))

    @cached_property
    def description(self) -> dict[str, Any]:
        """The description of the tool for the Model Context Protocol, with the first paragraph of the docstring."""
        of = self.tool
        return {
            "name": of.name,
            "description": " ".join((self.operation.endpoint.__doc__ or "").partition("\n\n")[0].split()),
            "inputSchema": self.input_schema,
            "outputSchema": _as_data(self.output_schema) if of.read_only else self.output_schema,
            "annotations": {
                "readOnlyHint": of.read_only,
                "destructiveHint": of.destructive,
                "idempotentHint": of.idempotent,
                "openWorldHint": of.open_world,
            },
        }

    @cached_property
    def _described(self) -> tuple[dict[str, Any], dict[str, Any]]:
        document = get_openapi(title="", version="", routes=[self.operation])
        found = document["paths"][self.operation.path][self.method.lower()]
        return found, document.get("components", {}).get("schemas", {})

    @cached_property
    def _parameters(self) -> dict[str, dict[str, Any]]:
        hidden = {*self.tool.omits, *self.tool.fixed}
        return {
            each["name"]: each
            for each in self._described[0].get("parameters", ())
            if each["in"] in {"path", "query"} and each["name"] not in hidden
        }

    @cached_property
    def _body(self) -> dict[str, Any]:
        """Return the schema of the body, an object without keys if there is none."""
        schema = self._described[0].get("requestBody", {}).get("content", {}).get("application/json", {})
        schema = schema.get("schema", {})
        for each in [schema, *schema.get("anyOf", ())]:
            if "$ref" in each:
                return dict(self._described[1][each["$ref"].rpartition("/")[2]])
        return {}

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments: the parameters of the operation and the keys of its body."""
        names = self.tool.names
        properties = {
            names.get(name, name): {
                **each["schema"],
                **({"description": each["description"]} if "description" in each else {}),
            }
            for name, each in self._parameters.items()
        }
        required = [names.get(name, name) for name, each in self._parameters.items() if each.get("required")]
        shown = {k: each for k, each in self._body.get("properties", {}).items() if k not in self.tool.omits}
        body = {names.get(name, name): each for name, each in shown.items()}
        required += [names.get(name, name) for name in self._body.get("required", ()) if name in shown]
        found = {"type": "object", "properties": {**properties, **body}, "additionalProperties": False}
        return _with_definitions({**found, **({"required": required} if required else {})}, self._described[1])

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON Schema of the successful responses."""
        records = RecordSchemas(closed=False)
        choices = [records.of(type_) for status, type_ in self.operation.shows.items() if str(status).startswith("2")]
        schemas = dict(records.found)
        if self.operation.shows_receipt:
            schemas["RecordReceipt"] = RecordReceipt.model_json_schema()
            choices.append({"$ref": "#/components/schemas/RecordReceipt"})
        return _with_definitions({"type": "object", "anyOf": choices}, schemas)

    async def call(self, app: ASGIApp, caller: Scope, arguments: Mapping[str, Any], override: Override) -> ToolAnswer:
        """Make the request of a call as the caller of another request, whose ASGI scope is `caller`.

        `override` returns keys of the body that replace those of the arguments. Raises InvalidArgumentsError.
        """
        scope = self._request(caller, self._own(arguments), override)
        status, kind, body = await request_in_process(app, scope, scope["tocsin.body"])
        document: Any = json.loads(body) if b"json" in kind else body.decode(errors="replace")
        is_problem = b"problem" in kind
        for each in document.get("errors", ()) if is_problem else ():
            if name := self.tool.names.get(each.get("field")):
                each |= {"pointer": f"#/{name}", "field": name}
        return ToolAnswer(status, document, is_problem)

    def _own(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by their names in the operation, which are accepted as well."""
        known, found = self.input_schema["properties"], dict[str, Any]()
        own = {shown: name for name, shown in self.tool.names.items()}
        for given, value in arguments.items():
            name = own.get(given, given)
            if self.tool.names.get(name, name) not in known:
                raise InvalidArgumentsError(f"unknown argument {given[:100]!r}; allowed: {', '.join(known) or 'none'}")
            if name in found:
                raise InvalidArgumentsError(f"the argument {given!r} is there twice")
            found[name] = value
        for each in self.input_schema.get("required", ()):
            if own.get(each, each) not in found:
                raise InvalidArgumentsError(f"the argument {each!r} is missing")
        return found

    def _request(self, caller: Scope, arguments: Mapping[str, Any], override: Override) -> Scope:
        path, query, body = self.operation.path, [*self.tool.fixed.items()], {}
        for name, value in arguments.items():
            where = self._parameters.get(name, {}).get("in")
            shown = self.tool.names.get(name, name)
            if where and value is not None:
                _check_type(shown, self._parameters[name]["schema"], value)
            if where is None:
                body[name] = value
            elif where == "query":
                given = value if isinstance(value, list) else [value]
                query += [(name, _text(shown, each)) for each in given if each is not None]
            elif not (text := _text(shown, value)) or "/" in text or text in {".", ".."}:
                raise InvalidArgumentsError(f"the argument {shown!r} must be a name or an ID without '/'")
            else:
                path = path.replace(f"{{{name}}}", text)
        body |= override(arguments)
        raw = json.dumps(body).encode() if body or self._body.get("required") else b""
        headers = [(b"content-type", b"application/json")] if raw else []
        headers += [(b"prefer", b"respond-async")] if self.tool.queued else []
        scope = {
            **{key: value for key, value in caller.items() if key.startswith("tocsin.") and key != "tocsin.headers"},
            **{key: caller[key] for key in ("type", "http_version", "scheme", "client", "server") if key in caller},
            "method": self.method,
            "path": path,
            "query_string": urlencode(query).encode(),
            "headers": headers,
            "tocsin.body": raw,
        }
        if self.operation.matches(scope)[0] is not Match.FULL:  # a name that is the path of another operation
            raise InvalidArgumentsError("an argument in the path has a reserved value")
        return scope


def _as_data(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a record that is one text, because other programs and people wrote its texts."""
    content = {key: each for key, each in schema.items() if key != "$defs"}
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": content}
    found = {"type": "object", "properties": {"untrusted": {"const": True}, "data": data}}
    return {**found, "required": ["untrusted", "data"], **({"$defs": schema["$defs"]} if "$defs" in schema else {})}


def _check_type(name: str, schema: Mapping[str, Any], value: object) -> None:
    """Raise InvalidArgumentsError unless a value has a type of the schema: an address has only texts."""
    choices = schema.get("anyOf", [schema])
    named = [each.get("type", "string") for each in choices]  # a reference is an enumeration
    accepted = [_TYPES[each] for each in named if each != "null"]
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # an integer of JSON Schema, too
    if not any(isinstance(value, type_) and isinstance(value, bool) is (type_ is bool) for type_, _ in accepted):
        raise InvalidArgumentsError(f"the argument {name!r} must be {' or '.join(words for _, words in accepted)}")
    items = next((each["items"] for each in choices if "items" in each), None)
    if isinstance(value, list) and items is not None:
        for index, entry in enumerate(value):
            _check_type(f"{name}[{index}]", items, entry)


def _text(name: str, value: object) -> str:
    """Return the value of a parameter as the address has it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise InvalidArgumentsError(f"the argument {name!r} must be a text, a number or a boolean")


def _with_definitions(schema: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that contains those that it references."""
    text, found = json.dumps(schema), dict[str, str]()
    pending = [text]
    while pending:
        searched = pending.pop()
        for name in shared:
            if name not in found and f'{_SHARED}{name}"' in searched:
                found[name] = json.dumps(shared[name])
                pending.append(found[name])
    definitions = {name: json.loads(each.replace(_SHARED, _OWN)) for name, each in found.items()}
    return {**json.loads(text.replace(_SHARED, _OWN)), **({"$defs": definitions} if definitions else {})}


def find_tools(routes: Iterable[Any]) -> dict[str, OperationTool]:
    """Return the tools among the routes of an application, by name."""
    operations = [each for each in routes if isinstance(each, Operation)]
    return {each.tool.name: OperationTool(each, each.tool) for each in operations if each.tool}
