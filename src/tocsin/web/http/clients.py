"""Client addresses in the notation of sockets and proxies, and the key under which an address is counted."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from tocsin.core.config.addresses import Network

Address = IPv4Address | IPv6Address
_HOST = re.compile(r"(?:\[(?P<ip6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


@lru_cache(maxsize=1024)
def parse_address(text: str) -> Address | None:
    """Parse an address as proxies write it, with or without a port; a mapped IPv4 address becomes that address."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (isinstance(parsed, IPv6Address) and parsed.ipv4_mapped) or parsed


def is_in(address: Address | None, networks: Sequence[Network]) -> bool:
    """Return True if an address is in one of the networks."""
    return address is not None and any(address in network for network in networks if network.version == address.version)


def bucket_key(address: str) -> str:
    """Return the key under which an address is counted: itself, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    parsed = parse_address(address)
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else str(parsed or address)


@lru_cache(maxsize=32)
def is_local_host(host: str, names: frozenset[str] = frozenset()) -> bool:
    """Return True if a `Host` header is a loopback address, `localhost`, or one of `names`.

    A page cannot make these resolve to this machine: DNS does not serve them (RFC 6761 for `localhost` and names
    below it).
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = f"[{found['ip6']}]" if found["ip6"] else found["name"].rstrip(".")
    name = name.lower()
    if name in names or name == "localhost" or name.endswith(".localhost"):
        return True
    address = parse_address(name)
    return address is not None and address.is_loopback
