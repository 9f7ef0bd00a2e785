"""What every test relies on wherever the suite runs: usual signals, no clock in Hypothesis, an order one can set."""

import gc
import logging
import os
import random
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.delivery.conftest import RedisServer
    from tests.delivery.redis_topologies import ClusterSetup, SentinelSetup

    from tocsin.testing.fakes import FakeClock

SUITE = ("channel_bench", "channel_contract", "http_channel_contract", "inbound_bench", "inbound_contract")
MANY_FILES = 200
GARBAGE = 7_000  # ten times the usual number of objects before the collector looks
INHERITED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# Details of assertions inside the importable suites: they must be rewritten before any test imports them.
pytest.register_assert_rewrite(*(f"tocsin.testing.{module}" for module in SUITE))

# How long an example takes, or to make one, says something about the machine alone.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True, max_examples=40
)
settings.register_profile("many examples", settings.get_profile("any machine"), max_examples=1_000)  # examples-proof
settings.load_profile("any machine")


@pytest.fixture(scope="module")
def unsaved_redis() -> "Iterator[RedisServer]":
    """Return a Redis that writes nothing to the disk; the tests of a module share it."""
    from tests.delivery.conftest import running_redis  # most modules need none

    with running_redis(appendonly="no") as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> "Iterator[RedisServer]":
    """Return a Redis whose keys every test tells apart by a prefix of its own."""
    from tests.delivery.conftest import running_redis

    with running_redis() as server:
        yield server


@pytest.fixture
def private_redis() -> "Iterator[RedisServer]":
    """Return a Redis that the test may kill, pause, flush and set up as it likes."""
    from tests.delivery.conftest import running_redis

    with running_redis() as server:
        yield server


# Of a module: eleven servers that tell each other all the time how they are take as much of a processor as many tests.
@pytest.fixture(scope="module")
def redis_cluster() -> "Iterator[ClusterSetup]":
    """Return three masters with a replica each, which tests do not mistreat; each test has a prefix of its own."""
    from tests.delivery.redis_topologies import cluster_setup

    with cluster_setup(replicated=True, gone_after_ms=600_000, saved=False) as setup:  # none is gone on a busy machine
        yield setup


@pytest.fixture(scope="module")
def redis_sentinels() -> "Iterator[SentinelSetup]":
    """Return a master with a replica under three Sentinels, which tests do not mistreat."""
    from tests.delivery.redis_topologies import sentinel_setup

    with sentinel_setup(replicas=1, gone_after_ms=600_000, saved=False) as setup:
        yield setup


@pytest.fixture
def clock() -> "FakeClock":
    """Return a clock that only the test moves."""
    from tocsin.testing.fakes import FakeClock

    return FakeClock()


@pytest.fixture(autouse=True)
def usual_log() -> Iterator[None]:
    """Undo what a command that runs in this process does to the log: the next test reads it as it was."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.manager.disable
    yield
    root.setLevel(level)
    root.handlers[:] = [handler for handler in root.handlers if handler in handlers]
    logging.disable(disabled)


@pytest.fixture(autouse=True)
def few_open_files() -> Iterator[None]:
    """Close what programs that tests opened and left still hold: from 1,024 on, `select` refuses descriptors."""
    yield
    lowest_free = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest_free)
    if lowest_free > MANY_FILES:
        gc.collect()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        metavar="SEED",
        help="run the tests in the random order that this number stands for; `new` draws a number and tells it",
    )
    parser.addoption("--chance", metavar="SEED", help="repeat what a test drew: a failure tells its number")


def pytest_configure(config: pytest.Config) -> None:
    stay_as_asked_while_children_start_anew()
    if not config.getoption("hypothesis_profile", None):
        draw_no_constants_of_the_program()
    if config.option.shuffle == "new":
        config.option.shuffle = str(random.SystemRandom().randrange(1_000_000))
    if worker := getattr(config, "workerinput", None):
        config.option.shuffle = worker["shuffle"]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of xdist one order."""
    node.workerinput["shuffle"] = node.config.option.shuffle


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.shuffle:
        random.Random(config.option.shuffle).shuffle(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Search for no garbage among what stays to the end, neither while it is collected nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE)
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.shuffle:
        terminalreporter.write_line(f"in random order: repeat with --shuffle={config.option.shuffle}")
    for report in terminalreporter.stats.get("rerun", ()):  # the second try may have passed and hides why
        terminalreporter.write_line(f"the first try of {report.nodeid} failed:\n{report.longreprtext}")


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """What must be random in a test; a failure tells how to repeat it."""
    seed = request.config.option.chance or str(random.SystemRandom().randrange(1_000_000))
    request.node.add_report_section("call", "chance", f"repeat with --chance={seed}")
    return random.Random(seed)


def draw_no_constants_of_the_program() -> None:
    """Keep Hypothesis from searching the modules of the program for constants to draw; `make examples-proof` lets it.

    It parses seven hundred files in each process of tests, and holds what it finds against each strategy anew.
    """
    with suppress(ImportError):  # older versions do not search
        from hypothesis.internal.conjecture import providers

        providers.is_local_module_file = lambda _path: False


def stay_as_asked_while_children_start_anew() -> None:
    """Give the processes that tests start the usual signals, also where ours came ignored or blocked.

    `nohup`, `&` in a script and many CI systems start their programs with some signals ignored, and everything below
    inherits that. A handler is not inherited: this one ignores the signal, as asked, and a child has the default.
    """

    def ignore(_number: int, _frame: FrameType | None) -> None:
        pass

    for number in INHERITED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, ignore)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INHERITED)
