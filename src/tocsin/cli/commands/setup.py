"""init, config, completion: the commands that set Tocsin up."""

import argparse
import os
import re
from pathlib import Path

import tocsin
from tocsin.assembly.light import find_installed
from tocsin.cli.main import build_parser
from tocsin.cli.opening import open_settings
from tocsin.core.config.settings import Settings
from tocsin.core.config.spelling import display_value
from tocsin.core.config.variables import (
    DASHBOARD_HOST,
    DASHBOARD_PASS,
    DASHBOARD_PORT,
    DASHBOARD_USER,
    DATA_DIR,
    GATEWAY_PORT,
    GATEWAY_TOKEN,
    Variable,
)
from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import make_directory
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.text import own_command

# Not one of the common names that the security check warns about.
LOGIN_NAME = "operator"
SHELLS = ("bash", "zsh", "tcsh")


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin init`."""
    parser.epilog = "examples:\n  tocsin init\n  tocsin init --here"
    parser.add_argument(
        "--here",
        action="store_true",
        help="write to the working directory instead of the data directory",
    )
    parser.set_defaults(run=_init)


def configure_config(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin config`."""
    parser.epilog = "example: tocsin config show"
    commands = add_subcommands(
        parser, {"show": "show the settings that are set, with their sources; secrets are masked"}
    )
    commands["show"].epilog = "example: tocsin config show --json"
    commands["show"].add_argument("--all", action="store_true", help="include settings that have their default value")
    commands["show"].set_defaults(run=_config_show)


def configure_completion(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tocsin completion`."""
    parser.epilog = 'example: eval "$(tocsin completion bash)"'
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=_completion)


def _init(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    from secrets import token_urlsafe

    from tocsin.cli.commands.env_template import env_template

    found = Settings.load(data_dir=options.data_dir and _absolute(options.data_dir))
    path = _new_env_file(options, found, here=arguments.here)
    settings = {
        GATEWAY_TOKEN.name: token_urlsafe(24),
        DASHBOARD_USER.name: LOGIN_NAME,
        DASHBOARD_PASS.name: token_urlsafe(18),
    }
    if options.data_dir and path.parent != found.data_dir:
        settings[DATA_DIR.name] = _quoted(str(found.data_dir))
    installed = find_installed()
    text = env_template([channel.spec for channel in installed.channels], installed.features, settings)
    try:
        if path.parent == found.data_dir:
            make_directory(path.parent)
        # Create the file with its final mode, so that other users can never read the password.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(
            f"{path} already exists", hint="edit it, or move it away and run `tocsin init` again"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint="check the directory") from None
    out.effect_done(f"{path} was written")
    if out.as_json:
        out.document({"env_file": str(path), "dashboard_user": LOGIN_NAME})
        return DONE
    command = own_command(options)
    out.line(f"wrote {path} (readable only by you) with a random dashboard password and gateway token")
    if not options.env_file and path.parent != found.data_dir:
        out.note("tocsin: only commands that run in this directory read this file")
    elif not options.env_file and found.env_file not in {None, path}:
        out.note(f"tocsin: in this directory, Tocsin reads {found.env_file} instead of the new file")
    gateway, dashboard = (f"http://{DASHBOARD_HOST.default}:{port.default}" for port in (GATEWAY_PORT, DASHBOARD_PORT))
    out.line("next steps:")
    out.line(f"  1. set the credentials of a channel in {path.name}; {_channel_pages()} explains where to get them")
    out.line(f"  2. {command} doctor              # shows what is missing or wrong, and how to fix it")
    out.line(f"  3. {command} up                  # gateway {gateway}, dashboard {dashboard}")
    out.line(f"  4. {command} dashboard link      # prints a sign-in link")
    return DONE


def _channel_pages() -> Path:
    """Return the folder of the pages on channels in this installation, as a path from here if it is below."""
    folder = (Path(tocsin.__file__).parent / "docs" / "channels").resolve()
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _new_env_file(options: Options, settings: Settings, *, here: bool) -> Path:
    """Return the path for a new `.env`: in the data directory, or in the checkout that this program runs from."""
    if options.env_file:
        return _absolute(options.env_file)
    if here or _is_checkout(Path()):
        return _absolute(Path(".env"))
    return settings.data_dir / ".env"


def _is_checkout(directory: Path) -> bool:
    """Return True if this program runs from a checkout in `directory`, as an editable installation does."""
    package = Path(tocsin.__file__).parent
    try:
        return package.samefile(directory / "src" / "tocsin")
    except OSError:
        return False


def _absolute(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except (OSError, RuntimeError):
        raise ConfigError(
            f"{path} is not reachable", hint="the working directory no longer exists; change to another one"
        ) from None


def _quoted(value: str) -> str:
    """Quote `value` for a `.env` file if a blank or a `#` would end it."""
    if re.fullmatch(r"[\w./:@%+=,~-]*", value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _config_show(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    settings, _ = open_settings(options, out)
    told = {DATA_DIR.name, *settings.sources}
    chosen = [v for v in settings.variables if out.as_json or arguments.all or v.name in told]
    if out.as_json:
        out.document([_document(settings, variable) for variable in chosen])
        out.tell_doubts()
        return DONE
    rows = [(v.name, display_value(settings, v), settings.sources.get(v.name, "default")) for v in chosen]
    out.table(("setting", "value", "source"), rows)
    if not arguments.all:
        out.note(settings.read_from)
        out.note("use `--all` to include the settings that have their default value")
    out.tell_doubts()
    return DONE


def _document(settings: Settings, variable: Variable[object]) -> dict[str, object]:
    return {
        "name": variable.name,
        "value": display_value(settings, variable),
        "source": settings.sources.get(variable.name, "default"),
        "secret": variable.secret,
        "description": variable.doc,
    }


def _completion(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    import shtab

    script = shtab.complete(build_parser([], everything=True), shell=arguments.shell)
    if out.as_json:
        out.document({"shell": arguments.shell, "script": script})
    out.text(script)
    return DONE
