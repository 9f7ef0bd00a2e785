"""Values in shell text: what is refused, what replaces it, and that no shell runs a value as code."""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from itertools import cycle
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.workflows.conftest import WorkflowBench
from tests.hostile import HOSTILE, scripts

from tocsin.core.text.shell import format_value
from tocsin.features.workflows.language.model import ParamRule
from tocsin.features.workflows.language.params import check_param, take_params
from tocsin.features.workflows.language.reading import ReadWorkflow, read_workflow
from tocsin.features.workflows.language.surroundings import Surroundings
from tocsin.features.workflows.requests import InvalidRunError

TEXTS = (
    "params.text", "params.list", "item", "env.GIVEN", "steps.a.outputs.o", "steps.a.status", "run.name", "vault:S",
    "raw:params.text",
)  # fmt: skip
NUMBERS = ("params.n", "params.x", "params.b", "raw:params.n")
NAMED_SCRIPTS = {f"{number:03}": script for number, script in enumerate(scripts())}
SHELLS = sorted({os.path.realpath(path) for name in ("sh", "dash", "bash") if (path := shutil.which(name))})
FILE = """\
name: flow
params:
  text: {default: a}
  list: {type: list, default: []}
  n: {type: integer}
  x: {type: number}
  b: {type: boolean}
env: {GIVEN: "${params.text}"}
steps:
  - {name: a, command: echo a, outputs: {o: stdout}}
  - name: b
    for_each: [x]
"""
# Gives each script every value, until one is executed, and prints the names of such scripts. A value that ends the
# shell, as mistakes in expressions do, ends one turn of the middle loop.
DRIVER = """\
for _script in scripts/*; do
  : >hit
  _next=0
  while [ "$_next" -lt "$COUNT" ] && ! [ -s hit ]; do
    ( while [ "$_next" -lt "$COUNT" ] && ! [ -s hit ]; do
        echo "$_next" >at
        eval "X=\\$V$_next"; export X
        . "./$_script" </dev/null
        _next=$((_next + 1))
      done ) >/dev/null 2>&1
    read -r _next <at
    _next=$((_next + 1))
  done
  if [ -s hit ]; then echo "${_script#scripts/}"; fi
done
"""


def read(step: str, head: str = FILE) -> ReadWorkflow:
    return read_workflow(f"{head}    {step}\n".encode(), Path("flow.yaml"), Surroundings())


def with_value(script: str, value: str) -> str:
    return f"command: {json.dumps(script.replace('${', '$${').replace('@', value))}"


@cache
def warned() -> set[str]:
    """Return the names of the scripts that `validate` warns of."""
    read_with = {
        name: f"{with_value(script, '$X')}\n    env: {{X: '${{item}}'}}" for name, script in NAMED_SCRIPTS.items()
    }
    return {name for name, step in read_with.items() if read(step).warnings}


def test_every_placeholder_but_a_number_is_refused_with_the_line_that_replaces_it():
    for script, path in zip(scripts(), cycle(TEXTS), strict=False):
        [error] = read(with_value(script, f"${{{path}}}")).errors
        [(name, line)] = re.findall(r'write "\$(\w+)" there, (?:and in the step: (env: .*)|which)', error.detail)
        assert read(f"{with_value(script, f'${name}')}\n    {line}").errors == (), script


def test_numbers_and_booleans_are_taken_in_every_script():
    for script, path in zip(scripts(), cycle(NUMBERS), strict=False):
        assert read(with_value(script, f"${{{path}}}")).problems == (), script


@pytest.mark.parametrize("kind", ["integer", "number", "boolean"])
def test_a_number_is_written_with_digits_whatever_a_run_or_the_file_gives(kind: str):
    given = ("1", "-1.5e3", "1e16", "1_000", " 7\n", "٣", "nan", "-inf", "1e400", "0x10", "yes", 1e300, True, -0.0, 3)
    for value in (*HOSTILE, *given):
        taken, problems = take_params({"n": ParamRule(kind)}, {"n": value})
        if not check_param("n", ParamRule(kind), value)[1]:
            assert take_params({"n": ParamRule(kind, default=value)}, {})[0] == taken
        assert problems or re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|true|false", format_value(taken["n"])), value
    assert format_value(1e16) == "10000000000000000"


