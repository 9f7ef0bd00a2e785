"""The security check at start-up: warnings about weak settings, errors about open services."""

import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tocsin.core.config.core_variables import (
    ALLOW_INSECURE_BIND,
    DASHBOARD_PASS,
    DASHBOARD_PASS_HASH,
    DASHBOARD_TLS_CERT,
    DASHBOARD_TLS_KEY,
    DASHBOARD_USER,
    ENVIRONMENT,
    FORCE_HTTPS,
    FRONT_DOOR_HOST,
    FRONT_DOOR_PORT,
    FRONT_DOOR_TLS_CERT,
    FRONT_DOOR_TLS_KEY,
    FRONT_DOOR_URL,
    GATEWAY_TOKEN,
    REDIS_URL,
    TRUSTED_PROXIES,
    WEBHOOK_REQUIRE_SIGNATURE,
)
from tocsin.core.config.settings import Settings, Values
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ConfigError, MissingSettingError

INSECURE_NAMES = frozenset({"admin", "password", "changeme"})
INSECURE_VALUES = INSECURE_NAMES | frozenset(
    {
        *("administrator", "root", "passwort", "secret", "letmein", "qwerty"),
        *("change-me", "default", "test", "tocsin", "123456", "12345678"),
    }
)


def validate_security(settings: Settings) -> list[str]:
    """Return one sentence for each weak setting."""
    warnings = [said for variable in settings.variables if (said := _weakness(variable, settings[variable]))]
    warnings += _dashboard_weaknesses(settings)
    if _password_in(settings[REDIS_URL]).lower() in INSECURE_VALUES:
        warnings.append(f"{REDIS_URL.name} has a common password; choose a random one")
    if settings[ENVIRONMENT] == "production" and settings[FORCE_HTTPS] is None:
        warnings.append(
            "ENVIRONMENT=production enforces HTTPS, but FORCE_HTTPS is not set; set FORCE_HTTPS=true to make this "
            "explicit"
        )
    if settings[ENVIRONMENT] == "production" and settings[FORCE_HTTPS] is False:
        warnings.append(
            "DANGER: FORCE_HTTPS=false in production: tokens and passwords are sent unencrypted; set FORCE_HTTPS=true"
        )
    if not settings[WEBHOOK_REQUIRE_SIGNATURE]:
        warnings.append(
            "DANGER: WEBHOOK_REQUIRE_SIGNATURE=false: inbound messages can be forged; use it for debugging only"
        )
    return warnings


def _dashboard_weaknesses(settings: Settings) -> list[str]:
    if settings[DASHBOARD_PASS] and settings[DASHBOARD_PASS_HASH]:
        return [f"{DASHBOARD_PASS.name} and {DASHBOARD_PASS_HASH.name} are both set; remove one of them"]
    # With none of these settings, the dashboard is off, which is no warning; the log of the start says so.
    return [] if " and " in missing_dashboard_login(settings) else missing_login(settings)


def missing_login(settings: Settings) -> list[str]:
    """Return the warning about missing settings of the dashboard's login, if any."""
    missing = missing_dashboard_login(settings)
    return [f"the dashboard has no sign-in configured: set {missing} in {settings.own_file}"] if missing else []


def missing_dashboard_login(settings: Settings) -> str:
    """Return the missing settings of the dashboard's login, as words after "set …"; empty if it is complete."""
    user = "" if settings[DASHBOARD_USER] else DASHBOARD_USER.name
    secret = "" if settings[DASHBOARD_PASS] or settings[DASHBOARD_PASS_HASH] else DASHBOARD_PASS.name
    return " and ".join(name for name in (user, secret) if name)


def _weakness(variable: Variable[Any], value: Any) -> str:
    """Return why a value is weak by itself, or an empty text."""
    word = str(value).strip().lower()
    if variable.secret and word in INSECURE_VALUES:
        return f"{variable.name} has a common value; choose a random one"
    if variable.login and word in INSECURE_NAMES:
        return f"{variable.name} has a common value; choose another name"
    if value and len(str(value)) < variable.min_length:
        return f"{variable.name} has fewer than {variable.min_length} characters; choose a longer, random one"
    return variable.weakness(value) if variable.weakness and value else ""


def _password_in(address: str) -> str:
    try:
        return unquote(urlsplit(address).password or "")
    except ValueError:  # the code that connects reports an invalid address
        return ""


def is_loopback(host: str) -> bool:
    """Whether a service bound to `host` is reachable only from this machine."""
    name = host.strip().strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def front_door_url(settings: Values) -> str:
    """Return the address of the front door."""
    if settings[FRONT_DOOR_URL]:
        return settings[FRONT_DOOR_URL]
    scheme = "https" if settings[FRONT_DOOR_TLS_CERT] else "http"
    host = settings[FRONT_DOOR_HOST].strip("[]")
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings[FRONT_DOOR_PORT]}"


