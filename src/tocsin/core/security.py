"""The start-up security check: warnings for what is weak, refusals for what is open (spec 5.9)."""

from ipaddress import ip_address

from tocsin.core.errors import ConfigError
from tocsin.core.settings import Settings
from tocsin.core.variables import (
    ALLOW_INSECURE_BIND,
    DASHBOARD_PASS,
    DASHBOARD_USER,
    ENVIRONMENT,
    FORCE_HTTPS,
    GATEWAY_TOKEN,
    WEBHOOK_REQUIRE_SIGNATURE,
)

INSECURE_VALUES = frozenset(
    {
        *("admin", "administrator", "root", "password", "passwort", "secret", "letmein", "qwerty"),
        *("changeme", "change-me", "default", "test", "tocsin", "123456", "12345678"),
    }
)


def validate_security(settings: Settings) -> list[str]:
    """Return one sentence for every weak setting; an empty list means that nothing stands out."""
    warnings = [
        f"{variable.name} is not set: the dashboard lets nobody in; run `tocsin init` or set it"
        for variable in (DASHBOARD_USER, DASHBOARD_PASS)
        if not settings[variable]
    ]
    warnings += [
        f"{variable.name} has a value that everybody tries first; choose a random one"
        for variable in (DASHBOARD_PASS, GATEWAY_TOKEN)
        if settings[variable].strip().lower() in INSECURE_VALUES
    ]
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
    weak = ((variable.weakness, settings[variable]) for variable in settings.variables)
    return [*warnings, *(said for look, value in weak if look and value and (said := look(value)))]


def is_loopback(host: str) -> bool:
    """Whether a service bound to `host` can be reached from this machine alone."""
    name = host.strip().strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def check_gateway_bind(settings: Settings, host: str) -> list[str]:
    """Refuse an open gateway off loopback; return the warnings of an override. Source: decision 4."""
    if is_loopback(host) or settings[GATEWAY_TOKEN]:
        return []
    problem = f"the gateway would listen on {host} without a token: anybody who reaches it could send"
    if not settings[ALLOW_INSECURE_BIND]:
        raise ConfigError(problem, hint="set GATEWAY_TOKEN (or ALLOW_INSECURE_BIND=true to override)")
    return [f"DANGER: {problem}; ALLOW_INSECURE_BIND=true overrides the refusal"]
