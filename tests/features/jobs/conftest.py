"""Task jobs in a directory of their own, with real repositories."""

import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.audit_entries import check_audit_log

from tocsin.features.jobs.feature import FEATURE
from tocsin.features.jobs.git.repository import GitRepository
from tocsin.features.jobs.model import NewTaskJob, TaskJob
from tocsin.features.jobs.service import TaskJobs
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.features import FeatureBench, open_feature

ANA = Caller("cli", {"actor": "ana"})
_ENV = {
    "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ana", "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "Ana", "GIT_COMMITTER_EMAIL": "ana@example.org",
}  # fmt: skip


def git(folder: Path, *words: str | Path) -> str:
    """Return what git prints, as a person in that folder would call it."""
    done = subprocess.run(["git", *words], cwd=folder, env=_ENV, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="surrogateescape").strip()


def commit(folder: Path, name: str, text: str, subject: str = "Change it") -> str:
    """Commit one file and return the commit."""
    (folder / name).write_text(text)
    git(folder, "add", "--", name)
    git(folder, "commit", "-q", "-m", subject)
    return git(folder, "rev-parse", "HEAD")


def make_repository(path: Path) -> Path:
    """Make a repository with one commit on `main`."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    commit(path, "readme", "hello\n", "Begin")
    return path


@dataclass
class Workshop:
    """Open task jobs, and a folder with the repository `site`."""

    bench: FeatureBench
    repos: Path

    @property
    def jobs(self) -> TaskJobs:
        service: TaskJobs = self.bench.service
        return service

    @property
    def site(self) -> Path:
        return self.repos / "site"

    async def told(self) -> list[str]:
        """Return what the feed of changes tells of jobs and their branches."""
        sql = "SELECT topic || ' ' || kind AS told FROM changes WHERE topic IN ('jobs', 'branches') ORDER BY seq"
        return await self.bench.app.database.read(lambda c: [row["told"] for row in c.execute(sql)])

    async def create(self, title: str = "Fix the login", **fields: Any) -> TaskJob:
        return await self.jobs.create(NewTaskJob(**{"title": title, "repo": "site", **fields}), ANA)

    async def run(self, job: TaskJob) -> TaskJob:
        """Start a job and return it when it has ended."""
        started = await self.jobs.start(job.id, ANA)
        assert started.run is not None
        await started.run.wait()
        return await self.jobs.get(job.id)

    async def done(self, command: str, **fields: Any) -> TaskJob:
        """Return an ended job that ran a command."""
        return await self.run(await self.create(command=command, **fields))

    async def work_tree(self, job: TaskJob) -> Path:
        """Start a job whose work people do, and return where."""
        started = (await self.jobs.start(job.id, ANA)).job
        assert started.worktree_path is not None
        return Path(started.worktree_path)

    async def repository(self) -> GitRepository:
        return await self.jobs.places.open("site")


@asynccontextmanager
async def open_workshop(folder: Path, env: Mapping[str, str] | None = None, **more: Any) -> AsyncIterator[Workshop]:
    repos = folder / "repos"
    if not repos.exists():
        make_repository(repos / "site")
    settings = {**_ENV, "JOB_REPOSITORIES": str(repos), **(env or {})}
    async with open_feature(FEATURE, folder / "data", settings, **more) as bench:
        yield Workshop(bench, repos)
        check_audit_log(bench.app.audit.log)


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    async with open_workshop(tmp_path) as workshop:
        yield workshop


@pytest.fixture
def bench(workshop: Workshop) -> FeatureBench:
    return workshop.bench
