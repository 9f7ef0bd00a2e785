"""Whether a machine answers: by ICMP where the system allows it, else by a connection to the port of SSH."""

import errno
import json
import os
import socket
import subprocess
import sys

import pytest

from tocsin.features.ssh.client.ping import reach

PING = """
import asyncio, json, sys
from dataclasses import asdict
from tocsin.features.ssh.client.ping import ping
print(json.dumps(asdict(asyncio.run(ping(sys.argv[1], 9)))))  # nothing listens there
"""
# A network of its own, in which this process may or may not send ICMP.
ALLOWED, REFUSED = "echo 0 0 > /proc/sys/net/ipv4/ping_group_range", "true"  # that of a new one is empty


def pinged(host: str, groups: str) -> dict[str, object]:
    command = [
        "unshare",
        "-rn",
        "sh",
        "-c",
        f'{groups} && ip link set lo up && exec "$@"',
        "sh",
        sys.executable,
        "-c",
        PING,
        host,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a network namespace cannot be made: {done.stderr}")
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize(("groups", "expected"), [(ALLOWED, (True, "icmp")), (REFUSED, (False, "tcp"))])
def test_a_host_is_pinged_by_icmp_where_that_is_allowed(host: str, groups: str, expected: tuple[bool, str]):
    found = pinged(host, groups)
    assert (found["ok"], found["method"]) == expected


async def test_each_address_of_a_host_is_tried_until_one_answers():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody, somebody = (socket.AF_INET, ("0.0.0.0", 0)), (socket.AF_INET, listener.getsockname())
        assert (await reach([nobody, somebody])).ok
    assert not (await reach([nobody])).ok


async def test_a_refused_connection_is_told_in_the_words_of_the_system():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = socket.AF_INET, listener.getsockname()
    assert (await reach([closed])).error in {"", os.strerror(errno.ECONNREFUSED)}  # empty if ICMP is allowed
