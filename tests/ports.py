"""Ports for servers that must know theirs before they start."""

import os
import random
import socket

# Below those that systems hand out to whoever asks for any (Linux from 32,768, macOS from 49,152): else another test
# beside this one may get the port between our look and our server's start.
# And each worker of xdist has ports of its own: another one's server may not have begun to listen.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
PORTS = range(20_000 + _WORKER, 32_000, _WORKERS)
# Hypothesis seeds the common source of randomness alike in every worker.
_ANY = random.SystemRandom()


def free_port() -> int:
    """Return a port that was free a moment ago."""
    while True:
        port = _ANY.choice(PORTS)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
