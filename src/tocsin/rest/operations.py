"""Operations: routes with strict parsing and scope checks, which report every error as a problem document."""

import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.routing import Match, compile_path
from starlette.types import Receive, Scope, Send

from tocsin.core.errors import TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.core.scopes import may_read
from tocsin.rest.bodies import RequestBody
from tocsin.rest.callers import read_caller, require_scope
from tocsin.rest.conditional import answer_record
from tocsin.rest.describing.responses import RECEIPT, UNCHANGED, describe_headers, describe_responses
from tocsin.rest.headers import JSON
from tocsin.rest.models import Problem, RecordReceipt
from tocsin.rest.once import answer_once, read_key
from tocsin.rest.preferences import VARIES
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.reading import StrictRequest, read_media_type
from tocsin.rest.refusals import build_problem, problem_of_validation, refuse, refuse_parameter
from tocsin.runs.model import Run

log = logging.getLogger(__name__)

S = TypeVar("S")
Handler = Callable[..., Any]
_MARK = "_operation"
_NO_CONTENT = 204
# Problems of every operation that is not public, and of every operation with a body.
_OF_ALL = ("validation-failed", "rate-limited", "internal-error", "not-ready")
_USUAL = ("unauthenticated", "invalid-credentials", "forbidden", *_OF_ALL)
# The scopes that do not include `read`.
_CHANGING = frozenset({"send", "run", "answer"})
_OF_CHANGES = ("cross-site-request", "invalid-request", "payload-too-large", "unsupported-media-type")


