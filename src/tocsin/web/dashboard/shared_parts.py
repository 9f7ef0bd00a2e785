"""Shortening of the OpenAPI document: parts that many operations share are moved into its components."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tocsin.rest.describing.responses import CODES, PROBLEM_JSON

# A reference is about as long as a short parameter; parts that are used less often are easier to read in place.
SHARED_FROM = 4


def share_parts(document: dict[str, Any]) -> None:
    """Move repeated responses and parameters of all operations into the components, and drop redundant texts."""
    operations = [says for methods in document["paths"].values() for says in methods.values()]
    _shorten(document)
    components = document["components"]
    for says in operations:
        _name_bodies(says, components["schemas"])
    components["responses"] = _share_problems(operations)
    components["parameters"] = _share_parameters(operations)


def _name_bodies(says: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Give the schemas of bodies what client generators need: a name, and no null for absent fields."""
    for content in says.get("requestBody", {}).get("content", {}).values():
        given = [each for each in content["schema"].get("anyOf", ()) if each != {"type": "null"}]
        schema = content["schema"] = given[0] if len(given) == 1 else content["schema"]
        if "properties" in schema:
            name = f"{says['operationId'].title().replace('_', '')}Body"
            schemas[name] = {**schema, "title": name}
            content["schema"] = {"$ref": f"#/components/schemas/{name}"}


def _share_problems(operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Replace responses that only contain problems by references to one response for the same codes."""
    shared: dict[str, Any] = {}
    for says in operations:
        for status, answer in says["responses"].items():
            if [*answer.get("content", {})] == [PROBLEM_JSON]:
                name = ".".join(answer[CODES])
                shared[name] = answer
                says["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return dict(sorted(shared.items()))


def _share_parameters(operations: list[dict[str, Any]]) -> dict[str, Any]:
    """Replace the parameters that many operations share by references; of one name, the most frequent is shared."""
    counts = Counter(_text(each) for says in operations for each in says.get("parameters", ()))
    shared: dict[str, Any] = {}
    names: dict[str, str] = {}
    for text, count in counts.most_common():
        parameter = json.loads(text)
        if count >= SHARED_FROM and parameter["name"] not in shared:
            shared[parameter["name"]] = parameter
            names[text] = parameter["name"]
    for says in operations:
        if "parameters" in says:
            says["parameters"] = [
                {"$ref": f"#/components/parameters/{names[text]}"} if (text := _text(each)) in names else each
                for each in says["parameters"]
            ]
    return dict(sorted(shared.items()))


def _text(parameter: Mapping[str, Any]) -> str:
    return json.dumps(parameter, sort_keys=True)


def _shorten(document: dict[str, Any]) -> None:
    """Drop titles that only repeat the name of a field, and repeated descriptions of a parameter."""
    for schema in _schemas(document):
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
    for methods in document["paths"].values():
        for says in methods.values():
            for parameter in says.get("parameters", ()):
                parameter["schema"].pop("title", None)
                if parameter["schema"].get("description") == parameter.get("description"):
                    parameter["schema"].pop("description", None)


def _schemas(part: object) -> Iterator[dict[str, Any]]:
    """Yield each object that may be a schema with properties."""
    if isinstance(part, list):
        for item in part:
            yield from _schemas(item)
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict) and all(isinstance(v, dict) for v in part["properties"].values()):
            yield part
        for value in part.values():
            yield from _schemas(value)
