"""Ping a machine: by ICMP if this process may send it, else by a TCP connection."""

import asyncio
import os
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import closing

from tocsin.features.ssh.model import Ping

_TIMEOUT_S = 2.0
_ECHO, _ECHO_6 = 8, 128  # sources: RFC 792, RFC 4443


async def ping(hostname: str, port: int) -> Ping:
    """Send one ICMP echo to each address of a host until one answers; see `reach`."""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            found = await asyncio.get_running_loop().getaddrinfo(hostname, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        return Ping(False, error="its name was not resolved in time")
    except OSError as error:
        return Ping(False, error=error.strerror or str(error))
    return await reach([(family, address) for family, _, _, _, address in found])


async def reach(addresses: Sequence[tuple[int, tuple[object, ...]]]) -> Ping:
    """Return the first answer, or the last failure.

    An address gets one ICMP echo; where that is not allowed or not answered, a TCP connection is opened.
    """
    failed = Ping(False, error="its name could not be resolved")
    for family, address in addresses:
        by_icmp = await _icmp(family, address)
        found = by_icmp if by_icmp is not None and by_icmp.ok else await _tcp(family, address)
        if found.ok:
            return found
        failed = found
    return failed


async def _icmp(family: int, address: tuple[object, ...]) -> Ping | None:
    """Send an ICMP echo; return None if this process may not. The system writes the identifier.

    Linux allows it without privileges for the groups in `net.ipv4.ping_group_range`, which counts for IPv6, too, and
    macOS allows it for all. Source: icmp(7).
    """
    protocol = socket.IPPROTO_ICMPV6 if family == socket.AF_INET6 else socket.IPPROTO_ICMP
    try:
        echo = socket.socket(family, socket.SOCK_DGRAM, protocol)
    except OSError:
        return None
    with closing(echo):
        echo.setblocking(False)
        kind = _ECHO_6 if family == socket.AF_INET6 else _ECHO
        packet = struct.pack("!BBHHH", kind, 0, 0, 0, 1) + os.urandom(8)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                loop = asyncio.get_running_loop()
                echo.connect((*address[:1], 0, *address[2:]))
                await loop.sock_sendall(echo, _summed(packet))
                await loop.sock_recv(echo, 1024)
        except TimeoutError:
            return Ping(False, "icmp", error="no answer")
        except OSError as error:
            return Ping(False, "icmp", error=error.strerror or str(error))
        return Ping(True, "icmp", _since(started))


def _summed(packet: bytes) -> bytes:
    """Return a packet with its checksum. Source: RFC 1071."""
    total = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    total = (total & 0xFFFF) + (total >> 16)
    total += total >> 16
    return packet[:2] + struct.pack("!H", ~total & 0xFFFF) + packet[4:]


async def _tcp(family: int, address: tuple[object, ...]) -> Ping:
    started = time.perf_counter()
    with closing(socket.socket(family, socket.SOCK_STREAM)) as connection:
        connection.setblocking(False)
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await asyncio.get_running_loop().sock_connect(connection, address)
        except TimeoutError:
            return Ping(False, error="no answer")
        except OSError as error:
            return Ping(False, error=_reason(error))
    return Ping(True, "tcp", _since(started))


def _reason(error: OSError) -> str:
    """Return the system's sentence for an error; asyncio replaces it by one with the address."""
    return os.strerror(error.errno) if error.errno else str(error)


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
