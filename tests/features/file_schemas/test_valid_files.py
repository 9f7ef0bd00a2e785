"""Files without a mistake: the examples, those in the documentation, and what our readers take beyond the usual."""

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest
from jsonschema_rs import validator_for
from tests.docs.pages import ROOT, Block, blocks
from tests.features.file_schemas.language_server import Diagnostic, LanguageServer, run_script
from tests.features.file_schemas.readers import NAMED, places

from tocsin.features.file_schemas import as_text, load_schema, modeline, written_files
from tocsin.features.registry import find_features

FILES = written_files(find_features().features)
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix == ".yaml" or path.name == "SKILL.md")
# Blocks of the documentation that are no file, by page and first line.
NO_FILES = {
    ("docs/workflows.md", "when: failure() and steps.copy.exit_code == 255"): "conditions of several steps",
    ("docs/metrics.md", "scrape_configs:"): "the configuration of Prometheus",
}
STEPS = "name: it\nsteps:\n"
VALID = [
    ("profiles", "2026:\n  - {channel: telegram, target: -1001234567890}\n"),
    ("triggers", "[]\n"),
    ("triggers", "- {pattern: 404, command: 'true', action: skill, repeat: FALSE}\n"),
    ("watchers", "- {name: 7, path: ~/in, action: notify, output: null, events: [deleted]}\n"),
    ("watchers", "- {name: a, path: '~', command: ls, cooldown_seconds: 86400, patterns: ['\\#x', '!y']}\n"),
    ("cron_job", "schedule: '@daily'\ncommand: 5\ntimezone: null\ncatchup: null\nenv: {A: '', B: 1}\n"),
    ("cron_job", "schedule: every 10m\ncommand: greet\ntype: skill\nparams: {a: 1, b: [x, 2], c: true}\n"),
    ("cron_job", "schedule: '@daily'\ncommand: ls\noutput_on: ' failure , recovery'\nretry: {backoff: 1.5}\n"),
    ("workflow", f"{STEPS}  - {{name: a, command: [ls, -l], timeout: 90}}\ntimeout: 1h30m\n"),
    ("workflow", f"{STEPS}  - {{name: a, type: http, url: 'https://example.org', expect_status: 204}}\n"),
    ("workflow", f"{STEPS}  - {{name: a, type: wait, duration: 1.5, depends_on: []}}\nnotify_on: always\n"),
    ("ssh_hosts", "groups: {all: [web1]}\n"),
    ("ssh_hosts", "hosts:\n  - {name: 10, hostname: '::1', description: '', known_hosts: ~/known}\n"),
    ("ssh_hosts", "hosts:\n  - {name: a, identity: {kind: agent}}\n"),
    ("browser_profiles", "- {name: a, proxy: SOCKS5://127.0.0.1:1080, port: 0x10}\n"),
    ("browser_profiles", "- {name: a, driver: remote, cdp_endpoint: 'WS://127.0.0.1:9222'}\n"),
    ("rotation_policies", "secrets: {_a: {max_age_days: 1}}\n"),
    ("skill", "name: it\ndescription: 5\ncommand: 'true'\npermissions: [vault, vault]\nvault: []\n"),
    ("assistant_skill", "name: it\ndescription: Of another program\nauthor: [me]\nmodel: large\nallowed-tools: Bash\n"),
    ("assistant_skill", f"name: it\ndescription: >\n  {'Reviews. ' * 22}\ntools: [Read, Read]\nlicense: MIT\n"),
]  # fmt: skip


def kind_in(text: str) -> str:
    """Return the kind of a file that its first line names, as a schema or as a path; empty without such a line."""
    first = text.removeprefix("---\n").partition("\n")[0].strip()
    if found := re.fullmatch(r"# yaml-language-server: \$schema=(?:\S*/)?schemas/(\w+)\.json", first):
        return found[1]
    path = first.removeprefix("# ") if first.startswith("# ") else ""
    return next((name for name, file in FILES.items() if fnmatch(path, file.place)), "")


def in_yaml(text: str) -> str:
    """Return a file, of a SKILL.md the front matter alone."""
    return text.removeprefix("---\n").partition("---\n")[0] if text.startswith("---\n") else text


