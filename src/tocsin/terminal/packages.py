"""Optional and required packages: what needs each, and how to install it."""

from importlib.util import find_spec

from tocsin.core.errors import ConfigError

# package: the extra that installs it, and what is unavailable without it.
EXTRAS = {
    "shtab": ("completion", "no shell completion"),
    "aiohttp": ("demo", "no `tocsin demo`"),
    "trustme": ("demo", "no `tocsin demo`"),
    "aiosmtpd": ("demo", "no `tocsin demo`"),
    "pydantic_ai": ("chat", "no chat model"),
    "av": ("voice", "no voice messages"),
    "pywhispercpp": ("voice", "no voice messages"),
}
# Packages of every installation, most of which are imported only when needed. Packages of a single channel are declared
# by that channel.
NEEDED_PACKAGES = {
    "aiohappyeyeballs": "no provider can be called",
    "argon2": "the dashboard has no login",
    "cronsim": "no cron job can run",
    "dotenv": "no .env file can be read",
    "fastapi": "the dashboard cannot start",
    "hiredis": "Redis is slower",
    "httptools": "no provider can be called, and no service can start",
    "idna": "no address with letters beyond ASCII can be used",
    "markdown_it": "the bot cannot format its answers",
    "nacl": "webhook calls with an Ed25519 signature are rejected",
    "pathspec": "no watcher can run",
    "platformdirs": "the data directory has to be set",
    "prometheus_client": "no service can start",
    "pydantic": "the dashboard cannot start",
    "pypdf": "the bot reads no PDF",
    "pyrage": "the vault cannot be opened",
    "re2": "no trigger rule can be used",
    "redis": "Redis cannot be used",
    "regex": "long texts with letters beyond ASCII cannot be split",
    "rich": "no table can be shown on a terminal",
    "ruamel.yaml": "no YAML file can be read",
    "starlette": "no service can start",
    "structlog": "no service can start",
    "uvicorn": "no service can start",
    "watchfiles": "changed files are not noticed",
}


def how_to_install(package: str) -> str:
    """Return the command that installs an optional package, or the remedy for a missing required one."""
    if package in EXTRAS:
        return f'pip install "tocsin[{EXTRAS[package][0]}]"'
    return "install Tocsin again: this installation is not complete"


def is_installed(package: str) -> bool:
    """Whether a package is installed; this does not import it."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def not_installed(error: ModuleNotFoundError) -> ConfigError | None:
    """Return the error about a missing package, or `None` if the missing module is our own."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "tocsin"}:
        return None
    return ConfigError(f"{package}: package not installed", hint=how_to_install(package))
