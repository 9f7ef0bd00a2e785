"""voice: download the speech model for voice messages."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

from tocsin.assembly.full.receiving import MODELS_FOLDER
from tocsin.cli.opening import open_settings
from tocsin.core.config.core_variables import VOICE_MODEL_URL
from tocsin.core.errors import ConfigError
from tocsin.core.http.download import download
from tocsin.providers.files.speech import BASE_EN, PACKAGES, SpeechModel, compute_digest
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import Console, is_terminal
from tocsin.terminal.packages import how_to_install


def configure_voice(parser: argparse.ArgumentParser) -> None:
    commands = add_subcommands(parser, {"install": "download the English speech model (148 MB) and check it"})
    parser.epilog = commands["install"].epilog = "example: tocsin voice install"
    commands["install"].set_defaults(run=_install)


def _install(_: argparse.Namespace, options: Options, out: Console) -> int:
    settings, _discovery = open_settings(options, out)
    if missing := [package for package in PACKAGES if find_spec(package) is None]:
        raise ConfigError(f"{', '.join(missing)}: package not installed", hint=how_to_install(missing[0]))
    model = replace(BASE_EN, url=settings[VOICE_MODEL_URL] or BASE_EN.url)
    path = settings.data_dir / MODELS_FOLDER / model.file_name
    if path.is_file() and path.stat().st_size == model.size and compute_digest(path) == model.sha256:
        out.line(f"{path} is already installed and its checksum is correct.")
    else:

        def fetch(on_progress: Callable[[int], None]) -> None:
            download(model.url, path, size=model.size, digest=model.sha256, on_progress=on_progress)

        try:
            _with_bar(out, model, fetch)
        except OSError as error:
            raise ConfigError(
                f"cannot write {path}: {error.strerror}",
                hint="free disk space, and check the permissions of the directory",
            ) from None
        out.effect_done(f"{path} was installed")
        out.line(f"Installed {path}. The bot can now read voice messages.")
    return out.answer({"ok": True, "path": str(path), "sha256": model.sha256})


def _with_bar(out: Console, model: SpeechModel, fetch: Callable[[Callable[[int], None]], None]) -> None:
    if out.quiet or not is_terminal(sys.stderr):
        fetch(lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(model.file_name, total=model.size)
        fetch(lambda received: progress.update(task, completed=received))
