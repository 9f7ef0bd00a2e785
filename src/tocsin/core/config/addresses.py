"""Parsers of settings that are addresses: networks, host names, Redis servers."""

from ipaddress import IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network


def networks(value: str) -> tuple[Network, ...]:
    """Parse a comma-separated list of addresses and networks."""
    try:
        return tuple(ip_network(item.strip(), strict=False) for item in value.split(",") if item.strip())
    except ValueError:
        raise ValueError("addresses or networks, separated by commas, for example 10.0.0.1, 10.1.0.0/16") from None


def host_names(value: str) -> frozenset[str]:
    """Parse a comma-separated list of names and addresses, in the format of a `Host` header without the port."""
    import re

    names = {item.strip().rstrip(".").lower() for item in value.split(",") if item.strip()}
    if not all(re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]", name) for name in names):
        raise ValueError("host names without scheme and port, separated by commas, for example tocsin.example.org")
    return frozenset(names)


def redis_url(value: str) -> str:
    """Parse the address of a Redis server, or `off`; a password in it is masked in all output."""
    stripped = value.strip()
    if stripped.lower() == "off":
        return ""
    # The code that connects knows all schemes.
    if not stripped.startswith(("redis://", "redis+", "rediss://", "rediss+", "valkey://", "valkeys://", "unix://")):
        raise ValueError("an address with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://, or off")
    return stripped
