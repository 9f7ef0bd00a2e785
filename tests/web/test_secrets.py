"""No secret leaves the program, whatever a provider sends back. Source: docs/facts/calls.md."""

import json
import logging
from base64 import b64encode
from collections.abc import Iterator
from io import StringIO
from urllib.parse import quote

import pytest
from tests.web.conftest import BEARER, GOOD, TOKEN, MakeGateway

from tocsin.core.errors import RemoteError
from tocsin.core.http.transport import HttpResponse
from tocsin.core.log import configure
from tocsin.core.text.redaction import Redactor

CANARY = "xoxb-test-000000-canary+in/every=form"
ENV = {"TEAMCHAT_BOT_TOKEN": CANARY, "GATEWAY_TOKEN": TOKEN}
FORMS = {
    "raw": CANARY,
    "quoted": quote(CANARY, safe=""),
    "base64": b64encode(CANARY.encode()).decode(),
    "header": f"Authorization: Bearer {CANARY}",
}


def replies(text: str) -> dict[str, HttpResponse | Exception]:
    """Give every place in which a provider, or a broken adapter, can echo a text."""
    return {
        "note": HttpResponse(200, {}, json.dumps({"ok": True, "ts": text}).encode()),
        "error": HttpResponse(200, {}, json.dumps({"ok": False, "error": text}).encode()),
        "scope": HttpResponse(
            200, {}, json.dumps({"ok": False, "error": "missing_scope", "needed": text, "provided": text}).encode()
        ),
        "html": HttpResponse(500, {"x-echo": text}, f"<html>{text}".encode()),
        "header": HttpResponse(429, {"retry-after": text}, text.encode()),
        "refusal": RemoteError(f"no: {text}", hint=text),
        "bug": RuntimeError(text),
    }


class Echo:
    """A transport whose other side says back what it was told."""

    def __init__(self, step: HttpResponse | Exception) -> None:
        self._step = step

    async def request(self, *_: object, **__: object) -> HttpResponse:
        if isinstance(self._step, Exception):
            raise self._step
        return self._step

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """Log as a service does, into memory."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    configure("debug", "json", Redactor([CANARY, TOKEN]))
    yield stream
    root.handlers[:], root.level = handlers, level


@pytest.mark.parametrize("place", replies(""))
@pytest.mark.parametrize("form", FORMS)
async def test_no_secret_that_a_provider_echoes_gets_into_an_answer_a_log_line_the_audit_or_a_metric(
    make_gateway: MakeGateway, log_lines: StringIO, place: str, form: str
):
    gateway = make_gateway(ENV)
    gateway.app.registry.adapter("teamchat").http = Echo(replies(FORMS[form])[place])

    answer = await gateway.client.send(GOOD, BEARER)
    assert answer.status in {200, 422, 502, 503, 504}
    metrics = await gateway.client.get("/metrics", BEARER)
    health = await gateway.client.get("/health")

    audit = (gateway.app.settings.data_dir / "audit.log").read_text()
    places = {
        "answer": answer.body.decode() + str(answer.headers),
        "metrics": metrics.body.decode(),
        "health": health.body.decode(),
        "audit": audit,
        "log": log_lines.getvalue(),
    }
    found = {
        name
        for name, text in places.items()
        for secret in (CANARY, TOKEN)
        for shape in (secret, quote(secret, safe=""), b64encode(secret.encode()).decode(), secret[5:])
        if shape in text
    }
    assert found == set()


async def test_a_secret_that_the_caller_writes_into_a_message_reaches_no_log_and_no_audit_line(
    make_gateway: MakeGateway, log_lines: StringIO
):
    gateway = make_gateway(ENV)
    for key in GOOD:
        await gateway.client.send(GOOD | {key: f"{CANARY} {TOKEN}"}, BEARER)
    audit = (gateway.app.settings.data_dir / "audit.log").read_text()
    assert len(audit.splitlines()) == 3
    assert CANARY not in audit + log_lines.getvalue()
    assert TOKEN not in audit + log_lines.getvalue()


async def test_a_rejected_request_leaves_no_trace_of_its_body_or_token_in_the_log(
    make_gateway: MakeGateway, log_lines: StringIO
):
    client = make_gateway(ENV).client
    await client.send(b"private words", BEARER)
    await client.send({"private words": 1}, BEARER)
    await client.send(GOOD, ("Authorization", "Bearer private words"))
    assert "private words" not in log_lines.getvalue()


async def test_an_audit_entry_that_is_lost_is_logged_without_secrets(make_gateway: MakeGateway, log_lines: StringIO):
    gateway = make_gateway(ENV)
    (gateway.app.settings.data_dir / "audit.log").symlink_to("/dev/full")
    await gateway.client.send(GOOD | {"target": CANARY}, BEARER)
    assert "audit" in log_lines.getvalue()
    assert CANARY not in log_lines.getvalue()
