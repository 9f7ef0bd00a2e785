"""Steps of the type http: one call, with redirects, whose addresses are checked before they are connected to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from tocsin.core.errors import TocsinError
from tocsin.core.expressions.patterns import compile_pattern
from tocsin.core.http.addresses import is_private, is_public
from tocsin.core.http.redirects import MAX_REDIRECTS, HttpRequest, redirected
from tocsin.core.http.transport import HttpResponse, Transport, displayed_host
from tocsin.core.text.shell import format_value
from tocsin.core.tracing.spans import TRACEPARENT, SpanKind, span
from tocsin.features.workflows.engine.step_call import StepCall, StepOutcome, failed, succeeded
from tocsin.features.workflows.language.outputs import MAX_OUTPUT_BYTES

DEFAULT_TIMEOUT_S = 30.0
_SHOWN_CHARS = 2_000  # of an answer in the log


class HttpStepError(TocsinError):
    """A call that must not be made, or cannot."""

    code = "http-refused"


class PrivateAddressError(HttpStepError):
    """An address of this machine or of a private network, which http steps must not call."""

    code = "private-address"


def refuse_private(address: str) -> None:
    """Raise PrivateAddressError for an address that is not public."""
    if not is_public(address):
        raise PrivateAddressError(
            f"{address} is not a public address, and http steps can call only public ones",
            hint="set HTTP_ALLOW_PRIVATE=true to allow it",
        )


@dataclass(frozen=True, slots=True)
class HttpSteps:
    """Executes http steps; `allow_private` is HTTP_ALLOW_PRIVATE."""

    transport: Callable[[], Transport]
    allow_private: bool = False

    async def run(self, call: StepCall) -> StepOutcome:
        request = _request_of(call)
        response = await self._follow(request, call)
        text = response.body.decode(errors="replace")
        call.log.write("stdout", text[:_SHOWN_CHARS])
        outputs = {
            "status": response.status,
            "body": text if len(response.body) <= MAX_OUTPUT_BYTES else None,
            "headers": dict(response.headers),
        }
        problem = _problem(call, response, text)
        if problem:
            return failed(problem, "unexpected-answer", stdout=text, outputs=outputs)
        return succeeded(text, **outputs)

    async def _follow(self, request: HttpRequest, call: StepCall) -> HttpResponse:
        for _ in range(MAX_REDIRECTS + 1):
            self._check(request.url)
            with span("call URL", SpanKind.CLIENT, method=request.method) as current:
                response = await self.transport().request(
                    request.method,
                    request.url,
                    headers=_traced(request.headers, current.traceparent),
                    body=request.body,
                    timeout_s=call.step.timeout_s or DEFAULT_TIMEOUT_S,
                    read_timeout_s=call.step.timeout_s or DEFAULT_TIMEOUT_S,
                )
                current.set(http_status=response.status)
            call.log.write("system", f"{request.method} {displayed_host(request.url)}: {response.status}")
            following = redirected(request, response.status, response.headers.get("location", ""))
            if following is None:
                return response
            if left_out := [name for name in request.headers if name not in following.headers]:
                call.log.write(
                    "system", f"redirected to {displayed_host(following.url)}, without {', '.join(left_out)}"
                )
            request = following
        raise HttpStepError(f"more than {MAX_REDIRECTS} redirects", hint="call the final URL directly")

    def _check(self, url: str) -> None:
        """Refuse addresses that need no look-up; the transport checks every address that it connects to."""
        try:
            parts = urlsplit(url)
            _ = parts.port  # checked when it is read
        except ValueError:
            raise HttpStepError("invalid URL", hint="use the form https://host:port/path") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise HttpStepError("the URL must start with http:// or https://")
        if not self.allow_private and is_private(parts.hostname):
            raise PrivateAddressError(
                f"{displayed_host(url)} is not a public address, and http steps can call only public ones",
                hint="set HTTP_ALLOW_PRIVATE=true to allow it",
            )


def _traced(headers: Mapping[str, str], traceparent: str) -> Mapping[str, str]:
    """Return the headers with the context of the call; one that the step has itself stays."""
    has_own = not traceparent or any(name.lower() == TRACEPARENT for name in headers)
    return headers if has_own else {**headers, TRACEPARENT: traceparent}


def _request_of(call: StepCall) -> HttpRequest:
    """Return the call that a step describes; values in its address are quoted."""
    scope, options = call.scope, call.step.options
    template = options["url"]
    # A value at the very beginning is an address itself.
    first = template.pieces[:1]
    url = template.fill(
        lambda each: scope.text_of(
            each, None if (each,) == first else lambda value: quote(format_value(value), safe="")
        )
    )
    templates = options.get("headers", {})
    headers = {name: _one_line(name, scope.text(value)) for name, value in templates.items()}
    private = frozenset(name.lower() for name, value in templates.items() if any(value.placeholders()))
    body = call.option("body").encode()
    if "json" in options:
        body = json.dumps(scope.structure(options["json"]), ensure_ascii=False).encode()
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    return HttpRequest(call.step.option("method", "GET"), url, headers, body, private)


def _one_line(name: str, value: str) -> str:
    if any(char in value for char in "\r\n\0"):
        raise HttpStepError(f"header {name} contains a line break", hint="use the last_line of an output")
    return value


def _problem(call: StepCall, response: HttpResponse, text: str) -> str:
    wanted: list[Any] = call.step.option("expect_status", [])
    if response.status not in wanted if wanted else not 200 <= response.status <= 299:
        listed = ", ".join(map(str, wanted)) or "200 to 299"
        return f"the response has status {response.status}, expected {listed}"
    if not response.complete:
        return "the response is larger than 1 MiB, or was interrupted"
    pattern = call.step.option("expect_body", "")
    if pattern and not compile_pattern(pattern).search(text):
        return f"the response does not match {pattern!r}"
    return ""
