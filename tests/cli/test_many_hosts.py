"""Two gateways with a data directory each, and one Redis: they behave as one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, end, wait_until_it_listens
from tests.cli.test_receiving import SECRET, UPDATE, report
from tests.delivery.conftest import RedisServer
from tests.ports import free_port

from tocsin_standins import Fault, StandinCluster

ALICE = 1001


def update(number: int, text: str) -> dict[str, Any]:
    chat = {"id": ALICE, "type": "private", "first_name": "Alice"}
    return {"update_id": number, "message": {**UPDATE["message"], "message_id": number, "chat": chat, "text": text}}


@pytest.fixture
def hosts(tmp_path: Path, town: StandinCluster, private_redis: RedisServer) -> list[Cli]:
    """Two hosts that share nothing but the Redis and the settings."""
    shared = {
        **town.environment(),
        **town.access(),
        "STORE": "redis",
        "REDIS_URL": private_redis.url,
        "BOTCHAT_WEBHOOK_SECRET": SECRET,
        "BOTCHAT_STREAMING": "false",
        "BOTCHAT_MODE": "webhook",
        "GATEWAY_TOKEN": "t" * 40,
    }
    places = [tmp_path / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
    return [Cli(place, {**shared, "GATEWAY_PORT": str(free_port())}) for place in places]


def test_a_repeat_at_another_gateway_is_known_and_work_of_a_killed_one_continues_elsewhere(
    hosts: list[Cli], town: StandinCluster, until: Callable[..., Any]
):
    one, two = hosts
    ports = [int(host.env["GATEWAY_PORT"]) for host in hosts]
    town.chatmodel.will_answer(*["An answer."] * 3)
    town.chatmodel.faults.push(Fault.answer("hang", 600.0))

    def asked() -> list[str]:
        return [item.body["turns"][-1][1] for item in town.recorder.of("chatmodel", kind="question")]

    def told() -> list[str]:
        return [item.text for item in town.recorder.of("botchat", target=str(ALICE))]

    with one.running("gateway") as first, two.running("gateway") as second:
        wait_until_it_listens(first)
        wait_until_it_listens(second)
        assert report(ports[0], SECRET, update(1, "first"))[0] == 200
        until(lambda: asked() == ["first"])
        assert report(ports[1], SECRET, update(1, "first"))[0] == 200, "a repeat is acknowledged"
        assert report(ports[1], SECRET, update(2, "second"))[0] == 200
        assert asked() == ["first"], "the repeat is known, and the second one waits for the first"
        first.kill()
        until(lambda: len(told()) == 2)
        assert end(second)[0] == 0
    assert (asked()[0], sorted(asked()[1:])) == ("first", ["first", "second"])
    assert sorted(told()) == ["An answer.", "An answer."]
    assert two("deliveries", "counts", "--json").json()["sent"] == 2, "each answer was queued once"
    assert [entry["action"] for entry in two.audit_log()].count("msg.receive") == 1
    made = [path.name for host in hosts for path in host.data_dir.iterdir()]
    assert not [name for name in made if name.startswith("tocsin.db")], "they only carried messages"
