"""Run the tests in forks of the process that collected them: one collection, and one import of what they need.

`pytest -p no:xdist --forks 4`. The workers of xdist each collect all tests, for 12 seconds of a processor. Here each
worker takes tests from a range of its own, and then half of the longest range that is left.
"""

import atexit
import fcntl
import mmap
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Any, NoReturn

import pytest
from _pytest.runner import pytest_sessionfinish

ALIVE_S = 1.0  # how often a worker is asked whether it lives


class Ranges:
    """The tests that have not begun, as a range for each worker in memory that they share."""

    def __init__(self, tests: int, workers: int, lock: IO[bytes]) -> None:
        self._lock = lock
        self._bounds = memoryview(mmap.mmap(-1, 16 * workers)).cast("q")
        self._workers = range(workers)
        for worker in self._workers:
            self._set(worker, range(tests * worker // workers, tests * (worker + 1) // workers))

    def take(self, worker: int) -> int | None:
        """Return the next test of this worker; None if no range has any."""
        with self._locked():
            left = self._get(worker)
            if not left:
                longest = max(self._workers, key=lambda other: len(self._get(other)))
                shared = self._get(longest)
                self._set(longest, shared[: len(shared) // 2])
                left = shared[len(shared) // 2 :]
            self._set(worker, left[1:])
            return left[0] if left else None

    def drop(self) -> None:
        """Leave no test to take."""
        with self._locked():
            for worker in self._workers:
                self._set(worker, range(0))

    def _get(self, worker: int) -> range:
        return range(self._bounds[2 * worker], self._bounds[2 * worker + 1])

    def _set(self, worker: int, tests: range) -> None:
        self._bounds[2 * worker], self._bounds[2 * worker + 1] = tests.start, tests.stop

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._lock, fcntl.LOCK_EX)  # of a process: the system releases it when a worker is killed
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


@dataclass
class Worker:
    """A process that runs tests, and which it runs now and next."""

    number: int
    pid: int
    reports: Connection
    now: int | None = None
    following: int | None = None
    ended: bool = False

    def has_ended(self) -> bool:
        """Whether the process has ended; what it started and left may hold its end of the pipe open."""
        self.ended = self.ended or os.waitpid(self.pid, os.WNOHANG) != (0, 0)
        return self.ended

    def hear(self) -> tuple[str, Any] | None:
        """Return what the worker tells next; None once it has ended."""
        if self.ended and not self.reports.poll():
            return None
        try:
            told: tuple[str, Any] = self.reports.recv()
        except EOFError:
            if not self.ended:
                os.waitpid(self.pid, 0)
            return None
        return told


class Reporter:
    """Hand the parent what happens to the tests of a worker."""

    _warns = False

    def __init__(self, config: pytest.Config, parent: Connection) -> None:
        self._config, self._parent = config, parent
        config.pluginmanager.register(self)  # which hands over the warnings until now, that the parent knows
        self._warns = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._parent.send(("report", data))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: Any, nodeid: str) -> None:
        if not self._warns:
            return
        told = warnings.formatwarning(
            warning_message.message, warning_message.category, warning_message.filename, warning_message.lineno
        )
        self._parent.send(("warning", (told, when, nodeid)))


class ForkedWorkers:
    """Fork the workers after the collection, report what they tell, and fork another one for one that dies."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None
        with tempfile.TemporaryFile() as lock:
            self._run(session, Ranges(len(session.items), self._workers, lock))
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True

    def _run(self, session: pytest.Session, ranges: Ranges) -> None:
        temporary_folder(session.config).getbasetemp()
        running = [self._fork(session, ranges, number, None) for number in range(self._workers)]
        try:
            while running:
                heard = wait([worker.reports for worker in running], ALIVE_S)
                for worker in [each for each in running if each.reports in heard or each.has_ended()]:
                    if not self._hear(session, worker):
                        running.remove(worker)
                        if worker.now is not None:
                            running.append(self._fork(session, ranges, worker.number, worker.following))
                    if session.shouldfail or session.shouldstop:
                        ranges.drop()
        except KeyboardInterrupt:
            for worker in running:
                os.kill(worker.pid, signal.SIGINT)
                os.waitpid(worker.pid, 0)
            raise

    def _fork(self, session: pytest.Session, ranges: Ranges, number: int, first: int | None) -> Worker:
        reports, parent = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            self._work(session, ranges, number, first, parent)
        parent.close()
        return Worker(number, pid, reports)

    def _work(
        self, session: pytest.Session, ranges: Ranges, number: int, first: int | None, parent: Connection
    ) -> NoReturn:
        """Run tests in this fork, which leaves without what the parent does at its end."""
        status = 1
        try:
            self._become_worker(session.config, number, parent)
            run(session, ranges, number, first, parent)
            status = 0
        except KeyboardInterrupt:
            pytest_sessionfinish(session)  # ends the fixtures
        except BaseException:  # noqa: BLE001 - of pytest, not of a test: the parent sees only that the worker died
            traceback.print_exc(file=sys.__stderr__)
        finally:
            atexit._run_exitfuncs()  # noqa: SLF001 - what the tests of this worker registered
            sys.__stderr__.flush()
            os._exit(status)

    def _become_worker(self, config: pytest.Config, number: int, parent: Connection) -> None:
        atexit._clear()  # noqa: SLF001 - that is the parent's
        os.environ["PYTEST_XDIST_WORKER"] = f"gw{number}"
        os.environ["PYTEST_XDIST_WORKER_COUNT"] = str(self._workers)
        temporary = temporary_folder(config)
        own = temporary.getbasetemp() / f"worker-{number}"
        own.mkdir(mode=0o700, exist_ok=True)
        temporary._basetemp = own  # noqa: SLF001 - as the workers of xdist get one by an option
        config.pluginmanager.unregister(name="terminalreporter")
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()  # its file has one offset in all processes
        capture.start_global_capturing()
        Reporter(config, parent)

    def _hear(self, session: pytest.Session, worker: Worker) -> bool:
        """Report what a worker tells; False if it has ended."""
        hook, config = session.config.hook, session.config
        if (heard := worker.hear()) is None:
            if worker.now is not None:
                hook.pytest_runtest_logreport(report=died(session.items[worker.now]))
            return False
        kind, told = heard
        if kind == "test":
            worker.now, worker.following = told
        elif kind == "warning":
            message, when, nodeid = told
            caught = warnings.WarningMessage(message, UserWarning, nodeid, 0)
            hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": caught, "when": when, "nodeid": nodeid, "location": None}
            )
        else:
            report = hook.pytest_report_from_serializable(config=config, data=told)
            hook.pytest_runtest_logreport(report=report)
        return True


def temporary_folder(config: pytest.Config) -> pytest.TempPathFactory:
    """Return what makes the folders of `tmp_path`."""
    factory: pytest.TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]  # noqa: SLF001
    return factory


def run(session: pytest.Session, ranges: Ranges, number: int, first: int | None, parent: Connection) -> None:
    """Run tests until none is left; pytest must know the next one to keep the fixtures that both use."""
    now = ranges.take(number) if first is None else first
    while now is not None:
        following = ranges.take(number)
        parent.send(("test", (now, following)))
        item = session.items[now]
        nextitem = None if following is None else session.items[following]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        now = following
    parent.send(("test", (None, None)))


def died(item: pytest.Item) -> pytest.TestReport:
    """Return the report of a test in which its worker died."""
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr="The worker died while it ran this test.",
        when="call",
    )
