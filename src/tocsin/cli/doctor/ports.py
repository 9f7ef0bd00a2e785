"""doctor, ports: each port is free, or in use by its own service."""

import errno
import json
import socket
import ssl
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from tocsin.core.config.core_variables import (
    ALLOWED_HOSTS,
    DASHBOARD_HOST,
    DASHBOARD_PORT,
    DASHBOARD_TLS_CERT,
    GATEWAY_HOST,
    GATEWAY_PORT,
    TRUSTED_PROXIES,
)
from tocsin.core.config.data_dir import directory_id
from tocsin.core.config.security import is_loopback, missing_dashboard_login
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable
from tocsin.terminal.findings import Finding

_ANSWERS_WITHIN_S = 2
_OF_GATEWAY = {"version", "queue", "channels"}  # keys of its /health document
_OF_DASHBOARD = {"version", "status"}


def check_ports(settings: Settings) -> Iterator[Finding]:
    """Check that the port of each service is free or in use by that service, and which host names it answers."""
    on_loopback = is_loopback(settings[GATEWAY_HOST]) or is_loopback(settings[DASHBOARD_HOST])
    if settings[TRUSTED_PROXIES] and on_loopback and not settings[ALLOWED_HOSTS]:
        detail = "services on loopback accept requests from a proxy only with `Host: localhost`, except webhooks"
        yield Finding("warning", "proxy", detail, f"set {ALLOWED_HOSTS.name} to the host name that the proxy forwards")
    host, port = settings[GATEWAY_HOST].strip("[]"), settings[GATEWAY_PORT]
    yield _about_port(host, GATEWAY_HOST, port, GATEWAY_PORT) or _gateway_at(
        host, port, directory_id(settings.data_dir)
    )
    if missing := missing_dashboard_login(settings):
        yield Finding("off", "dashboard", f"no sign-in is configured: set {missing}")
        return
    host, port = settings[DASHBOARD_HOST].strip("[]"), settings[DASHBOARD_PORT]
    encrypted = settings[DASHBOARD_TLS_CERT] is not None
    yield _about_port(host, DASHBOARD_HOST, port, DASHBOARD_PORT) or _dashboard_at(host, port, encrypted=encrypted)


def _about_port(host: str, host_name: Variable[str], port: int, port_name: Variable[int]) -> Finding | None:
    """Return the finding about a port; `None` if a program listens on it."""
    subject = "gateway" if port_name is GATEWAY_PORT else "dashboard"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        fix = f"correct {host_name.name} or {port_name.name}"
        return Finding("error", subject, f"cannot listen on {host} port {port}: {error.strerror}", fix)
    return Finding("ok", subject, f"{host} port {port} is free")


def _gateway_at(host: str, port: int, own: str) -> Finding:
    """Return the finding about the program on the gateway's port; `own` is the ID of this data directory."""
    health = _read_health(HTTPConnection(host, port, timeout=_ANSWERS_WITHIN_S))
    if not health.keys() >= _OF_GATEWAY:
        return _taken("gateway", port, GATEWAY_PORT)
    if not own or health.get("instance") != own:
        detail = f"port {port} is used by a Tocsin with another data directory"
        fix = f"select its data directory with --data-dir to check it, or set {GATEWAY_PORT.name} to a free port"
        return Finding("error", "gateway", detail, fix)
    return Finding("ok", "gateway", f"running on {host} port {port}")


def _dashboard_at(host: str, port: int, *, encrypted: bool) -> Finding:
    """Return the finding about the program on the dashboard's port, whose installation is not public."""
    if encrypted:
        # The certificate is issued for the host that browsers use, not for this address.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection: HTTPConnection = HTTPSConnection(host, port, timeout=_ANSWERS_WITHIN_S, context=context)
    else:
        connection = HTTPConnection(host, port, timeout=_ANSWERS_WITHIN_S)
    if _read_health(connection).keys() != _OF_DASHBOARD:
        return _taken("dashboard", port, DASHBOARD_PORT)
    return Finding("ok", "dashboard", f"a Tocsin dashboard is running on {host} port {port}")


def _taken(subject: str, port: int, variable: Variable[int]) -> Finding:
    detail = f"port {port} is used by another program"
    return Finding("error", subject, detail, f"stop that program, or set {variable.name} to a free port")


def _read_health(connection: HTTPConnection) -> dict[str, Any]:
    """Return the health document of a service; empty if another program answers."""
    try:
        connection.request("GET", "/health")
        health = json.loads(connection.getresponse().read(65536))
    except (OSError, HTTPException, ValueError):
        return {}
    finally:
        connection.close()
    return health if isinstance(health, dict) else {}
