"""What hostile rules and hostile senders cost, and where their addresses lead."""

import asyncio
import contextlib
import itertools
import tracemalloc
from typing import Any

import pytest
from tests.features.doors.conftest import FrontBench

from tocsin.core.expressions.expression import ExpressionError
from tocsin.core.expressions.text import MAX_CPU_S, MAX_OUTPUT, Budget, TextScope, render_text
from tocsin.features.doors.model import Door, DoorDefinition, DoorMessage, DoorRequest
from tocsin.features.doors.rules.file import parse_rules
from tocsin.features.doors.rules.functions import call
from tocsin.features.doors.rules.rendering import render

MIB = 1024 * 1024
BIG = "x" * 200_000
PAYLOAD = {
    "many": list(range(5_000)),
    "texts": ["x" * 500] * 1_000,
    "deep": {"a": [{"b": BIG}] * 500},
    "big": BIG,
    "objects": [{"name": f"n{n}", "value": n} for n in range(2_000)],
}
LOOPS = [
    "".join(f"${{for v{n} in {where}}}" for n, where in enumerate(places)) + "INNER" + "${end}" * len(places)
    for count in (1, 2, 3, 4)
    for places in itertools.islice(
        itertools.product(("payload.many", "payload.texts", "payload.objects", "payload.deep.a"), repeat=count), 16
    )
]
INNER = [
    "${payload.big}",
    "${v0}",
    "${json(payload.objects)}",
    "${join(payload.texts, payload.big)}",
    "${upper(payload.big)}${lower(payload.big)}",
    "${if matches(payload.big, '(x+x+)+y')}a${end}",
    "${extract(payload.big, '(x*)*y')}",
    "${if 'y' in payload.big}a${else if 'z' in payload.texts}b${end}",
    "${cut(payload.big, 60000)}",
    "${words(payload.big)}",
    "${count(where(payload.objects, 'name', payload.big))}",
    "${take(payload.many, 5000)}",
    "${pad(1, 1000000000)}",
    "${if payload.objects == payload.objects}a${end}",
    "${first(payload.none, items(payload.deep), values(payload.deep))}",
    "${round(1, 1000000000)}${bytes(payload.big)}${duration(payload.big)}",
    "${payload.__class__}${payload.big.__init__.__globals__}${door.__class__.__mro__}",
    "${header.authorization}${query.token}${payload.many.-1}",
    "${if v0 in payload.many}${payload.big}${end}",
    "x" * 4_000,
    "${severity(payload.big)}",
]
PATTERNS = ["(((x.?){10}){10}){8}y", "(.{1,900}z)", "[a-z]{500}.*[a-z]{500}y", "((a?){30}){30}a{900}"]  # 3 s each
INNER += [f"${{if matches(payload.big, '{each}')}}a${{end}}" for each in PATTERNS]
INNER += [f"${{extract(payload.big, '{each}')}}" for each in PATTERNS[:2]]
TEMPLATES = [loop.replace("INNER", inner) for loop, inner in itertools.product(LOOPS, INNER)]


def rendered(template: str, cpu_s: float = MAX_CPU_S) -> str:
    """Render a text of a rule as a door does; empty if it is stopped."""
    [placed] = parse_rules(f"- text: {template!r}\n")
    assert placed.rule.text is not None
    roots = {"payload": PAYLOAD, "header": {}, "query": {}, "door": "alerts"}
    try:
        return render_text(placed.rule.text, TextScope(roots, call, Budget(cpu_s=cpu_s)))
    except ExpressionError:
        return ""


def test_forty_of_a_thousand_hostile_templates_end_within_steps_and_length():
    assert len(TEMPLATES) >= 1_000
    assert all(len(rendered(each)) <= MAX_OUTPUT for each in TEMPLATES[:1_000:25])


@pytest.mark.parametrize("inner", INNER)
def test_hostile_templates_are_stopped_by_steps_without_a_clock(inner: str):
    for loop in (LOOPS[0], LOOPS[9], LOOPS[45]):
        assert len(rendered(loop.replace("INNER", inner), cpu_s=float("inf"))) <= MAX_OUTPUT


