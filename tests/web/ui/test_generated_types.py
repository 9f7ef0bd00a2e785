"""The types of the records are made from the API's own description; `make docs` keeps them fresh."""

from typing import Any

import pytest
from tools.ui_types import type_of, types_file


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "integer"}, "number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"enum": ["up", "down"], "type": "string"}, '"up" | "down"'),
        ({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "(number | null)[]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[string, number]"),
        ({"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Run"}}, "Record<string, Run>"),
        ({}, "unknown"),
    ],
)
def test_a_schema_becomes_the_type_that_it_describes(schema: dict[str, Any], type_: str):
    assert type_of(schema) == type_


def test_a_record_has_its_fields_and_an_address_its_answer():
    run = {
        "type": "object",
        "description": "A run.",
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "n": {}},
    }
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Run"}}}}}
    text = types_file(
        {
            "components": {"schemas": {"Run": run}},
            "paths": {"/api/last": {"get": {"responses": answer}}, "/api/runs/{id}": {"get": {"responses": answer}}},
        }
    )
    assert "/** A run. */\nexport interface Run {\n  id: string;\n  n?: unknown;\n}\n" in text
    assert text.endswith('export interface GetAnswers {\n  "/api/last": Run;\n}\n')