def is_front_door_local(settings: Values) -> bool:
    """Whether other machines cannot reach the front door."""
    return not settings[FRONT_DOOR_URL] and is_loopback(settings[FRONT_DOOR_HOST])


def check_gateway_bind(settings: Settings, host: str) -> list[str]:
    """Raise for an open gateway outside loopback; return the warnings about an override."""
    if is_loopback(host) or settings[GATEWAY_TOKEN]:
        return []
    problem = f"the gateway would listen on {host} without a token: any client that can reach it could send messages"
    if not settings[ALLOW_INSECURE_BIND]:
        raise MissingSettingError(problem, hint="set GATEWAY_TOKEN (or ALLOW_INSECURE_BIND=true to override)")
    return [f"DANGER: {problem}; ALLOW_INSECURE_BIND=true allows this"]


def check_dashboard_bind(settings: Settings, host: str) -> list[str]:
    """Raise for a dashboard outside loopback without a login, or with passwords in clear text.

    Returns the warnings about an override. Raises ConfigError also for contradictory settings.
    """
    if settings[DASHBOARD_PASS] and settings[DASHBOARD_PASS_HASH]:
        both = f"{DASHBOARD_PASS.name} and {DASHBOARD_PASS_HASH.name} are both set"
        raise ConfigError(both, hint="remove one of them: only one password can apply")
    encrypted = dashboard_tls(settings) is not None or bool(settings[TRUSTED_PROXIES])
    if is_loopback(host):
        return []
    problems, remedies = [], []
    if missing := missing_dashboard_login(settings):
        problems.append("without a login")
        remedies.append(missing)
    if not encrypted:
        problems.append("without TLS: passwords would be sent unencrypted")
        tls = f"{DASHBOARD_TLS_CERT.name} and {DASHBOARD_TLS_KEY.name}"
        remedies.append(f"{tls}, or set {TRUSTED_PROXIES.name} to the proxy that terminates TLS")
    if not problems:
        return []
    problem = f"the dashboard would listen on {host} {' and '.join(problems)}"
    if not settings[ALLOW_INSECURE_BIND]:
        raise MissingSettingError(
            problem, hint=f"set {'; and '.join(remedies)} (or {ALLOW_INSECURE_BIND.name}=true to override)"
        )
    return [f"DANGER: {problem}; {ALLOW_INSECURE_BIND.name}=true allows this"]


def check_front_door_bind(settings: Settings, host: str) -> list[str]:
    """Return a warning about a front door whose addresses, which are secrets, cross a network in clear text."""
    if is_loopback(host) or front_door_tls(settings) is not None or settings[TRUSTED_PROXIES]:
        return []
    problem = f"the front door listens on {host} without TLS: its addresses are secrets and are sent unencrypted"
    tls = f"{FRONT_DOOR_TLS_CERT.name} and {FRONT_DOOR_TLS_KEY.name}"
    return [f"{problem}; set {tls}, or {TRUSTED_PROXIES.name} to the proxy that terminates TLS"]


def dashboard_tls(settings: Settings) -> tuple[Path, Path] | None:
    """Return certificate and key of the dashboard, `None` if it does not serve TLS itself.

    Raises ConfigError if one of them is missing or unreadable.
    """
    return tls_files(settings, "the dashboard", DASHBOARD_TLS_CERT, DASHBOARD_TLS_KEY)


def front_door_tls(settings: Settings) -> tuple[Path, Path] | None:
    """Return certificate and key of the front door, like `dashboard_tls`."""
    return tls_files(settings, "the front door", FRONT_DOOR_TLS_CERT, FRONT_DOOR_TLS_KEY)


def tls_files(
    settings: Values, service: str, of_certificate: Variable[Path | None], of_key: Variable[Path | None]
) -> tuple[Path, Path] | None:
    """Return certificate and key; `None` without them. Raises ConfigError if one is missing or unreadable."""
    certificate, key = settings[of_certificate], settings[of_key]
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        missing = of_certificate if certificate is None else of_key
        raise MissingSettingError(f"{service} needs both a certificate and a key for TLS", hint=f"set {missing.name}")
    for variable, path in ((of_certificate, certificate), (of_key, key)):
        try:
            path.open("rb").close()
        except OSError as error:
            sentence = f"cannot read {path}, the value of {variable.name}: {error.strerror}"
            raise ConfigError(sentence, hint="correct the path, or the permissions of the file") from None
    return certificate, key


def load_tls(service: str, certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS context of a server; raises ConfigError for files that do not fit."""

    def no_passphrase() -> str:
        raise ConfigError(
            f"the key {key} has a passphrase", hint="store the key without a passphrase: a service cannot enter one"
        )

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, no_passphrase)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = getattr(error, "reason", None) or str(error)
        sentence = f"{service} cannot use the certificate {certificate} with the key {key}: {reason}"
        raise ConfigError(
            sentence, hint="both must be PEM files, and the key must belong to the first certificate"
        ) from None
    return context
