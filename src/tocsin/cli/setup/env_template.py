"""The text of `.env.example` and of a new `.env`: every setting with its description, generated from the tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tocsin.channels.contract import ChannelSpec
from tocsin.core.config.core_variables import CORE_VARIABLES
from tocsin.core.config.spelling import format_for_env
from tocsin.core.config.variables import Variable
from tocsin.features.contract import Feature

_HEAD = (
    "# Settings of Tocsin. Remove the # at the start of a line to set a value.\n"
    "# Precedence: environment, NAME_FILE (a file that contains a secret), this file. Tocsin reads one file:\n"
    "# the one given with --env-file, else .env in the working directory, else .env in the data directory.\n"
)


def env_template(specs: Iterable[ChannelSpec], features: Iterable[Feature], values: Mapping[str, str]) -> str:
    """Return a `.env` text that sets the settings in `values` and comments out all others."""
    blocks = [_HEAD, *_block("Core", CORE_VARIABLES, values)]
    for spec in specs:
        blocks += _block(f"{spec.label} ({spec.kind})", spec.variables, values)
    for feature in features:
        if feature.variables:
            blocks += _block(feature.label, feature.variables, values)
    return "\n".join(blocks) + "\n"


def default_text(variable: Variable[Any]) -> str:
    return variable.shown_default or format_for_env(variable.default)


def _block(title: str, variables: Iterable[Variable[Any]], values: Mapping[str, str]) -> Iterator[str]:
    yield f"\n# --- {title} ---"
    for variable in variables:
        yield f"# {variable.doc}{' Required.' if variable.required else ''}"
        if variable.name in values:
            yield f"{variable.name}={values[variable.name]}"
        else:
            example = "" if variable.shown_default else default_text(variable)
            yield f"#{variable.name}={example}"
