"""The chaos suite in its full size: `make chaos`, or `python -m tools.chaos [name …]` for some scenarios.

Starts real processes, kills them, breaks what they stand on, and checks the ledger after every run. Prints a
table of all figures; ends with 1 when one of them is not what it must be. Takes about 30 minutes.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.chaos import faults, floods, kills, limits, redis_faults, webhook_burst
from tests.chaos.figures import Figure
from tests.features.vault import writers
from tests.web import webhook_fuzz

Scenario = Callable[[Path], list[Figure]]


def _full_disk(directory: Path) -> list[Figure]:
    if reason := limits.why_no_small_disk(directory):
        return [Figure(f"skipped: {reason}", 0)]
    return limits.survive_a_full_disk(directory, rounds=5)


SCENARIOS: dict[str, Scenario] = {
    "gateway-kills": lambda place: kills.kill_gateways(place, kills=60, accepted_each=1_400, workers=2),
    "worker-kills": lambda place: kills.kill_workers(place, kills=100, messages_each=200),
    "redis-worker-kills": lambda place: redis_faults.kill_redis_workers(place, kills=40, messages_each=150),
    "guildchat-kills": lambda place: kills.kill_guildchat_workers(place, kills=20, messages=200),
    "resume": lambda place: kills.resume_after_kills(place, kills=20),
    "redis-queue": lambda place: redis_faults.survive_redis_as_queue(place, rounds=10),
    "redis-bus": lambda place: redis_faults.survive_redis_as_bus(place, rounds=10, messages_each=500),
    "publish": lambda place: redis_faults.one_publish_is_one_send(place, messages_each=1_000),
    "provider-faults": faults.survive_provider_faults,
    "retry-after": lambda place: faults.honour_retry_after(place, messages=1_000),
    "http-providers": faults.survive_real_providers,
    "mail": faults.survive_mail_faults,
    "pace": lambda place: limits.keep_the_pace(place, seconds=60),
    "full-disk": _full_disk,
    "floods": lambda place: floods.survive_floods(place, idle=1_000, bodies=300, asks=1_000),
    "vault": writers.survive_kills_and_writers,
    "webhook-burst": lambda place: webhook_burst.survive_burst(place, seconds=30, channels=2_000),
    "webhook-fuzz-teamchat": lambda place: webhook_fuzz.fuzz(place, "teamchat", calls=200_000),
    "webhook-fuzz-guildchat": lambda place: webhook_fuzz.fuzz(place, "guildchat", calls=200_000),
    "webhook-fuzz-botchat": lambda place: webhook_fuzz.fuzz(place, "botchat", calls=200_000),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the scenarios and print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of: {', '.join(SCENARIOS)}")
    names = parser.parse_args(words).names or list(SCENARIOS)
    if unknown := sorted(set(names) - set(SCENARIOS)):
        parser.error(f"there is no scenario {unknown[0]}; there are: {', '.join(SCENARIOS)}")
    found = {name: run(name, SCENARIOS[name]) for name in names}
    print("| scenario | figure | value | must be | met |\n|---|---|---|---|---|")
    for name, figures in found.items():
        for figure in figures:
            print(f"| {name} | {figure.what} | {figure.shown} | {figure.required} | {met(figure)} |")
    return verdict(found)


def met(figure: Figure) -> str:
    """Return what the table says of a figure that must be something."""
    return "" if not figure.sign else "yes" if figure.met else "**no**"


def verdict(found: Mapping[str, list[Figure]]) -> int:
    """Tell every figure that is not what it must be; return the exit code."""
    wrong = [f"{name}: {figure}" for name, figures in found.items() for figure in figures if not figure.met]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def run(name: str, scenario: Scenario) -> list[Figure]:
    """Run one scenario in a directory of its own; what keeps it from ending is a figure, too."""
    print(f"{name} …", end=" ", file=sys.stderr, flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tocsin-chaos-") as place:
        try:
            figures = scenario(Path(place))
        except (AssertionError, OSError) as error:
            figures = [Figure("ended early", 1, "=", 0, detail=str(error))]
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    sys.exit(main())