@pytest.mark.parametrize("shell", SHELLS)
def test_no_shell_runs_a_value_as_code_in_a_script_that_validate_does_not_warn_of(tmp_path: Path, shell: str):
    (tmp_path / "scripts").mkdir()
    for name, script in NAMED_SCRIPTS.items():
        (tmp_path / "scripts" / name).write_text(script.replace("@", "$X"))
    values = {f"V{number}": value for number, value in enumerate(HOSTILE)}
    env = {"PATH": os.environ["PATH"], "COUNT": str(len(values)), **values}
    done = subprocess.run([shell, "-c", DRIVER], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    executed = set(done.stdout.split())
    assert executed - warned() == set()
    assert executed  # such as those with eval


@pytest.mark.parametrize(
    ("command", "more", "codes"),
    [
        (["echo", "${params.text}", "--to=${params.text}"], "", []),
        (["sh", "-c", 'echo "$1"', "x", "${params.text}"], "", []),
        (["sh", "-c", "echo ${params.n}"], "", []),
        (["sh", "script.sh", "-c", "${params.text}"], "", []),
        (["sh", "-c", "echo ${params.text}"], "", ["bad-value"]),
        (["env", "A=b", "/bin/bash", "-euo", "pipefail", "-c", "${params.text}"], "", ["bad-value"]),
        (["su", "app", "-c", "echo ${params.text}"], "", ["bad-value"]),
        (["python3", "-c", "print('${item}')"], "", ["bad-value"]),
        (["bash", "-c", "echo $(($1))", "x", "${params.text}"], "", ["text-as-code"]),
        (["bash", "-s"], "stdin: 'echo ${params.text}'", ["bad-value"]),
        ("sh", "stdin: 'echo ${params.text}'", ["bad-value"]),
        ("cat", "stdin: '${params.text}'", []),
        ("import ${params.text}", "shell: python3", ["bad-value"]),
        ("echo $((PARAM_TEXT + 1))", "", ["text-as-code"]),
        ("echo $((PARAM_N + STEP_A_O))", "", ["text-as-code"]),
        ("echo $((PARAM_N + GIVEN))", "", ["text-as-code"]),
        ("print((PARAM_TEXT))", "shell: python3", []),
        ("uptime", "env: {PARAM_TEXT: '${params.text}'}", []),
        ("uptime", "env: {PARAM_TEXT: other}", ["bad-value"]),
    ],
)
def test_what_a_step_says_of_its_values_is_told(command: object, more: str, codes: list[str]):
    problems = read(f"command: {json.dumps(command)}\n    {more}").problems
    assert [problem.code for problem in problems] == codes


C = "outputs: {c: stdout}"


@pytest.mark.parametrize(
    ("file", "clash"),
    [
        ("params: {keep: {}, Keep: {}}\nsteps: [{name: a, command: df}]", "PARAM_KEEP"),
        (f"steps:\n- {{name: a-b, command: df, {C}}}\n- {{name: a_b, command: df, {C}}}", "STEP_A_B_C"),
        (
            f"steps:\n- {{name: a, command: df, outputs: {{b_c: stdout}}}}\n- {{name: a-b, command: df, {C}}}",
            "STEP_A_B_C",
        ),
        (f"env: {{STEP_A_C: x}}\nsteps: [{{name: a, command: df, {C}}}]", "STEP_A_C"),
        ("params: {keep: {}, Keep: {}}\nsteps: [{name: a, type: prompt, command: hi}]", ""),
    ],
)
def test_two_values_of_one_variable_are_a_mistake_where_a_shell_runs(file: str, clash: str):
    errors = read_workflow(f"name: flow\n{file}".encode(), Path("flow.yaml"), Surroundings()).errors
    assert [clash in error.detail for error in errors] == ([True] if clash else [])


async def test_parameters_and_outputs_are_variables_of_every_shell_and_never_unset(flows: WorkflowBench):
    run = await flows.run(
        """
        params:
          text: {required: true}
          none: {}
          list: {type: list, default: [a, 1]}
          big: {type: number, default: 1e16}
        steps:
          - {name: first-one, command: 'printf "%s\\\\0%s" "$PARAM_TEXT" x', outputs: {all: stdout}}
          - {name: left-out, command: echo b, when: 'false', outputs: {o: stdout}}
          - name: show
            shell: sh -eu
            command: |
              printf '%s|%s|%s|%s|%s|%s\\n' "$PARAM_TEXT" "$PARAM_NONE" "$PARAM_LIST" "$PARAM_BIG" \\
                "$STEP_FIRST_ONE_ALL" "$STEP_LEFT_OUT_O"
        """,
        params={"text": "a'b\"c"},
    )
    assert flows.printed("show") == ['a\'b"c||["a", 1]|10000000000000000|a\'b"cx|'], run.reason


async def test_a_value_that_no_variable_can_hold_is_left_out_or_refused_where_it_is_named(flows: WorkflowBench):
    flows.write("""
        params: {text: {required: true}, use: {type: boolean, required: true}}
        steps:
          - {name: other, command: 'echo "${params.use}"', when: not params.use}
          - {name: named, command: 'echo "$PARAM_TEXT"', when: params.use}
    """)
    assert (await flows.run(params={"text": "x" * 131_072, "use": False})).ok
    assert any(mentions(line.text, "PARAM_TEXT", "params.text", "128 KiB") for line in flows.lines)
    assert (await flows.run(params={"text": "x" * 131_058, "use": True})).ok
    run = await flows.run(params={"text": "x" * 131_072, "use": True})
    assert (run.steps[1].error or {})["code"] == "value-too-large"


async def test_variables_that_are_too_large_together_are_named(flows: WorkflowBench):
    names = [f"p{number}" for number in range(60)]
    declared = "".join(f"          {name}: {{}}\n" for name in names)
    flows.write(f"        params:\n{declared}        steps: [{{name: a, command: echo a}}]\n")
    run = await flows.run(params=dict.fromkeys(names, "x" * 131_000))
    assert mentions(run.reason or "", "variables", " 7,")
    assert "PARAM_P9 127 KiB" in (run.reason or "")


async def test_a_run_is_not_given_a_variable_that_is_a_parameters(flows: WorkflowBench):
    flows.write("params: {text: {}}\nsteps: [{name: a, command: 'echo $PARAM_TEXT'}]")
    with pytest.raises(InvalidRunError, match=r"PARAM_TEXT.*params\.text"):
        await flows.run(env={"PARAM_TEXT": "x"})
