"""The channel keeps the contract; `pytest` in this directory runs it."""
# ruff: noqa: S101, RUF012  # tests assert; the attributes of a suite are read, never changed

import json

from tocsin_webhookchat import WebhookchatAdapter

from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.http_channel_contract import HttpChannelContract

ENV = {"WEBHOOKCHAT_TOKEN": "tk_made0up0made0up0made0up0mad"}
PUBLISHED = {"id": "xE73Iyuabi", "time": 1673542291, "event": "message", "topic": "ops", "message": "hello"}


class TestWebhookchat(HttpChannelContract):
    """Every promise of a channel."""

    adapter = WebhookchatAdapter
    env = ENV
    target = "ops"
    bad_targets = ("two words", "a/b", "ü", "x" * 65)
    sent = PUBLISHED
    probed = {"username": "phil", "role": "user"}


async def test_a_message_is_published_exactly_as_the_server_wants_it():
    """What no contract can know: the wire."""
    http = ScriptedTransport().will_answer(PUBLISHED)
    result = await build_adapter(WebhookchatAdapter, ENV, http=http, clock=FakeClock()).send("ops", "Disk <91 %>")
    assert result.message == "id=xE73Iyuabi"
    (request,) = http.sent
    assert (request.method, request.url) == ("POST", "https://ntfy.sh/")
    assert request.headers["Authorization"] == f"Bearer {ENV['WEBHOOKCHAT_TOKEN']}"
    assert json.loads(request.body) == {"topic": "ops", "message": "Disk <91 %>"}


async def test_a_refusal_names_code_and_remedy():
    """An operator reads what to do."""
    http = ScriptedTransport().will_answer({"code": 40101, "http": 401, "error": "unauthorized"}, 401)
    result = await build_adapter(WebhookchatAdapter, ENV, http=http).send("ops", "hello")
    assert result.error == "40101 unauthorized: invalid token; copy it again into WEBHOOKCHAT_TOKEN"
