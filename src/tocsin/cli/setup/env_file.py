"""The `.env` file: its place and its creation."""

import os
from pathlib import Path
from secrets import token_urlsafe
from typing import NamedTuple

import tocsin
from tocsin.assembly.light import find_installed
from tocsin.cli.setup.env_template import env_template
from tocsin.core.config.core_variables import DASHBOARD_PASS, DASHBOARD_USER, DATA_DIR, GATEWAY_TOKEN
from tocsin.core.config.env_file import quoted
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import make_directory
from tocsin.features.file_schemas import write_schemas, written_files
from tocsin.terminal.options import Options

# Not one of the common names that the security check warns about.
LOGIN_NAME = "operator"


class NewEnvFile(NamedTuple):
    """A `.env` file, and the settings that applied before it was written."""

    path: Path
    before: Settings
    problem: str = ""  # why the schemas for editors were not written beside it


def create_env_file(options: Options, *, here: bool) -> NewEnvFile:
    """Write a new `.env` with a random login and gateway token; raises ConfigError if there is one."""
    found = Settings.load(data_dir=options.data_dir and _absolute(options.data_dir))
    path = _place(options, found, here=here)
    settings = {
        GATEWAY_TOKEN.name: token_urlsafe(24),
        DASHBOARD_USER.name: LOGIN_NAME,
        DASHBOARD_PASS.name: token_urlsafe(18),
    }
    if options.data_dir and path.parent != found.data_dir:
        settings[DATA_DIR.name] = quoted(str(found.data_dir))
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
    problem = ""
    if path.parent == found.data_dir:
        try:
            write_schemas(found.data_dir, written_files(installed.features).values())
        except (ConfigError, OSError) as error:  # of a plug-in, or a full disk
            problem = str(error)
    return NewEnvFile(path, found, problem)


def channel_pages() -> Path:
    """Return the folder of the pages on channels in this installation, as a path from here if it is below."""
    folder = (Path(tocsin.__file__).parent / "docs" / "channels").resolve()
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _place(options: Options, settings: Settings, *, here: bool) -> Path:
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
