"""The JSON Schemas of the files that people write, made from the declarations by which the files are read."""

import json
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from tocsin.core.errors import ConfigError
from tocsin.core.plugins import describe_error
from tocsin.core.reading.json_schema import file_schema
from tocsin.core.storage.files import make_directory, write_atomically
from tocsin.features.contract import CORE_FILES, Feature, WrittenFile

FOLDER = "schemas"  # of the data directory


def written_files(features: Iterable[Feature]) -> dict[str, WrittenFile]:
    """Return the files of the core and of features, by the name of their schema, sorted."""
    found = [*CORE_FILES, *(file for feature in features for file in feature.files)]
    return {file.name: file for file in sorted(found)}


def load_schema(file: WrittenFile) -> dict[str, Any]:
    """Return the JSON Schema of a file; raise ConfigError if a plug-in's declaration cannot be loaded."""
    module, _, name = file.declaration.partition(":")
    try:
        declared = getattr(import_module(module), name)
        if callable(declared):
            declared = declared()
        return declared if isinstance(declared, dict) else file_schema(f"{file.place} of Tocsin", declared)
    except Exception as error:  # code of strangers: it may raise anything
        reason = f"the schema {file.name} ({file.declaration}) cannot be made: {describe_error(error)}"
        raise ConfigError(reason, hint="report it to the author of the plug-in") from error


def as_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def modeline(file: WrittenFile) -> str:
    """Return the line that names to editors the schema of a file, as `write_schemas` writes it."""
    return f"# yaml-language-server: $schema={'../' * file.place.count('/')}{FOLDER}/{file.name}.json\n"


def write_schemas(data_dir: Path, files: Iterable[WrittenFile]) -> list[Path]:
    """Write schemas into the data directory and return their paths; raise ConfigError and OSError."""
    texts = {data_dir / FOLDER / f"{file.name}.json": as_text(load_schema(file)) for file in files}
    make_directory(data_dir / FOLDER)
    for path, text in texts.items():
        write_atomically(path, text)
    return list(texts)
