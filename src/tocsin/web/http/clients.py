"""Client addresses as sockets and proxies write them, and the key under which an address is counted."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from tocsin.core.config.variables import Network

Address = IPv4Address | IPv6Address
_HOST = re.compile(r"(?:\[(?P<ip6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


@lru_cache(maxsize=1024)
def address_of(text: str) -> Address | None:
    """Read an address as proxies write it, also with a port; a mapped IPv4 address is that address."""
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
    """Whether an address is in one of the networks."""
    return address is not None and any(address in network for network in networks if network.version == address.version)


def bucket_of(address: str) -> str:
    """Return the key under which an address is counted: itself, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    parsed = address_of(address)
    return parsed.exploded[:19] if isinstance(parsed, IPv6Address) else str(parsed or address)


@lru_cache(maxsize=32)
def is_local_name(host: str) -> bool:
    """Whether a `Host` header holds an address, `localhost`, or a name that no public DNS knows."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    if found["ip6"] is not None:
        return isinstance(address_of(found["ip6"]), IPv6Address | IPv4Address)
    name = found["name"].rstrip(".").lower()
    return "." not in name or name.endswith(".localhost") or address_of(name) is not None
