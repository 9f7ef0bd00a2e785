"""A repository with more branches of jobs than one page of them."""

import asyncio
import subprocess

from tests.features.jobs.conftest import Workshop, git

from tocsin.features.jobs.model import TaskJob


async def test_the_branches_of_very_many_jobs_are_all_found(workshop: Workshop):
    sha, names = git(workshop.site, "rev-parse", "HEAD"), [f"job/{number}" for number in range(1001)]
    made = "".join(f"create refs/heads/{name} {sha}\n" for name in names)
    who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
    argv = ["git", "-C", str(workshop.site), *who, "update-ref", "--stdin"]
    subprocess.run(argv, input=made, text=True, check=True)
    known = {"created_at": 1.0, "updated_at": 1.0, "repo": str(workshop.site), "base_branch": "main", "base_sha": sha}
    jobs = [TaskJob(id=f"{n:036x}", title="a", branch=name, head_sha=sha, **known) for n, name in enumerate(names)]
    await asyncio.gather(*map(workshop.jobs.store.add, jobs))
    assert {job.head_sha for job in await workshop.jobs.branches.refreshed(jobs)} == {sha}
