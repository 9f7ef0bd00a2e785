"""Tell addresses on the Internet from those of private networks."""

from tocsin.core.errors import ConfigError, FailureKind, RemoteError
from tocsin.core.http.transport import describe_os_error, displayed_host


def refuse_clear_text(name: str, url: str) -> None:
    """Raise ConfigError if the setting `name` would send a key unencrypted over the Internet."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise ConfigError(
            f"{name} uses unencrypted http to a public address: the token could be read in transit",
            hint="use https (or ALLOW_INSECURE_API_URL=true)",
        )


def is_private(host: str) -> bool:
    """Whether `host` is this machine or in a private network."""
    from ipaddress import ip_address

    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa"))
    return address.is_loopback or address.is_private or address.is_link_local


def is_address(host: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether an IP address is on the Internet; an IPv6 address that stands for an IPv4 address counts as that one."""
    from ipaddress import IPv6Address, ip_address, ip_network

    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        translated = ip_address(int(found) & 0xFFFFFFFF) if found in ip_network("64:ff9b::/96") else None  # RFC 6052
        found = found.ipv4_mapped or found.sixtofour or translated or found
    return found.is_global and not found.is_multicast


async def look_up(url: str) -> list[str]:
    """Return the IP addresses of the host of a URL; raise RemoteError, transient, if its name has none."""
    import asyncio
    import socket
    from urllib.parse import urlsplit

    parts, loop = urlsplit(url), asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(parts.hostname, parts.port or parts.scheme, type=socket.SOCK_STREAM)
    except OSError as error:
        told = f"could not look up {displayed_host(url)}: {describe_os_error(error)}"
        raise RemoteError(told, hint="correct the address", kind=FailureKind.TRANSIENT) from None
    return [str(address[0]) for *_, address in found]
