"""Ports for servers that must know theirs before they start."""

import os
import random
import socket

# Below those that systems hand out to whoever asks for any (Linux from 32,768, macOS from 49,152): else another test
# beside this one may get the port between our look and our server's start.
PORTS = range(20_000, 32_000)
# Hypothesis seeds the common source of randomness alike in every worker.
_ANY = random.SystemRandom()


def free_port() -> int:
    """Return a port that was free a moment ago."""
    # Each worker has ports of its own: another one's server may not have begun to listen.
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = PORTS[worker :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]
    while True:
        port = _ANY.choice(own)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