def renamed(text: str) -> str:
    """Return a file with the name that our readers expect of it."""
    return re.sub(r"^name: .*$", f"name: {NAMED}", text, count=1, flags=re.MULTILINE)


def where(block: Block) -> str:
    return f"{block.page}:{block.line}"


DOCUMENTED = [block for block in blocks("yaml", "text") if block.language == "yaml" or "$schema=" in block.text]
SHOWN = [block for block in DOCUMENTED if (block.page, block.text.partition("\n")[0]) not in NO_FILES]


@pytest.fixture(scope="module")
def said(server: LanguageServer, data_dir: Path) -> Mapping[str, list[Diagnostic]]:
    """What the server says about each of these files, by its place or text; it waits for each, so all are opened."""
    texts = {str(path): (path.with_suffix(".check.yaml"), in_yaml(path.read_text())) for path in EXAMPLES}
    placed = [(where(block), kind_in(block.text), in_yaml(block.text)) for block in SHOWN]
    placed += [(text, kind, text) for kind, text in VALID]
    for number, (key, kind, text) in enumerate(placed):
        path = (data_dir / FILES[kind].place).with_name(f"valid-{number}.yaml")
        texts[key] = (path, modeline(FILES[kind]) + text)
    found = server.diagnostics(dict(texts.values()))
    return {key: found[path] for key, (path, _) in texts.items()}


def test_every_kind_has_an_example_and_stands_in_the_documentation():
    assert {kind_in(path.read_text()) for path in EXAMPLES} == FILES.keys()
    assert {kind_in(block.text) for block in SHOWN} == FILES.keys()


def test_every_block_that_is_no_file_is_listed_with_its_reason():
    assert {where(block) for block in SHOWN if not kind_in(block.text)} == set()
    assert len(DOCUMENTED) - len(SHOWN) == len(NO_FILES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_names_its_schema_and_has_no_mistake(
    path: Path, said: Mapping[str, list[Diagnostic]], tmp_path: Path
):
    text = path.read_text()
    kind = kind_in(text)
    named = re.search(r"\$schema=(\S+)", text)
    assert named
    assert (path.parent / named[1]).read_text("utf-8") == as_text(load_schema(FILES[kind]))
    assert places(kind, renamed(in_yaml(text)), tmp_path) == []
    assert said[str(path)] == []


@pytest.mark.parametrize("block", SHOWN, ids=where)
def test_a_file_in_the_documentation_has_no_mistake(block: Block, said: Mapping[str, list[Diagnostic]], tmp_path: Path):
    assert places(kind_in(block.text), renamed(in_yaml(block.text)), tmp_path) == []
    assert said[where(block)] == []


@pytest.mark.parametrize(("kind", "text"), VALID)
def test_what_our_reader_takes_is_no_mistake_in_an_editor(
    kind: str, text: str, said: Mapping[str, list[Diagnostic]], tmp_path: Path
):
    assert places(kind, text, tmp_path) == []
    assert said[text] == []


@pytest.mark.parametrize("kind", FILES)
def test_a_schema_is_one_of_2020_12_and_stands_alone(kind: str):
    schema = load_schema(FILES[kind])
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert not validator_for(schema).is_valid([[]])
    assert {reference for reference in values_of(schema, "$ref") if not reference.startswith("#/$defs/")} == set()


def test_every_pattern_is_one_of_javascript():
    patterns = [pattern for file in FILES.values() for pattern in values_of(load_schema(file), "pattern")]
    assert len(patterns) > 50
    assert run_script(f"for (const each of {json.dumps(patterns)}) new RegExp(each, 'u'); console.log('ok')") == "ok\n"


def values_of(schema: object, keyword: str) -> Iterator[str]:
    """Yield the texts that a keyword has in a schema."""
    if isinstance(schema, Mapping):
        yield from ([schema[keyword]] if isinstance(schema.get(keyword), str) else [])
    for each in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from values_of(each, keyword)


def test_an_editor_completes_the_keys_of_a_file(server: LanguageServer, data_dir: Path):
    document = data_dir / "keys.yaml"
    server.diagnostics({document: modeline(FILES["watchers"]) + "- name: scans\n  \n"})
    assert {"path", "patterns", "debounce_ms"} <= server.completions(document, 3, 3)
