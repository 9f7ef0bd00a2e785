"""Whether the address of a provider leads over the Internet or stays in a private network."""

from tocsin.core.errors import ConfigError


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