class Operation(APIRoute):
    """A route of the HTTP interface.

    FastAPI builds the models of an operation at its first call or description: the start of the service needs none of
    them, and building all of them would take longer than the rest of the start.
    """

    needs: str = ""  # the scope that the caller's token must have; empty: public
    once = False  # whether the operation supports Idempotency-Key
    unkept: tuple[str, ...] = ()  # keys of the response that are null in a repeated response
    shows_receipt = False  # whether callers without read access get a receipt
    is_direct = False  # called without FastAPI, with `request`, `body` and `caller`
    is_record = False  # reads a single record, which has an ETag
    media: tuple[str, ...] = (JSON,)  # media types that a body may have
    codes: Mapping[type[TocsinError], str] = {}  # problem codes for the errors of one feature
    shows: Mapping[int | str, Any] = {}  # type of the response by status
    tool: "OfferedTool | None" = None  # how language models are offered it
    foreign: frozenset[str] = frozenset()  # literal paths of other operations that this path's parameter would match

    def __init__(self, path: str, endpoint: Handler, **declared: Any) -> None:
        """Store the path and the endpoint; `declared` is passed to FastAPI at the first use."""
        self.path, self.endpoint, self.app = path, endpoint, self._answer_first
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self.methods = set(declared["methods"])
        self._declared: dict[str, Any] | None = declared

    def __getattr__(self, name: str) -> Any:
        """Initialise FastAPI's route, which reads the models, and return its attribute."""
        declared = self.__dict__.get("_declared")
        if declared is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no {name!r}", name=name, obj=self)
        self._declared = None
        super().__init__(self.path, self.endpoint, **declared)
        return getattr(self, name)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the path and the method of a request match."""
        return (Match.NONE, {}) if scope["path"] in self.foreign else super().matches(scope)

    async def _answer_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the first request with the handler of all later ones."""
        _ = self.dependant  # replaces `app`
        await self.app(scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        framework = super().get_route_handler()

        async def answer(request: Request) -> Response:
            return await (self._answer_directly(request) if self.is_direct else framework(request))

        async def handle(request: Request) -> Response:
            strict = request if isinstance(request, StrictRequest) else StrictRequest(request.scope, request.receive)
            try:
                require_scope(request.scope, self.needs)
                self._check_query(strict)
                if request.method != "GET":  # RFC 9110, section 9.3.1: the body of a GET has no meaning
                    await self._check_body(strict)
                return self._shown(request, await self._answer_once(strict, answer))
            except RequestValidationError as error:
                raise problem_of_validation(error, self._keys()) from None
            except TocsinError as error:
                raise build_problem(error, self.codes, brief=bool(self.needs) and not may_read(request.scope)) from None
            except HttpProblemError:
                raise
            except Exception as error:  # the edge of the service: every request gets a response
                log.exception("request failed", extra={"request_id": request.scope["tocsin.request_id"]})
                detail = "The request failed because of a bug in Tocsin. See the log for details."
                raise HttpProblemError("internal-error", detail) from error

        self._handle = handle
        return handle

    async def _answer_once(self, request: StrictRequest, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        if key := read_key(request) if self.once else "":
            return await answer_once(request, request.app.state.keys, key, lambda: answer(request), self.unkept)
        return await answer(request)

    def _shown(self, request: Request, response: Response) -> Response:
        if self.shows_receipt and not may_read(request.scope):
            return _reduce_to_receipt(response)
        if request.scope.get(VARIES):
            response.headers["Vary"] = "Accept"
        return answer_record(request, response) if self.is_record else response

    async def answer(self, request: Request) -> Response:
        """Return the response to a request, as FastAPI would after it has selected this route."""
        return await self._handle(request)

    async def _answer_directly(self, request: Request) -> Response:
        """Call the operation with its declared body; FastAPI's own handling takes longer than a send."""
        model: Any = self.body_field.field_info.annotation if self.body_field else None
        try:
            if model is None or not await request.body():
                raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
            body = model.read(await request.json())
        except ValidationError as error:
            found = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
            raise RequestValidationError(found) from None
        response: Response = await self.endpoint(request=request, body=body, caller=read_caller(request))
        return response

    def _check_query(self, request: Request) -> None:
        """Reject query parameters that are unknown or repeated."""
        if not request.scope["query_string"]:
            return
        known = self._parameters()
        for name, values in _grouped(request).items():
            if name not in known:
                hint = (
                    f"allowed parameters: {', '.join(sorted(known))}"
                    if known
                    else "this operation has no query parameters"
                )
                raise refuse_parameter(name, "unknown-parameter", f"Unknown query parameter; {hint}")
            if len(values) > 1 and not known[name]:
                raise refuse_parameter(name, "duplicate-parameter", "This query parameter is repeated")
            if any("\0" in value for value in values):
                raise refuse_parameter(name, "bad-value", "Must not contain the character NUL")

    def _parameters(self) -> dict[str, bool]:
        """Return the names of all query parameters, and whether each may be repeated."""
        if not hasattr(self, "_known_parameters"):
            found = {}
            for dependant in (self.dependant, *_below(self.dependant)):
                for parameter in dependant.query_params:
                    found[parameter.alias] = _is_list(parameter)
            self._known_parameters = found
        return self._known_parameters

    async def _check_body(self, request: StrictRequest) -> None:
        if not await request.body():
            return
        kind = read_media_type(request)
        if kind not in self.media:
            found = f", not {kind[:100]}" if kind else ""
            wanted = " or ".join(f"`Content-Type: {media}`" for media in self.media)
            raise HttpProblemError("unsupported-media-type", f"The body must have the media type {wanted}{found}.")
        if kind == JSON:
            value = await request.json()
            if not isinstance(value, dict):
                raise refuse((), "wrong-type", "The body must be a JSON object")
            if self.body_field is None and value and self.media == (JSON,):
                raise refuse((next(iter(value)),), "unknown-key", "This operation takes no keys")

    def _keys(self) -> Sequence[str]:
        annotation = getattr(getattr(self.body_field, "field_info", None), "annotation", None)
        models = (annotation, *get_args(annotation))  # an optional body is a union with None
        bodies = [each for each in models if isinstance(each, type) and issubclass(each, RequestBody)]
        return [name for body in bodies for name in body.names()]


class OfferedTool(NamedTuple):
    """How language models are offered an operation; description, schemas and scope are those of the operation."""

    name: str
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False  # whether it acts outside Tocsin
    optional: bool = False  # offered only if MCP_TOOLS names it
    omits: tuple[str, ...] = ()  # arguments that are not offered
    names: Mapping[str, str] = {}  # names of arguments of the operation -> names that models see
    fixed: Mapping[str, str] = {}  # query parameters that every call sets
    signed: str = ""  # key of the body to whose text the name of the agent is added
    queued: bool = False  # called with `Prefer: respond-async`


class OperationSpec(NamedTuple):
    """The declaration of an operation by `operation`."""

    method: str
    path: str
    scope: str
    problems: tuple[str, ...]
    answer: Any
    status: int
    once: bool
    unkept: tuple[str, ...]
    own: bool
    direct: bool
    extension: bool
    media: tuple[str, ...]
    tool: OfferedTool | None
    further: Mapping[str, Any]


def operation(
    method: str,
    path: str,
    *,
    scope: str = "read",
    problems: Sequence[str] = (),
    answer: Any = None,
    status: int = 0,
    once: bool = False,
    extension: bool = False,
    **further: Any,
) -> Callable[[Handler], Handler]:
    """Make a method an operation; its docstring describes it, the first line is the summary.

    `scope` is what a token needs, empty for a public operation; only reading operations leave it out. `problems`
    are the codes that it answers besides the usual ones; `answer` is the model of its answer. `status` is by default
    200, or for a DELETE 204, whose method returns nothing. `once` honours an Idempotency-Key; `extension` marks
    what goes beyond the counted operations. `further` goes to FastAPI, such as
    `responses`, but for `media`, the types that a body may have, `unkept`, the keys of the answer that a repeated
    request gets as null, because they are secret, `own`, whose answer depends on the request alone, so that callers
    who may not read get all of it, and `direct`, which has a method called without the framework: it
    takes `request`, `body` and `caller`, and returns a response. `tool` offers the operation to language models.
    """

    def mark(handler: Handler) -> Handler:
        media, unkept = further.pop("media", (JSON,)), further.pop("unkept", ())
        direct, own, tool = further.pop("direct", False), further.pop("own", False), further.pop("tool", None)
        usual = _NO_CONTENT if method == "DELETE" and answer is None else 200
        spec = OperationSpec(
            method, path, scope, tuple(problems), answer, status or usual, once, unkept, own, direct, extension, media,
            tool, further,
        )  # fmt: skip
        setattr(handler, _MARK, spec)
        return handler

    return mark


class Operations(APIRouter):
    """The operations of one area of the interface, such as cron jobs."""

    def __init__(self, tag: str, area: object, codes: Mapping[type[TocsinError], str] | None = None) -> None:
        """Add the methods of `area` that are marked by `operation`, in their order.

        `codes` are the problem codes for errors whose own code is not a problem code.
        """
        super().__init__(tags=[tag], route_class=Operation, redirect_slashes=False)
        for name, member in vars(type(area)).items():
            if spec := getattr(member, _MARK, None):
                self._add(spec, getattr(area, name), codes or {})

    def _add(self, spec: OperationSpec, handler: Handler, error_codes: Mapping[type[TocsinError], str]) -> None:
        usual = _USUAL if spec.scope else _OF_ALL
        codes = (*usual, *(_OF_CHANGES if spec.method != "GET" else ()), *spec.problems)
        codes += ("idempotency-key-reused", "conflict") if spec.once else ()
        further = dict(spec.further)
        answers = further.pop("responses", {})
        is_record = spec.method == "GET" and spec.path.endswith("}")
        headers = describe_headers(
            is_record=is_record,
            once=spec.once,
            waits=spec.once and spec.status == 202 and spec.answer is Run,
            is_conditional="precondition-failed" in codes,
        )
        self.add_api_route(
            spec.path,
            _showing(handler, spec),
            methods=[spec.method],
            status_code=spec.status,
            response_model=None,
            summary=(handler.__doc__ or "").strip().partition("\n")[0].rstrip("."),
            operation_id=handler.__name__,
            openapi_extra={
                "x-scope": spec.scope,
                **({RECEIPT: True} if _shows_receipt(spec) else {}),
                **({"x-extension": True} if spec.extension else {}),
                **({"parameters": headers} if headers else {}),
                **further.pop("openapi_extra", {}),
            },
            responses=describe_responses(codes, {**(UNCHANGED if is_record else {}), **_without_types(answers)}),
            **further,
        )
        route = self.routes[-1]
        if isinstance(route, Operation):
            route.needs, route.once, route.media, route.codes = spec.scope, spec.once, spec.media, error_codes
            route.unkept, route.is_direct = spec.unkept, spec.direct
            route.is_record, route.shows_receipt, route.tool = is_record, _shows_receipt(spec), spec.tool
            types = {status: answer["model"] for status, answer in answers.items() if "model" in answer}
            route.shows = {**({spec.status: spec.answer} if spec.answer else {}), **types}


def operations_of(
    tag: str, routes: Callable[[S], object], codes: Mapping[type[TocsinError], str] | None = None
) -> Callable[[S], Operations]:
    """Return a function that makes the operations of a service, given the class `routes` of their methods."""
    return lambda service: Operations(tag, routes(service), codes)


def _shows_receipt(spec: OperationSpec) -> bool:
    return spec.scope in _CHANGING and not spec.own


def _without_types(answers: Mapping[int | str, Mapping[str, Any]]) -> dict[int | str, dict[str, Any]]:
    return {status: {key: says for key, says in answer.items() if key != "model"} for status, answer in answers.items()}


def _showing(handler: Handler, spec: OperationSpec) -> Handler:
    """Return a handler that renders its record as JSON and returns a response unchanged."""
    if spec.answer is None and spec.status != _NO_CONTENT:
        return handler

    @wraps(handler)
    async def shown(**given: Any) -> Response:
        found = await handler(**given)
        if isinstance(found, Response):
            return found
        if spec.answer is None:
            return Response(status_code=spec.status)
        response = JSONResponse(to_json(found, spec.answer), spec.status)
        if (head := given.get("response")) is not None:  # in which the handler set status and headers
            response.status_code = head.status_code or spec.status
            response.headers.update(head.headers)
        return response

    return shown


def problem_schema() -> dict[str, Any]:
    return Problem.model_json_schema(ref_template="#/components/schemas/{model}")


def _grouped(request: Request) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        found.setdefault(name, []).append(value)
    return found


def _below(dependant: Any) -> list[Any]:
    return [each for child in dependant.dependencies for each in (child, *_below(child))]


def _is_list(parameter: Any) -> bool:
    annotation = parameter.field_info.annotation
    return any(get_origin(each) is list for each in (annotation, *get_args(annotation)))


def _reduce_to_receipt(response: Response) -> Response:
    """Return a response whose record is reduced to the fields of a receipt."""
    if not response.body:
        return response
    found = json.loads(bytes(response.body))
    receipt = {name: found[name] for name in RecordReceipt.model_fields if name in found}
    headers = {name: value for name, value in response.headers.items() if name not in {"content-length", "etag"}}
    return Response(json.dumps(receipt), response.status_code, headers)
