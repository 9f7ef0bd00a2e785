"""openapi: the description of the REST API, for generating clients."""

import argparse
from typing import Any

from tocsin.assembly.full.dashboard import dashboard_document
from tocsin.assembly.program import App
from tocsin.cli.running import with_app
from tocsin.terminal.options import Options
from tocsin.terminal.output import DONE, Console


def configure_openapi(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: tocsin openapi > openapi.json"
    parser.set_defaults(run=_openapi)


def _openapi(_: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> dict[str, Any]:
        return dashboard_document(app)

    out.document(with_app(options, out, work))
    return DONE
