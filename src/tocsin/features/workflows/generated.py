"""The keys that the workflow editor in the browser completes; `make docs` generates them from the JSON Schema."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tocsin.features.contract import GeneratedFiles
from tocsin.features.workflows.language.names import RUN, STEP
from tocsin.features.workflows.language.published_schema import published_schema

Schema = Mapping[str, Any]
Keys = dict[str, dict[str, Any]]

HEAD = """\
// Made by `make docs` from the schema of workflow files. Do not edit.

/**
 * What a key means, which words it takes, and what stands below it: `keys`, or `each` below names that people choose.
 * @typedef {{says: string, words?: string[], keys?: Keys, each?: Keys, steps?: boolean}} Key
 */
/** @typedef {{[name: string]: Key}} Keys */
"""
_STEP = "_step"


def workflow_keys_file() -> str:
    """Return the module with every key of a workflow file, and the names of a run and a step that texts may use."""
    schema = published_schema()
    step = [name for name in STEP if name != "outputs"]
    steps = {name.removesuffix(_STEP): each for name, each in schema["$defs"].items() if name.endswith(_STEP)}
    by_kind = {kind: _keys(each) for kind, each in steps.items()}
    common = {
        name: key
        for name, key in by_kind["shell"].items()
        if name != "type" and all(keys.get(name) == key for keys in by_kind.values())
    }
    words = [word for keys in by_kind.values() for word in keys["type"]["words"]]
    common["type"] = {"says": by_kind["shell"]["type"]["says"], "words": words}
    own = {
        word: {name: key for name, key in keys.items() if name not in common}
        for keys in by_kind.values()
        for word in keys["type"]["words"]
    }
    parts = [
        _constant("WORKFLOW_KEYS", "/** Keys at the top of the file. @type {Keys} */", _lines(_keys(schema))),
        _constant("STEP_KEYS", "/** Keys of every step. @type {Keys} */", _lines(common)),
        _constant("KIND_KEYS", "/** Keys of steps of one type. @type {Record<string, Keys>} */", _kinds(own)),
    ]
    names = f"export const RUN_NAMES = {json.dumps(RUN)};\nexport const STEP_NAMES = {json.dumps(step)};\n"
    return HEAD + "".join(parts) + names


def _constant(name: str, comment: str, lines: Iterator[str]) -> str:
    return f"{comment}\nexport const {name} = {{\n{''.join(lines)}}};\n"


def _kinds(own: Mapping[str, Keys]) -> Iterator[str]:
    for kind, keys in own.items():
        yield f"  {json.dumps(kind)}: {{\n{''.join(f'  {line}' for line in _lines(keys))}  }},\n"


def _lines(keys: Keys) -> Iterator[str]:
    for name, key in keys.items():
        yield f"  {json.dumps(name)}: {json.dumps(key, ensure_ascii=False)},\n"


def _keys(schema: Schema) -> Keys:
    return {name: _key(each) for name, each in schema["properties"].items()}


def _key(schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {"says": schema.get("description", "")}
    if words := _words(schema):
        found["words"] = words
    each = schema.get("additionalProperties")
    if "properties" in schema:
        found["keys"] = _keys(schema)
    elif isinstance(each, Mapping) and "properties" in each:
        found["each"] = _keys(each)
    elif "$ref" in schema.get("items", {}):
        found["steps"] = True
    return found


def _words(schema: Schema) -> list[str]:
    """Return the words that a value can be; those of a choice, or `true` and `false`."""
    for one in (schema, *schema.get("anyOf", ()), schema.get("items", {})):
        if "enum" in one:
            return [str(word) for word in one["enum"]]
    return ["true", "false"] if schema.get("type") == "boolean" else []


GENERATED: GeneratedFiles = {"ui/workflow_keys.js": workflow_keys_file}
