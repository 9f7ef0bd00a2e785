"""Requests of every operation, made from the OpenAPI document, and answers held against it.

No scope, no limit and no wrong input may lead to an answer that the document does not describe.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.web.dashboard.contract.examples import EXAMPLES
from tests.web.dashboard.contract.world import ContractWorld, open_world

from tocsin.rest.event_stream import EVENT_STREAM

BASE = "http://127.0.0.1:8200"
CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
BATCH = 500
_USUAL = frozenset({"User-Agent", "Accept-Encoding", "Connection", "Content-Length", "Authorization"})
# What is stored with a command is run by other requests: no chance decides what this machine runs.
HARMLESS = {"command": "true"}
# How long a thing of each kind is used before another one is made, in requests.
RENEWED_AFTER = 20


@dataclass
class FuzzReport:
    """What many requests found."""

    calls: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    asked: set[str] = field(default_factory=set)  # operations
    succeeded: set[str] = field(default_factory=set)
    findings: dict[str, str] = field(default_factory=dict)  # what is wrong: the first request that shows it
    tell: Callable[[str, str], None] = lambda *_: None  # gets a finding as soon as it is met

    def note(self, what: str, request: requests.PreparedRequest, answer: object) -> None:
        if what not in self.findings:
            headers = {name: value for name, value in request.headers.items() if name not in _USUAL}
            shown = f"{request.method} {request.url} {headers} {request.body!r:.300} -> {answer!r:.500}"
            self.findings[what] = shown
            self.tell(what, shown)


class ApiFuzz:
    """Asks one program, again and again."""

    def __init__(self, world: ContractWorld, runner: asyncio.Runner, chance: int, only: str = "") -> None:
        self.report = FuzzReport()
        self._world = world
        self._runner = runner
        self._chance = random.Random(chance)
        self._things: dict[str, tuple[str, int]] = {}
        # Wrong passwords are among the requests, and end that a password is taken from here.
        world.client.headers = runner.run(world.token("admin"))
        schema = schemathesis.openapi.from_dict(world.document)
        self._operations = [
            operation for found in schema.get_all_operations() if only in (operation := found.ok()).label
        ]

    def strategy(self) -> st.SearchStrategy[Case]:
        """Return requests, valid ones and others."""
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        return st.one_of(
            *(operation.as_strategy(generation_mode=mode) for operation in self._operations for mode in modes)
        )

    def ask(self, case: Case) -> None:
        """Make one request, and keep what is wrong with its answer."""
        name = f"{case.method} {case.operation.path}"
        changed = self._point_at_something(case, name)
        request = requests.Request(**case.as_transport_kwargs(base_url=BASE)).prepare()
        answer = self._runner.run(self._call(name, request))
        self.report.calls += 1
        self.report.asked.add(name)
        self.report.statuses[answer.status_code] += 1
        if answer.status_code < 400:
            self.report.succeeded.add(name)
        if answer.status_code == 500:
            self.report.note(f"{name}: 500", request, answer.content)
        try:
            # Refused for whatever reason is refused; what was made valid may be taken.
            checks = CHECKS if changed or answer.status_code >= 400 else [*CHECKS, negative_data_rejection]
            case.validate_response(answer, checks=checks)
        except FailureGroup as failures:
            for failure in failures.exceptions:
                self.report.note(f"{name}: {failure.title} {answer.status_code}", request, answer.content)

    def _point_at_something(self, case: Case, name: str) -> bool:
        """Let a part of the requests be about what there is, and return whether that has changed one."""
        before = repr((case.body, case.query))
        example = EXAMPLES[name]
        made = self._thing(example.made) if example.made else ""
        if isinstance(case.body, dict) and isinstance(example.body, dict):
            known = {key: value for key, value in example.body.items() if self._chance.random() < 0.6}
            case.body = {**case.body, **json.loads(json.dumps(known).replace("{made}", made))}
        if self._chance.random() < 0.5:
            known = dict(parse_qsl(example.query.replace("{made}", made)))
            case.query = {**(case.query or {}), **known}
        if isinstance(case.body, dict) and "command" in case.body and case.operation.path != "/api/ssh/run":
            case.body = {**case.body, **HARMLESS}
        if made and self._chance.random() < 0.7:
            for parameter in case.path_parameters or {}:
                case.path_parameters[parameter] = made
        answers = case.operation.definition.raw["responses"]
        media = [*answers.get(str(example.status), {}).get("content", {}), "*/*"]
        case.headers = {**(case.headers or {}), "Accept": self._chance.choice(media)}
        return repr((case.body, case.query)) != before

    def _thing(self, kind: str) -> str:
        made, uses = self._things.get(kind, ("", RENEWED_AFTER))
        if uses >= RENEWED_AFTER:
            made, uses = self._runner.run(self._world.made(kind)), 0
        self._things[kind] = (made, uses + 1)
        return made

    async def _call(self, name: str, request: requests.PreparedRequest) -> Response:
        client, method = self._world.client, str(request.method)
        body = request.body.encode() if isinstance(request.body, str) else request.body or None
        client.leaves = EXAMPLES[name].streams or request.headers.get("Accept") == EVENT_STREAM
        try:
            answer = await client.call(method, str(request.path_url), body, headers=_text(request.headers))
        finally:
            client.leaves = False
        return Response(answer.status, {k: [v] for k, v in answer.headers.items()}, answer.body, request, 0.0, False)


def _text(headers: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.lower(): value.decode("latin-1") if isinstance(value, bytes) else str(value)
        for name, value in headers.items()
        if name.lower() not in {"host", "content-length", "authorization"}
    }


def fuzz(
    folder: Path,
    calls: int,
    first_seed: int = 0,
    *,
    only: str = "",
    progress: Any = None,
    tell: Callable[[str, str], None] | None = None,
) -> FuzzReport:
    """Make at least so many requests of the operations that have `only` in method and path.

    The same seed makes the same ones. `tell` gets each finding when it is met.
    """
    with asyncio.Runner() as runner:
        opened = open_world(folder)
        world = runner.run(opened.__aenter__())
        try:
            fuzzing = ApiFuzz(world, runner, first_seed, only)
            if tell:
                fuzzing.report.tell = tell
            strategy, number = fuzzing.strategy(), first_seed
            while fuzzing.report.calls < calls:
                _batch(fuzzing, strategy, number, min(BATCH, calls - fuzzing.report.calls))
                number += 1
                if progress:
                    progress(fuzzing.report)
            return fuzzing.report
        finally:
            runner.run(opened.__aexit__(None, None, None))


def _batch(fuzzing: ApiFuzz, strategy: st.SearchStrategy[Case], number: int, size: int) -> None:
    @seed(number)
    @settings(
        max_examples=size,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def ask(case: Case) -> None:
        fuzzing.ask(case)

    ask()
