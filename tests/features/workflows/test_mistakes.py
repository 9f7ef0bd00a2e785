"""Every mistake that people make is told with its line, a code and, where there is one, what was meant."""

import os
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.workflows.conftest import WorkflowBench
from tests.features.workflows.mistakes import MISTAKES, Mistake

from tocsin.core.records.as_json import to_json
from tocsin.features.workflows.language.reading import ReadWorkflow, read_workflow
from tocsin.features.workflows.language.surroundings import Surroundings

AROUND = Surroundings(
    profiles=["oncall", "team"],
    channels=["email", "teamchat", "botchat"],
    parse_modes=["Markdown", "HTML"],
    skills=["backup", "report"],
    hosts=["web1", "db1", "group:web"],
    secrets=["DB_PASS", "TOKEN"],
    workflows=["nightly", "weekly"],
    children_of=lambda name: ["nightly"] if name == "weekly" else [],
)


def read(text: str, name: str = "nightly") -> ReadWorkflow:
    return read_workflow(text.encode(), Path(f"{name}.yaml"), AROUND)


def test_there_are_at_least_sixty_mistakes_of_every_kind():
    assert len(MISTAKES) >= 60
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_told_with_its_line_its_code_and_what_was_meant(mistake: Mistake):
    found = [(problem.line, problem.code, problem.suggestion) for problem in read(mistake.text).problems]
    assert (mistake.line, mistake.code, mistake.near) in found


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_hides_behind_no_other_one(mistake: Mistake):
    """One mistake is told once; a second report follows from it only where a key has another name than was meant."""
    problems = read(mistake.text).problems
    follows = {"unknown-key", "missing-key", "wrong-type", "syntax"}
    assert len(problems) == 1 or mistake.code in follows, [problem.as_line("x") for problem in problems]


def test_a_key_of_another_type_of_step_is_told_once():
    [problem] = read("name: nightly\nsteps: [{name: a, command: ls, url: x}]").problems
    assert "'url'" in problem.detail


@pytest.mark.parametrize("key", ["when: ''", "shell: ' '", "depends_on: ''", "outputs: {a: ''}"])
def test_a_blank_value_is_told_once(key: str):
    [problem] = read(f"name: nightly\nsteps: [{{name: a, command: ls, {key}}}]").problems
    assert problem.code == "bad-value"


def test_a_description_may_be_empty():
    text = "name: nightly\ndescription: ''\nparams: {x: {description: ''}}\n"
    assert not read(f"{text}steps: [{{name: a, command: ls, description: ''}}]\n").problems


def test_a_source_without_a_path_is_not_suggested_again():
    [problem] = read("name: nightly\nsteps: [{name: a, command: ls, outputs: {a: 'file:'}}]").problems
    assert not problem.suggestion


@pytest.mark.parametrize(
    ("keys", "alternatives"),
    [
        ("type: wait", ("duration", "until", "approval")),
        ("type: ssh, command: uptime", ("hosts", "groups")),
        ("type: notify, command: hi", ("profile", "channel")),
    ],
)
def test_a_step_that_has_none_of_several_keys_names_them_all(keys: str, alternatives: tuple[str, ...]):
    [problem] = read(f"name: nightly\nsteps: [{{name: a, {keys}}}]").problems
    assert mentions(problem.detail, *(f"'{key}'" for key in alternatives))


STEPS = "name: nightly\nsteps:\n- {name: a, type: prompt, command: 'echo %s'%s}\n- {name: b, command: df%s}\n"
CLOSING = "on_failure:\n- {name: c, type: prompt, command: 'echo %s'}\n- {name: d, command: df}\n"


