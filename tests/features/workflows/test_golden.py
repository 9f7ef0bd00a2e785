"""Whole workflows: the file goes in, its plan and the record of its run come out.

`golden/<name>.json` holds both. After a change that is meant, write them anew by deleting the file and running the test
twice: the first run writes it and fails.
"""

import json
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.facts import mentions
from tests.features.workflows.conftest import WorkflowBench, request

from tocsin.core.records.as_json import to_json
from tocsin.runs.model import Run

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.yaml") if path.stem != "child")
CHANGING = {"started_at", "finished_at", "duration_ms"}


def recorded(run: Run) -> dict[str, Any]:
    """Return what of a record is the same in every run of the file."""
    steps = [{name: value for name, value in to_json(step).items() if name not in CHANGING} for step in run.steps]
    for step in steps:
        if isinstance(outputs := step["outputs"], dict):
            outputs.pop("run_id", None)
    error = None if run.error is None else dict(run.error)
    return {"status": str(run.status), "reason": run.reason, "error": error, "params": dict(run.params), "steps": steps}


@pytest.mark.parametrize("name", NAMES)
async def test_a_workflow_has_the_plan_and_the_record_that_are_kept_beside_it(flows: WorkflowBench, name: str):
    folder = flows.folder / "workflows"
    folder.mkdir(mode=0o700)
    for path in GOLDEN.glob("*.yaml"):
        copy(path, folder)
    planned = to_json(await flows.workflows.plan(name, request()))
    found = {"plan": planned, "run": recorded(await flows.run(name=name))}
    kept = GOLDEN / f"{name}.json"
    if not kept.exists():
        kept.write_text(json.dumps(found, indent=2) + "\n")
        pytest.fail(f"{kept} was written: look at it")
    assert found == json.loads(kept.read_text())


async def test_a_plan_executes_nothing_and_shows_the_same_steps_as_the_run(flows: WorkflowBench):
    flows.write("""
        params: {n: {type: integer, required: true}}
        steps:
          - {name: a, command: 'touch made-${params.n}'}
          - {name: b, command: no-such-program --all, when: params.n == 2}
          - {name: c, command: [echo, '${steps.a.status}'], when: steps.a.exit_code == 0}
    """)
    plan = await flows.workflows.plan("flow", request(params={"n": 1}))
    assert [(each.step, each.wave, each.would_run, each.command) for each in plan.plan] == [
        ("a", 1, True, "touch made-1"),
        ("b", 2, False, "no-such-program --all"),
        ("c", 3, None, "echo '${steps.a.status}'"),
    ]
    assert [mentions(problem, "no-such-program") for problem in plan.plan[1].problems] == [True]
    assert list(flows.folder.glob("made-*")) == []
    assert (await flows.workflows.plan("flow", request())).problems == ("parameter 'n' is required",)
    run = await flows.run(params={"n": 1})
    assert [step.name for step in run.steps] == [each.step for each in plan.plan]
    assert [str(step.status) for step in run.steps] == ["succeeded", "skipped", "succeeded"]


async def test_a_plan_shows_the_values_of_for_each_that_are_known(flows: WorkflowBench):
    flows.write("""
        params:
          hosts: {type: list, default: [web1, web2]}
          lines: {default: " a \\n\\nb "}
          one: {type: integer, default: 1}
        steps:
          - {name: list, command: echo, outputs: {all: stdout}}
          - name: written
            for_each: ['${params.one}', x, '${steps.list.outputs.all}', {a: b}]
            command: [echo, '${item}']
          - {name: param, for_each: '${params.hosts}', env: {HOST: '${item}'}, command: echo "$HOST"}
          - {name: lines, for_each: '${params.lines}', command: echo}
          - {name: late, for_each: '${steps.list.outputs.all}', command: echo}
          - {name: wrong, for_each: '${params.one}', command: echo}
    """)
    plan = {each.step: each for each in (await flows.workflows.plan("flow", request())).plan}
    assert {name: each.items for name, each in plan.items()} == {
        "list": None,
        "written": [1, "x", "${steps.list.outputs.all}", {"a": "b"}],
        "param": ["web1", "web2"],
        "lines": ["a", "b"],
        "late": None,
        "wrong": None,
    }
    assert (plan["late"].for_each, plan["written"].for_each) == ("${steps.list.outputs.all}", "")
    assert [mentions(problem, "for_each") for problem in plan["wrong"].problems] == [True]
    assert plan["param"].variables == {"HOST": "${item}"}
    assert plan["written"].command == "echo '${item}'"
    assert "${item}" not in str((await flows.run(params={"one": 2})).steps)
