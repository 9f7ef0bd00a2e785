"""Packages that only some commands need: what goes without each, and how to install it."""

from tocsin.core.errors import ConfigError

# package: the extra that brings it, and what there is not without it.
EXTRAS = {
    "shtab": ("completion", "no shell completion"),
    "trustme": ("demo", "no `tocsin demo`"),
    "aiosmtpd": ("demo", "no `tocsin demo`"),
    "pydantic_ai": ("chat", "no chat model"),
    "av": ("voice", "no voice messages"),
    "pywhispercpp": ("voice", "no voice messages"),
}


def how_to_install(package: str) -> str:
    """Return the command that brings a package of an extra, or what to do about one that must be there."""
    if package in EXTRAS:
        return f'pip install "tocsin[{EXTRAS[package][0]}]"'
    return "install Tocsin again: this installation is not complete"


def not_installed(error: ModuleNotFoundError) -> ConfigError | None:
    """Return the sentence about a package that is not there; `None` when it is a module of our own."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "tocsin"}:
        return None
    return ConfigError(f"{package}: package not installed", hint=how_to_install(package))
