"""The cron jobs of a data directory as the rest of the program uses them."""

from tocsin.features.context import FeatureContext
from tocsin.features.cron.records import local_time
from tocsin.features.cron.scheduler import Scheduler
from tocsin.features.cron.service import CronJobs


def open_cron(context: FeatureContext) -> CronJobs:
    """Return the jobs of the data directory."""
    return CronJobs(context)


def scheduler_of(jobs: CronJobs) -> Scheduler:
    """Return what runs the jobs beside the other services."""
    return jobs.scheduler()


async def status_of(jobs: CronJobs) -> list[str]:
    """Return the lines for `/status`: how many jobs there are, which fail, and what is next."""
    found = await jobs.store.all()
    if not found:
        return ["Cron jobs: none"]
    active = [job for job in found if job.next_at is not None]
    said = [str(len(found)), f"{len(active)} scheduled"]
    if running := len(await jobs.running_ids()):
        said.append(f"{running} running")
    if failing := await jobs.failing():
        said.append(f"{failing} failing")
    lines = [f"Cron jobs: {', '.join(said)}"]
    if active:
        following = min(active, key=lambda job: job.next_at or 0.0)
        lines.append(f"Next: {following.name}, {local_time(following, following.next_at)}")
    return [*lines, *(f"Cron is disturbed: {trouble.detail}" for trouble in await jobs.troubles())]
