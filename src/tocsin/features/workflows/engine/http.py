"""Steps of the type http: one call, with redirects, whose addresses are checked before they are connected to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from tocsin.core.errors import TocsinError
from tocsin.core.http.addresses import is_private
from tocsin.core.http.transport import HttpResponse, Transport, host_of, origin_of
from tocsin.features.workflows.engine.step_call import StepCall, StepOutcome, failed, succeeded
from tocsin.features.workflows.engine.values import spelled
from tocsin.features.workflows.language.outputs import MAX_OUTPUT_BYTES
from tocsin.features.workflows.language.patterns import compile_pattern

DEFAULT_TIMEOUT_S = 30.0
MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SHOWN_CHARS = 2_000  # of an answer in the log
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})


class HttpStepError(TocsinError):
    """A call that must not be made, or cannot."""

    code = "http-refused"


class PrivateAddressError(HttpStepError):
    """An address of this machine or of a private network, which http steps must not call."""

    code = "private-address"


def refuse_private(address: str) -> None:
    """Raise PrivateAddressError for an address that is not public."""
    from ipaddress import ip_address

    found = ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    if not found.is_global or found.is_multicast:
        raise PrivateAddressError(
            f"{address} is not a public address, and http steps call only public ones",
            hint="HTTP_ALLOW_PRIVATE=true allows it",
        )


class _HttpCall(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpSteps:
    """Calls what http steps name; `allow_private` is HTTP_ALLOW_PRIVATE."""

    transport: Callable[[], Transport]
    allow_private: bool = False

    async def run(self, call: StepCall) -> StepOutcome:
        """Carry out the call of one step."""
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

    async def _follow(self, request: _HttpCall, call: StepCall) -> HttpResponse:
        """Make a call and follow its redirects."""
        for _ in range(MAX_REDIRECTS + 1):
            self._check(request.url)
            response = await self.transport().request(
                request.method,
                request.url,
                headers=request.headers,
                body=request.body,
                timeout_s=call.step.timeout_s or DEFAULT_TIMEOUT_S,
                read_timeout_s=call.step.timeout_s or DEFAULT_TIMEOUT_S,
            )
            call.log.write("system", f"{request.method} {host_of(request.url)}: {response.status}")
            place = response.headers.get("location")
            if response.status not in _REDIRECTS or not place:
                return response
            request = _redirected(request, response.status, urljoin(request.url, place))
        raise HttpStepError(f"more than {MAX_REDIRECTS} redirects", hint="call the address they lead to")

    def _check(self, url: str) -> None:
        """Refuse what needs no look-up; the transport checks every address that it connects to."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise HttpStepError("the address does not begin with http:// or https://")
        if not self.allow_private and is_private(parts.hostname):
            raise PrivateAddressError(
                f"{host_of(url)} is not a public address, and http steps call only public ones",
                hint="HTTP_ALLOW_PRIVATE=true allows it",
            )


def _request_of(call: StepCall) -> _HttpCall:
    """Return the call that a step describes; values in its address are quoted."""
    scope, options = call.scope, call.step.options
    template = options["url"]
    # A value at the very beginning is an address itself.
    first = template.pieces[:1]
    url = template.fill(
        lambda each: scope.text_of(each, None if (each,) == first else lambda value: quote(spelled(value), safe=""))
    )
    headers = {name: _one_line(name, scope.text(value)) for name, value in options.get("headers", {}).items()}
    body = call.option("body").encode()
    if "json" in options:
        body = json.dumps(scope.structure(options["json"]), ensure_ascii=False).encode()
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    return _HttpCall(call.step.option("method", "GET"), url, headers, body)


def _one_line(name: str, value: str) -> str:
    if any(char in value for char in "\r\n\0"):
        raise HttpStepError(f"the header {name} has a line break", hint="take the last_line of an output")
    return value


def _redirected(request: _HttpCall, status: int, url: str) -> _HttpCall:
    """Return the call that follows a redirect; credentials go to the same place alone."""
    method, body = request.method, request.body
    if status == 303 or (status in {301, 302} and method == "POST"):
        method, body = "HEAD" if method == "HEAD" else "GET", b""
    headers = request.headers
    if origin_of(url) != origin_of(request.url):
        headers = {name: value for name, value in headers.items() if name.lower() not in _CREDENTIALS}
    return _HttpCall(method, url, headers, body)


def _problem(call: StepCall, response: HttpResponse, text: str) -> str:
    wanted: list[Any] = call.step.option("expect_status", [])
    if response.status not in wanted if wanted else not 200 <= response.status <= 299:
        listed = ", ".join(map(str, wanted)) or "200 to 299"
        return f"the answer has the status {response.status}, expected {listed}"
    if not response.complete:
        return "the answer is larger than 1 MiB, or broke off"
    pattern = call.step.option("expect_body", "")
    if pattern and not compile_pattern(pattern).search(text):
        return f"the answer does not match {pattern!r}"
    return ""
