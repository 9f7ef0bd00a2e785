"""Optional and required packages: what needs each, and how to install it."""

from importlib.util import find_spec

from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.storage.files import refused_by_system

# package: the extra that installs it, and what is unavailable without it. Those of a channel are in its spec.
EXTRAS = {
    "aiohttp": ("demo", "no `tocsin demo`"),
    "trustme": ("demo", "no `tocsin demo`"),
    "pydantic_ai": ("chat", "no chat model"),
    "pypdf": ("pdf", "the bot cannot read PDF files"),
    "opentelemetry.sdk": ("otel", "no traces for OpenTelemetry"),
    "av": ("voice", "no voice messages"),
    "pywhispercpp": ("voice", "no voice messages"),
}
# Packages of every installation, most of which are imported only when needed.
NEEDED_PACKAGES = {
    "aiohappyeyeballs": "providers cannot be called",
    "aiosmtpd": "mail cannot be received",
    "argon2": "signing in to the dashboard is impossible",
    "cronsim": "cron jobs cannot run",
    "dotenv": ".env files cannot be read",
    "fastapi": "the dashboard cannot start",
    "hiredis": "Redis is slower",
    "httptools": "providers cannot be called, and services cannot start",
    "idna": "internationalised addresses cannot be used",
    "markdown_it": "the bot cannot format its answers",
    "nacl": "webhook calls with an Ed25519 signature are rejected",
    "pathspec": "watchers cannot run",
    "platformdirs": "the data directory must be set with --data-dir",
    "prometheus_client": "services cannot start",
    "pydantic": "the dashboard cannot start",
    "pyrage": "the vault cannot be opened",
    "re2": "trigger rules cannot be used",
    "redis": "Redis cannot be used",
    "regex": "long texts that are not plain ASCII cannot be split",
    "rich": "the terminal cannot show tables",
    "ruamel.yaml": "YAML files cannot be read",
    "shtab": "completion scripts cannot be printed",
    "starlette": "services cannot start",
    "structlog": "services cannot start",
    "uvicorn": "services cannot start",
    "watchfiles": "changes to files are not detected",
}


def how_to_install(package: str) -> str:
    """Return the command that installs an optional package, or the remedy for a missing required one."""
    if package in EXTRAS:
        return f'pip install "tocsin[{EXTRAS[package][0]}]"'
    return "install Tocsin again: this installation is incomplete"


def is_installed(package: str) -> bool:
    """Whether a package is installed; this does not import it."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def explain(error: Exception) -> TocsinError | None:
    """Return the error about a missing package, or about a file that the operator can fix; else `None`."""
    if isinstance(error, ModuleNotFoundError):
        return not_installed(error)
    return refused_by_system(error) if isinstance(error, OSError) else None


def not_installed(error: ModuleNotFoundError) -> ConfigError | None:
    """Return the error about a missing package, or `None` if the missing module is our own."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "tocsin"}:
        return None
    return ConfigError(f"{package}: package not installed", hint=how_to_install(package))
