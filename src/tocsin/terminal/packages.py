"""Optional packages: what does not work without each, and how to install it."""

from tocsin.core.errors import ConfigError

# package: the extra that brings it, and what there is not without it.
EXTRAS = {
    "shtab": ("completion", "no shell completion"),
    "aiohttp": ("demo", "no `tocsin demo`"),
    "trustme": ("demo", "no `tocsin demo`"),
    "aiosmtpd": ("demo", "no `tocsin demo`"),
    "pydantic_ai": ("chat", "no chat model"),
    "av": ("voice", "no voice messages"),
    "pywhispercpp": ("voice", "no voice messages"),
}


def how_to_install(package: str) -> str:
    """Return the command that installs a package of an extra, or the remedy for a missing required one."""
    if package in EXTRAS:
        return f'pip install "tocsin[{EXTRAS[package][0]}]"'
    return "install Tocsin again: this installation is not complete"


def not_installed(error: ModuleNotFoundError) -> ConfigError | None:
    """Return the error about a missing package; None if the missing module is our own."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "tocsin"}:
        return None
    return ConfigError(f"{package}: package not installed", hint=how_to_install(package))
