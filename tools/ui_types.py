"""The types of the browser's modules, made from the OpenAPI document of the REST API."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

HEAD = """\
// Made by `make docs` from the OpenAPI document of the REST API. Do not edit.
"""
_REF = "#/components/schemas/"
_WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def types_file(document: Mapping[str, Any]) -> str:
    """Return the module that declares every record of the API, and what each address without names answers."""
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    records = "\n".join(declared(name, schemas[name]) for name in sorted(schemas))
    answers = "\n".join(f"  {json.dumps(path)}: {type_};" for path, type_ in _answers(document["paths"]))
    heading = "/** What `api.get` answers, by the address. */"
    return f"{HEAD}{records}\n{heading}\nexport interface GetAnswers {{\n{answers}\n}}\n"


def declared(name: str, schema: Schema) -> str:
    """Return the declaration of one schema."""
    says = " ".join(str(schema.get("description", "")).split("\n\n")[0].split())
    comment = f"/** {says} */\n" if says else ""
    if schema.get("type") != "object" or "properties" not in schema:
        return f"{comment}export type {name} = {type_of(schema)};"
    return f"{comment}export interface {name} {{\n{''.join(_fields(schema, '  '))}}}"


def type_of(schema: Schema) -> str:
    """Return the type that a schema describes; `unknown` where it allows anything."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REF)
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(type_of(choice) for choice in choices))
    if schema.get("type") == "array":
        return _array(schema)
    if schema.get("type") == "object":
        return _object(schema)
    return _WORDS.get(str(schema.get("type")), "unknown")


def _array(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(type_of(item) for item in schema['prefixItems'])}]"
    item = type_of(schema.get("items", {}))
    return f"({item})[]" if " | " in item else f"{item}[]"


def _object(schema: Schema) -> str:
    if "properties" in schema:
        return f"{{ {''.join(_fields(schema, '')).replace(chr(10), ' ')}}}"
    more = schema.get("additionalProperties", True)
    return f"Record<string, {type_of(more) if isinstance(more, Mapping) else 'unknown'}>"


def _fields(schema: Schema, indent: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        yield f"{indent}{name}{'' if name in required else '?'}: {type_of(field)};\n"


def _answers(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for path in sorted(paths):
        content = paths[path].get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        if "{" not in path and "application/json" in content:
            yield path, type_of(content["application/json"]["schema"])
