"""Random histories: claims, crashes, retries and jumping clocks against a model of the queue."""

from contextlib import AbstractAsyncContextManager

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.delivery.conftest import RedisServer, queue_in_redis
from tests.delivery.store_machine import StoreMachine

from tocsin.core.ids import new_id
from tocsin.delivery.store import DeliveryStore
from tocsin.testing.fakes import FakeClock

SETTINGS = settings(
    max_examples=12,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],  # add Phase.shrink to see the shortest history that fails; it takes minutes
)


def test_no_history_breaks_the_promises_of_the_queue_in_redis(redis_server: RedisServer):
    class RedisMachine(StoreMachine):
        def __init__(self) -> None:
            super().__init__()
            self.prefix = f"machine-{new_id()}"

        def opened(self, clock: FakeClock) -> AbstractAsyncContextManager[DeliveryStore]:
            return queue_in_redis(redis_server.url, self.prefix, clock)

    run_state_machine_as_test(RedisMachine, settings=SETTINGS)