@pytest.mark.parametrize(
    ("text", "step", "remedy"),
    [
        (STEPS % ("${steps.b.status}", "", ""), "b", "move it above this step"),
        ("parallel: true\n" + STEPS % ("${steps.b.status}", "", ""), "b", "add it to depends_on"),
        (STEPS % ("${steps.a.status}", "", ""), "a", "it is this step"),
        (STEPS % ("${steps.c.status}", "", "") + CLOSING % "", "c", "it is in on_failure"),
        (STEPS % ("", "", "") + CLOSING % "${steps.d.status}", "d", "move it above this step"),
        (
            STEPS % ("", "", "") + CLOSING % "${steps.e.status}" + "on_finish: [{name: e, command: df}]\n",
            "e",
            "it is in on_finish",
        ),
    ],
)
def test_a_step_that_does_not_end_before_is_told_with_what_helps_there(text: str, step: str, remedy: str):
    [problem] = read(text).problems
    assert mentions(problem.detail, f"{step!r}", remedy)


def test_a_duration_that_cannot_be_read_is_shown():
    [problem] = read("name: nightly\nsteps: [{name: a, command: ls, retry: {delay: 100ms}}]").problems
    assert mentions(problem.detail, "'100ms'", "90s", "15m", "1h30m")


def test_all_mistakes_are_told_at_once_sorted_by_line():
    text = """\
name: nightly
notify_profile: oncal
steps:
  - name: dump
    comand: pg_dump
  - name: copy
    command: echo ${params.x}
    timeout: soon
    when: success( or
    depends_on: dupm
"""
    problems = read(text).problems
    assert [(problem.line, problem.code) for problem in problems] == [
        (2, "unknown-profile"),
        (4, "missing-key"),
        (5, "unknown-key"),
        (7, "unknown-variable"),
        (8, "bad-duration"),
        (9, "bad-expression"),
        (10, "unknown-dependency"),
    ]


def test_a_problem_names_key_pointer_and_column():
    [problem] = [
        each for each in read("name: nightly\nsteps:\n  - name: a\n    comand: x\n").problems if each.suggestion
    ]
    record = to_json(problem)
    assert mentions(record.pop("detail"), "'comand'", "'command'")
    assert record == {
        "line": 4,
        "column": 5,
        "key": "comand",
        "pointer": "#/steps/0/comand",
        "code": "unknown-key",
        "suggestion": "command",
        "severity": "error",
    }
    assert mentions(problem.as_line("nightly.yaml"), "nightly.yaml:4:5", "'comand'", "steps[0]", "'command'")


def test_ssh_is_refused_where_no_feature_runs_commands_on_other_hosts():
    without = Surroundings(has_ssh=lambda: False)
    text = b"name: nightly\nsteps:\n  - {name: a, type: ssh, command: uptime, hosts: web1}\n"
    [problem] = read_workflow(text, Path("nightly.yaml"), without).errors
    assert (problem.line, "available" in problem.detail.partition(":")[0]) == (3, True)


def test_more_than_five_workflows_inside_each_other_are_refused():
    deep = Surroundings(workflows=list("abcdefg"), children_of=lambda name: [chr(ord(name) + 1)] if name < "g" else [])
    text = b"name: nightly\nsteps:\n  - {name: x, type: workflow, command: a}\n"
    [problem] = read_workflow(text, Path("nightly.yaml"), deep).errors
    assert mentions(problem.detail, "5 levels", "a -> b -> c -> d -> e -> f")


def test_a_file_of_five_hundred_lines_is_read_whole():
    steps = "".join(f"  - name: s{n}\n    command: echo $RUN_ID {n}\n    timeout: {n}s\n" for n in range(166))
    read_file = read(f"name: nightly\nsteps:\n{steps}")
    assert read_file.workflow is not None
    assert len(read_file.workflow.steps) == 166


async def test_a_file_that_is_none_is_listed_with_what_is_wrong_and_leaves_the_others_alone(flows: WorkflowBench):
    flows.write("steps: [{name: child, type: workflow, command: pipe}]", "good")
    folder = flows.folder / "workflows"
    os.mkfifo(folder / "pipe.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "link.yaml").symlink_to("nowhere")
    found = {file.name: file for file in await flows.workflows.all()}
    assert found["good"].valid
    wrong = {name for name, file in found.items() if not file.valid and file.read.errors[0].detail}
    assert wrong == {"pipe", "folder", "link"}
