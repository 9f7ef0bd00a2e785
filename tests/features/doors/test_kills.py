"""A gateway that takes requests and is killed loses none that it accepted."""

from pathlib import Path

from tests.chaos.door_runs import answer_many, survive_kills
from tests.chaos.figures import must_be_met


def test_every_accepted_request_is_queued_once_over_kills(tmp_path: Path):
    must_be_met(survive_kills(tmp_path, kills=2, accepted=60))


def test_answers_to_many_connections_are_durable(tmp_path: Path):
    must_be_met(answer_many(tmp_path, seconds=0.5))
