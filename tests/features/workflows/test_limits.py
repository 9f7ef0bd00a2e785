"""What a file costs to read: at most so much, in proportion to its size, and nothing once its sender has left."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.features.workflows.conftest import Opening, WorkflowBench
from tests.features.workflows.fuzzing import HEAD, REPEATED, repeated, texts
from tests.features.workflows.test_mistakes import AROUND
from tests.waiting import eventually

from tocsin.features.workflows.language.reading import MAX_FILE_BYTES, ReadWorkflow, read_workflow
from tocsin.testing.dashboard import open_dashboard

STEPS = "steps:\n" + "".join(f"- {{name: s{number}, command: x}}\n" for number in range(200))


def read(text: str) -> ReadWorkflow:
    return read_workflow(text.encode(), Path("fuzzed.yaml"), AROUND)


def test_a_file_within_all_limits_is_read():
    found = read(f"{HEAD}{STEPS}#".ljust(MAX_FILE_BYTES, "#"))
    assert (len(found.workflow.steps if found.workflow else ()), found.problems) == (200, ())


@pytest.mark.parametrize(
    ("text", "line", "pointer"),
    [
        (f"{HEAD}{STEPS}#".ljust(MAX_FILE_BYTES + 1, "#"), 1, "#"),
        (f"{HEAD}{STEPS}- {{name: last, command: x}}\n", 203, "#/steps/200"),
        (f"{HEAD}{STEPS}on_failure: [{{name: last, command: x}}]\n", 203, "#/on_failure/0"),
        (f"{HEAD}steps:\n- {{name: a, command: x}}\nenv: [{'a,' * 10_000}]\n", 4, "#"),
    ],
    ids=["bytes", "steps", "steps of all lists", "values"],
)
def test_a_file_over_a_limit_has_one_mistake_that_says_so(text: str, line: int, pointer: str):
    [problem] = read(text).problems
    assert (problem.code, problem.line, problem.pointer) == ("too-large", line, pointer)


def test_at_most_fifty_errors_and_fifty_warnings_are_reported():
    text = f"{HEAD}steps:\n- name: a\n  command: [{'--token=abcdefgh, ' * 60}]\n  env:\n"
    assert len(read(text).warnings) == 50
    found = read(text + "".join(f"    A{number}: '${{params.b}}'\n" for number in range(60)))
    assert (len(found.errors), len(found.warnings)) == (50, 50)


@pytest.mark.parametrize("pattern", [r"x\d{%d}", r"\pL{1,%d}", r"\pL\pN%d"], ids=["cheap", "too large", "costly"])
def test_at_most_fifty_different_patterns_are_compiled(pattern: str):
    outputs = "".join(f"    o{number}: stdout | regex:'{pattern % number}'\n" for number in range(1, 61))
    problems = read(f"{HEAD}steps:\n- name: a\n  command: x\n  outputs:\n{outputs}").problems
    assert len([each for each in problems if "at most 50 different patterns" in each.detail]) == 10


def lines_of(work: Callable[[], Any]) -> int:
    """Return how many lines of Python run in `work`: what it costs, whatever the machine."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("parts", REPEATED, ids=lambda parts: repr(parts[1]))
def test_a_file_four_times_as_long_costs_at_most_about_four_times_as_much(parts: tuple[str, str, str]):
    read(repeated(*parts, 600))  # what is loaded or made once
    costs = [lines_of(lambda size=size: read(repeated(*parts, size))) for size in (600, 2_400)]
    assert costs[1] < 5.5 * costs[0] + 20_000


async def test_no_text_leads_to_an_answer_of_the_5xx_class(flows: WorkflowBench):
    answers = set()
    async with open_dashboard(flows.bench.app) as client:
        for text in texts(120, seed=0, largest=10_000):
            headers = {"Content-Type": "application/yaml"}
            answer = await client.call("POST", "/api/workflows/fuzzed/validate", text, headers=headers)
            answers.add((answer.status, answer.json().get("code")))
    assert answers <= {(200, None), (422, "validation-failed")}  # the latter is not UTF-8


class SecretNames:
    """Names the secrets of the vault once a test allows it."""

    def __init__(self) -> None:
        self.asked, self.may_answer = 0, asyncio.Event()

    async def __call__(self) -> list[Any]:
        self.asked += 1
        await self.may_answer.wait()
        return []


SLOW = HEAD + "steps: [{name: a, command: b, env: {E: '${vault:F}'}}, {name: c, type: ssh, hosts: [d], command: e}]\n"


async def test_texts_that_are_read_slowly_do_not_hold_up_the_threads_of_all_else(opening: Opening):
    names = SecretNames()
    async with opening(secrets=SimpleNamespace(names=names)) as flows:
        flows.write("steps: [{name: a, command: b}]\n")
        texts = [asyncio.create_task(flows.workflows.read_text("fuzzed", SLOW.encode())) for _ in range(50)]
        await eventually(lambda: names.asked)
        assert (await flows.workflows.look("flow")).valid
        names.may_answer.set()
        assert {file.valid for file in await asyncio.gather(*texts)} == {False}


async def test_a_text_that_no_one_waits_for_is_not_read_to_its_end(opening: Opening):
    names, asked = SecretNames(), []

    async def hosts(kind: Any) -> list[str]:
        asked.append(kind)
        return []

    async with opening(secrets=SimpleNamespace(names=names), run_starter=SimpleNamespace(subjects=hosts)) as flows:
        first = asyncio.create_task(flows.workflows.read_text("fuzzed", SLOW.encode()))
        await eventually(lambda: names.asked)
        first.cancel()
        names.may_answer.set()
        await flows.workflows.read_text("fuzzed", HEAD.encode())  # its turn comes when the first is given up
    assert asked == []


async def test_a_text_of_more_bytes_is_refused_before_it_is_read(flows: WorkflowBench):
    async with open_dashboard(flows.bench.app) as client:
        for method, path in (("POST", "/api/workflows/fuzzed/validate"), ("PUT", "/api/workflows/fuzzed")):
            answer = await client.call(method, path, {"yaml": "ä" * (MAX_FILE_BYTES // 2 + 1)})
            assert (answer.status, answer.json()["code"]) == (413, "payload-too-large")
