"""schema: the JSON Schemas of the files that people write, for editors."""

import argparse

from tocsin.cli.opening import open_settings
from tocsin.core.config.data_dir import require_usable
from tocsin.core.errors import ConfigError
from tocsin.core.reading.value import shorten, suggestion
from tocsin.features.file_schemas import as_text, load_schema, write_schemas, written_files
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.text import readable

_SCHEMA_HINT = "`tocsin schema` lists them"


def configure_schema(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "examples:\n  tocsin schema\n  tocsin schema watchers > watchers.json\n  tocsin schema --write"
    parser.add_argument("name", nargs="?", default="", help="name of the schema to print (default: list all)")
    parser.add_argument("--write", action="store_true", help="write all schemas to `schemas` in the data directory")
    parser.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    settings, installed = open_settings(options, out, late=False)
    files = written_files(installed.features)
    name = readable(arguments.name)
    if name and name not in files:
        raise ConfigError(f"unknown schema: {shorten(name)}{suggestion(name, files)}", hint=_SCHEMA_HINT)
    if arguments.write:
        require_usable(settings.data_dir)
        paths = write_schemas(settings.data_dir, [files[name]] if name else files.values())
        out.effect_done("the schemas were written")
        return out.answer([str(path) for path in paths], *map(str, paths))
    if name:
        schema = load_schema(files[name])
        if out.as_json:
            out.document(schema)
        out.text(as_text(schema), end="")
        return DONE
    found = [each._asdict() | {"file": str(settings.data_dir / each.place)} for each in files.values()]
    keys = ("name", "file", "summary")
    return out.listing(
        [{key: each[key] for key in keys} for each in found], keys, ([each[key] for key in keys] for each in found)
    )
