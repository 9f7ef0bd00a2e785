"""The chaos suite in its full size: `make chaos`, or `python -m tools.chaos [name …]` for some scenarios.

Starts real processes, kills them, breaks what they stand on, and checks the ledger after every run. Prints a
table of all figures; ends with 1 when one of them is not what it must be. Takes about 30 minutes.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.chaos import faults, floods, kills, limits, redis_faults, webhook_burst
from tests.chaos.figures import Figure
from tests.features.vault import writers
from tests.web import webhook_fuzz
from tools.proof import Scenario, chosen, run, verdict


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
    names = chosen("chaos", __doc__, SCENARIOS, words)
    return verdict({name: run(name, SCENARIOS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
