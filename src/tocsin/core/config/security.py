"""The security check at start-up: warnings about weak settings, refusal of open ones."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote, urlsplit

from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import (
    ALLOW_INSECURE_BIND,
    ENVIRONMENT,
    FORCE_HTTPS,
    GATEWAY_TOKEN,
    REDIS_URL,
    WEBHOOK_REQUIRE_SIGNATURE,
    Variable,
)
from tocsin.core.errors import ConfigError

INSECURE_NAMES = frozenset({"admin", "password", "changeme"})
INSECURE_VALUES = INSECURE_NAMES | frozenset(
    {
        *("administrator", "root", "passwort", "secret", "letmein", "qwerty"),
        *("change-me", "default", "test", "tocsin", "123456", "12345678"),
    }
)


def validate_security(settings: Settings) -> list[str]:
    """Return one sentence for every weak setting; an empty list if none is weak."""
    warnings = [said for variable in settings.variables if (said := _weakness(variable, settings[variable]))]
    if _password_in(settings[REDIS_URL]).lower() in INSECURE_VALUES:
        warnings.append(f"{REDIS_URL.name} has a password that everybody tries first; choose a random one")
    if settings[ENVIRONMENT] == "production" and settings[FORCE_HTTPS] is None:
        warnings.append(
            "ENVIRONMENT=production enforces HTTPS, but FORCE_HTTPS=true is not written down; "
            "add it to make that explicit"
        )
    if settings[ENVIRONMENT] == "production" and settings[FORCE_HTTPS] is False:
        warnings.append(
            "DANGER: FORCE_HTTPS=false in production: tokens and passwords travel in clear; set FORCE_HTTPS=true"
        )
    if not settings[WEBHOOK_REQUIRE_SIGNATURE]:
        warnings.append(
            "DANGER: WEBHOOK_REQUIRE_SIGNATURE=false: anybody can forge inbound messages; remove it outside debugging"
        )
    return warnings


def _weakness(variable: Variable[Any], value: Any) -> str:
    """Return why a value is weak by itself; empty if it is not."""
    word = str(value).strip().lower()
    if variable.secret and word in INSECURE_VALUES:
        return f"{variable.name} has a value that everybody tries first; choose a random one"
    if variable.login and word in INSECURE_NAMES:
        return f"{variable.name} has a value that everybody tries first; choose another name"
    return variable.weakness(value) if variable.weakness and value else ""


def _password_in(address: str) -> str:
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:  # whatever connects says that it is no address
        return ""


def is_loopback(host: str) -> bool:
    """Whether a service bound to `host` can be reached only from this machine."""
    name = host.strip().strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def check_gateway_bind(settings: Settings, host: str) -> list[str]:
    """Refuse an open gateway off loopback; return the warnings of an override."""
    if is_loopback(host) or settings[GATEWAY_TOKEN]:
        return []
    problem = f"the gateway would listen on {host} without a token: anybody who reaches it could send"
    if not settings[ALLOW_INSECURE_BIND]:
        raise ConfigError(problem, hint="set GATEWAY_TOKEN (or ALLOW_INSECURE_BIND=true to override)")
    return [f"DANGER: {problem}; ALLOW_INSECURE_BIND=true overrides the refusal"]