HUGE = {
    "number": 10**4_000,
    "numbers": [10**4_000] * 2_000,
    "lists": [list(range(500))] * 2_000,
    "keys": {"k" * 8_000 + str(n): n for n in range(400)},
    "spaces": " " * 200_000 + "x",
}


@pytest.mark.parametrize(
    "text",
    [
        "${if payload.number in ['a', 'b']}a${end}",
        "${if 'a' in payload.numbers}a${end}",
        "${if payload.number > 1}a${end}",
        "${if payload.spaces in payload.numbers}a${end}",
        "${if payload.lists.0 in payload.lists}a${end}",
        "${count(where(payload.lists, 'a', 'b'))}${count(where(payload.lists, 'a.b.c.d.e', payload.spaces))}",
        "${join(payload.lists, '')}${payload.keys}",
        "${for n in payload.numbers}${n}${end}",
    ],
)
def test_no_single_operation_of_a_text_is_long(text: str):
    [placed] = parse_rules(f"- text: {text!r}\n")
    assert placed.rule.text is not None
    budget = Budget(cpu_s=float("inf"))
    with contextlib.suppress(ExpressionError):  # some took minutes: the limit of a test is the check
        assert len(render_text(placed.rule.text, TextScope({"payload": HUGE}, call, budget))) <= MAX_OUTPUT


@pytest.mark.parametrize("inner", INNER)
def test_no_hostile_template_takes_more_than_32_mib(inner: str):
    template = LOOPS[3].replace("INNER", inner)
    rendered(template)  # what is made once
    tracemalloc.start()
    try:
        rendered(template)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak <= 32 * MIB


def test_a_template_that_is_stopped_falls_back_to_the_generic_form():
    rules = parse_rules(f"- text: {LOOPS[8].replace('INNER', '')!r}\n")
    door = Door(id="1", name="alerts", definition=DoorDefinition(profile="oncall"))
    found = render(door, DoorRequest(), DoorMessage(payload={**PAYLOAD, "title": "Disk full"}), rules)

    assert found.title == "Disk full"
    assert "it takes too" in found.note


async def test_no_address_of_a_caller_is_ever_called(front: FrontBench):
    called: list[Any] = []
    server = await asyncio.start_server(lambda reader, writer: called.append(writer.close()), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x.png"
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "webhook": ("/in/{token}", {"title": "t", "url": url, "image": url, "callback": url, "attachments": [url]}),
        "apprise": ("/notify/{token}", {"body": "b", "attach": url, "attachments": [url], "urls": f"json{url[4:]}"}),
        "slack": ("/hooks/{token}", {"text": f"<{url}>", "icon_url": url, "response_url": url, "unfurl_links": True}),
        "discord": (
            "/api/webhooks/1/{token}",
            {"content": url, "avatar_url": url, "embeds": [{"title": "t", "url": url, "image": {"url": url}}]},
        ),
        "gotify": (
            "/message?token={token}",
            {"message": "m", "extras": {"client::notification": {"click": {"url": url}, "bigImageUrl": url}}},
        ),
        "pagerduty": (
            "/v2/enqueue",
            {
                "event_action": "trigger",
                "payload": {"summary": "s", "source": "s", "severity": "info"},
                "images": [{"src": url, "href": url}],
                "links": [{"href": url, "text": "l"}],
                "client_url": url,
            },
        ),
        "ntfy": (
            "/",
            {
                "topic": "ntfy",
                "message": "m",
                "attach": url,
                "icon": url,
                "click": url,
                "actions": [{"action": "http", "label": "a", "url": url}],
            },
        ),
    }
    async with server:
        for protocol, (path, body) in bodies.items():
            token = (await front.add(protocol, protocol=protocol)).token
            bearer = [("Authorization", f"Bearer {token}")] if protocol == "ntfy" else []
            answer = await front.post(path.format(token=token), {**body, "routing_key": token}, *bearer)
            assert answer.status < 300, protocol
        sent = await front.work()

    assert len(sent) == len(bodies)
    assert any(url in each.message for each in sent)  # as a link for people
    assert called == []
