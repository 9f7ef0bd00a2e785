"""Reading secrets from a `.env` file, and removing them from it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from tocsin.core.config.settings import read_env_file
from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import read_limited, write_atomically


class EnvFile(NamedTuple):
    """The contents of a `.env` file when it was read."""

    path: Path
    content: bytes
    secrets: Mapping[str, str]  # the values of the requested settings


def read_secrets(path: Path, names: Collection[str]) -> EnvFile:
    """Return the values of these names in a file; raise ConfigError if it cannot be read."""
    content = read_limited(path)
    values = read_env_file(path).values
    return EnvFile(path, content, {name: values[name] for name in names if values.get(name, "").strip()})


def remove_secrets(file: EnvFile, mode: int) -> None:
    """Replace the bindings of the secrets with comments; raise ConfigError if the file has changed."""
    from io import StringIO

    from dotenv.parser import parse_stream

    if read_limited(file.path) != file.content:
        raise ConfigError(
            f"{file.path} was changed during the import",
            hint="run the import again; the vault already contains the values",
        )
    kept = []
    for binding in parse_stream(StringIO(file.content.decode("utf-8-sig"), newline="")):
        text = binding.original.string
        if binding.key in file.secrets:
            blank = text[: len(text) - len(text.lstrip())]
            text = f"{blank}# {binding.key} is in the vault\n"
        kept.append(text)
    write_atomically(file.path, "".join(kept), mode)
