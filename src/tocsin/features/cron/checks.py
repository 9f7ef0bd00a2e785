"""The checks of cron jobs in `tocsin doctor`."""

import shlex
from collections.abc import AsyncIterator

from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import number_of
from tocsin.features.cron.model import CronJob, JobState
from tocsin.features.cron.service import CronJobs
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.terminal.findings import Finding


async def check_cron(jobs: CronJobs) -> AsyncIterator[Finding]:
    """Check the definition of each job, and whether its output has a destination."""
    if not jobs.are_kept:
        return
    found = await jobs.all()
    for job in found:
        for finding in _check_job(jobs, job):
            yield finding
    if problem := jobs.files.problem:
        yield Finding("error", "cron", f"{problem}; its jobs are unchanged", "make it a folder that Tocsin can read")
    for trouble in await jobs.troubles():
        yield Finding(
            "warning", "cron", trouble.detail, "check the clock of the machine, and that `tocsin up` is running"
        )
    if found:
        scheduled = sum(job.state(jobs.now(), is_running=False) is JobState.SCHEDULED for job in found)
        yield Finding("ok", "cron", f"{number_of(len(found), 'job')}, {scheduled} scheduled, time zone {jobs.zone}")


def _check_job(jobs: CronJobs, job: CronJob) -> list[Finding]:
    findings, name = [], shlex.quote(job.name)
    if job.problem:
        findings.append(Finding("error", "cron", f"{job.name}: {job.problem}", f"correct {job.file}"))
    elif job.state(jobs.now(), is_running=False) is JobState.INVALID:
        findings.append(Finding("error", "cron", f"{job.name} never runs", f"tocsin cron show {name}"))
    if job.state(jobs.now(), is_running=False) is JobState.AUTO_DISABLED:
        said = f"{job.name} is disabled: {job.paused_reason}"
        findings.append(Finding("warning", "cron", said, f"tocsin cron enable {name}"))
    if job.definition and job.definition.output:
        try:
            jobs.check_output(job.definition.output)
        except TocsinError as error:
            findings.append(
                Finding("warning", "cron", f"the output of {job.name} cannot be delivered: {error}", error.hint)
            )
    return findings


CHECKS: Checks[CronJobs] = (FeatureCheck(check_cron, at_start=True),)
