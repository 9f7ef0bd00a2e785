"""What is made from the code is as the code has it, and nothing that the code has is missing."""

import re
from collections.abc import Iterable

import pytest
from tests.docs.pages import PAGES, ROOT, as_pattern, name_of
from tools import docs

from tocsin.bot.commands import ADMIN_DESCRIPTIONS, DESCRIPTIONS
from tocsin.bot.executor import TOO_MANY
from tocsin.bot.handler import PENDING
from tocsin.channels.registry import discover
from tocsin.cli.main import commands_by_name
from tocsin.core.audit.actions import AuditAction
from tocsin.core.config.core_variables import CORE_VARIABLES
from tocsin.features.registry import find_features
from tocsin.messaging.inbound.model import Backlog
from tocsin.rest.problems import PROBLEMS
from tocsin.web.gateway.openapi import describe_gateway
from tocsin.web.http.metrics import Metrics

DOCS = {name_of(page): page.read_text("utf-8") for page in PAGES}
CHANNELS = [adapter.spec for adapter in discover().classes]
GATEWAY = "http://127.0.0.1:8100"
ROUTES = [(path, method) for path, methods in describe_gateway([])["paths"].items() for method in methods]
# All but those that the client adds for the process itself.
METRICS = sorted(
    set(re.findall(r"^# TYPE (tocsin_\w+?)(?:_created)? ", Metrics().text({}, Backlog(), 0).decode(), re.M))
)
FEATURES = find_features().features
VARIABLES = [
    v.name for v in (*CORE_VARIABLES, *(v for described in (*CHANNELS, *FEATURES) for v in described.variables))
]


def test_generated_files_are_fresh():
    assert [str(path.relative_to(ROOT)) for path in docs.stale()] == [], "run `make docs`"


def test_every_setting_is_documented():
    example = (ROOT / ".env.example").read_text("utf-8")
    assert not_in_table(VARIABLES, "docs/reference/settings.md") == []
    assert [name for name in VARIABLES if f"{name}=" not in example] == []


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_every_route_is_documented_with_an_example(path: str, method: str):
    assert f"## {method.upper()} {path}\n" in DOCS["docs/http.md"]
    assert re.search(f"curl .*{re.escape(GATEWAY)}{as_pattern(path)}['?\n ]", DOCS["docs/http.md"])


def test_every_command_is_documented():
    page = DOCS["docs/reference/commands.md"]
    assert [name for name in commands_by_name() if f"\n## tocsin {name}\n" not in page] == []


@pytest.mark.parametrize("kind", [spec.kind for spec in CHANNELS])
def test_every_channel_has_a_page_that_the_readme_links_to(kind: str):
    assert f"docs/channels/{kind}.md" in DOCS
    assert f"](docs/channels/{kind}.md)" in DOCS["README.md"]


def test_every_problem_is_documented():
    assert not_in_table(PROBLEMS, "docs/reference/problems.md") == []


def test_every_audit_action_is_documented():
    assert not_in_table([action.name for action in docs.declared(AuditAction)], "docs/reference/audit-actions.md") == []


def test_every_metric_is_documented():
    assert not_in_table(METRICS, "docs/metrics.md") == []


FURTHER = [command.name for feature in find_features().features for command in feature.bot_commands]


def test_every_command_of_the_bot_is_documented():
    names = [*DESCRIPTIONS, *FURTHER, *ADMIN_DESCRIPTIONS]
    assert not_in_table([f"/{name}" for name in names], "docs/bot.md") == []


@pytest.mark.parametrize("sentence", [TOO_MANY, PENDING])
def test_what_the_bot_says_by_specification_is_documented_word_for_word(sentence: str):
    assert sentence in DOCS["docs/bot.md"]


def test_a_page_without_its_markers_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no markers here\n")
    with pytest.raises(docs.DocsError, match="lacks the markers"):
        docs.filled(page, {"settings": "table"})


def test_filling_a_page_twice_changes_nothing(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- settings -->\n<!-- /settings -->\n\nafter\n")
    once = docs.filled(page, {"settings": "| a |"})
    page.write_text(once)
    assert docs.filled(page, {"settings": "| a |"}) == once
    assert once == "before\n\n<!-- settings -->\n\n| a |\n\n<!-- /settings -->\n\nafter\n"


def not_in_table(names: Iterable[str], page: str) -> list[str]:
    """Return the names that have no row in a page; raise when there are no names to look for."""
    looked_for = list(names)
    assert looked_for
    return [name for name in looked_for if f"| `{name}` |" not in DOCS[page]]
