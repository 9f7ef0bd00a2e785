"""The page of the operations of the REST API, made from its OpenAPI document."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tocsin.assembly.full.dashboard import dashboard_document
from tocsin.assembly.light import Installed, load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.channels.contract import OutboundAdapter
from tocsin.features.contract import Feature


class DescribedOperation(NamedTuple):
    """One operation, as the table shows it."""

    area: str
    method: str
    path: str
    scope: str
    summary: str
    is_extension: bool


def described_operations(document: Mapping[str, Any]) -> list[DescribedOperation]:
    """Return the operations of an OpenAPI document, area by area."""
    return sorted(_operations(document["paths"]), key=lambda each: each.area)


def _operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[DescribedOperation]:
    for path, methods in paths.items():
        for method, says in methods.items():
            extension = bool(says.get("x-extension"))
            yield DescribedOperation(says["tags"][0], method.upper(), path, says["x-scope"], says["summary"], extension)


def dashboard_api(channels: Sequence[type[OutboundAdapter]], features: Sequence[Feature]) -> dict[str, Any]:
    """Return the OpenAPI document of the core and of these features."""
    with TemporaryDirectory() as folder:
        environ = {"TOCSIN_DATA_DIR": folder, "REDIS_URL": "off"}
        settings, _ = load_settings(environ=environ, env_file=Path("/dev/null"))

        async def describe() -> dict[str, Any]:
            async with open_app(settings, Installed(channels, features), direct_transport) as app:
                return dashboard_document(app)

        return asyncio.run(describe())
