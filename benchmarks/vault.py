"""Commands of the vault from start to exit, beside `tocsin channels` and `age -d` of the same file."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from peers import core_environment
from report import Row, at_most

ROUNDS = 21
SECRETS = 1_000
FILL = """
from pathlib import Path
from tocsin.features.vault.cipher import PyrageCipher
from tocsin.features.vault.store import VaultStore
def fill(content):
    for number in range({count}):
        content = content.with_secret(f"SECRET_{{number}}", f"value {{number}} " + "x" * 40, 1.7e9)
    return content
VaultStore(Path({place!r}), PyrageCipher()).change(fill)
"""


def measure() -> list[Row]:
    """Return the rows of the vault."""
    binaries = core_environment()
    tocsin = str(binaries / "tocsin")
    with tempfile.TemporaryDirectory() as small, tempfile.TemporaryDirectory() as large:
        for place, count in ((small, 1), (large, SECRETS)):
            _run([tocsin, "vault", "init"], place)
            _run([str(binaries / "python"), "-c", FILL.format(count=count, place=place)], place)
        decrypt = ["age", "-d", "-i", f"{small}/identity.txt", f"{small}/vault.enc"]
        get, age, listing, channels = _medians(
            [
                ([tocsin, "vault", "get", "SECRET_0"], small),
                (decrypt, small),
                ([tocsin, "vault", "list"], large),
                ([tocsin, "channels"], str(Path(small) / "empty")),
            ]
        )
    return [
        at_most("`tocsin vault get NAME`, start to exit", get, channels, 1.4, "ms", "`tocsin channels`"),
        Row("… beside the program `age`", f"{get:.3g} ms", f"`age -d` {age:.3g} ms", f"{get / age:.1f}×", "", met=True),
        at_most("`tocsin vault list` of 1,000 secrets", listing, channels, 1.5, "ms", "`tocsin channels`"),
    ]


def _medians(commands: list[tuple[list[str], str]]) -> list[float]:
    """Return median times in milliseconds; run in turn, so that a drift of the machine meets all."""
    times: list[list[float]] = [[] for _ in commands]
    for number in range(ROUNDS + 1):
        for (argv, place), into in zip(commands, times, strict=True):
            started = time.perf_counter()
            _run(argv, place)
            if number:  # the first round warms the caches
                into.append((time.perf_counter() - started) * 1000)
    return [statistics.median(each) for each in times]


def _run(argv: list[str], data_dir: str) -> None:
    environment = {**os.environ, "TOCSIN_DATA_DIR": data_dir}
    subprocess.run(argv, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
