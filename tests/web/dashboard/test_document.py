"""The OpenAPI document: what is said once, and that nothing got lost by it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_asyncio
from jsonschema_rs import Draft202012Validator
from tests.web.dashboard.conftest import open_program

from tocsin.assembly.full.dashboard import dashboard_document
from tocsin.rest.problems import PROBLEMS
from tocsin.testing.fakes import ScriptedTransport


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async with open_program(tmp_path_factory.mktemp("document"), ScriptedTransport()) as program:
        return dashboard_document(program)


def references(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for item in part:
            yield from references(item)
    if isinstance(part, dict):
        if isinstance(found := part.get("$ref"), str):
            yield found
        for value in part.values():
            yield from references(value)


def test_the_document_is_short_and_each_reference_leads_somewhere(document):
    assert len(json.dumps(document, separators=(",", ":"))) < 380_000
    for reference in set(references(document)):
        part: Any = document
        for key in reference.removeprefix("#/").split("/"):
            part = part[key]
        assert part


def test_a_problem_answer_is_shared_and_names_the_codes_of_its_status(document):
    for name, answer in document["components"]["responses"].items():
        assert answer["x-problems"] == name.split(".")
        assert len({PROBLEMS[code].status for code in answer["x-problems"]}) == 1
        assert [*answer["content"]] == ["application/problem+json"]
    cancel = document["paths"]["/api/runs/{run_id}/cancel"]["post"]["responses"]
    assert cancel["409"] == {"$ref": "#/components/responses/invalid-transition"}
    # What may be a send result as well stands where it is used.
    sent = document["paths"]["/api/msg/send"]["post"]["responses"]["422"]
    assert [*sent["content"]] == ["application/problem+json", "application/json"]
    assert sent["x-problems"] == ["idempotency-key-reused", "validation-failed"]


def test_each_default_is_a_value_that_its_schema_takes(document):
    wrong = []
    for name, schema in document["components"]["schemas"].items():
        for field, says in schema.get("properties", {}).items():
            if "default" in says and "$ref" not in str(says):
                wrong += [
                    f"{name}.{field}: {error.message}"
                    for error in Draft202012Validator(says).iter_errors(json.loads(json.dumps(says["default"])))
                ]
    assert wrong == []


def test_a_field_called_title_is_kept(document):
    assert "title" in document["components"]["schemas"]["Problem"]["properties"]
    assert "title" in document["components"]["schemas"]["NotificationRecord"]["properties"]
