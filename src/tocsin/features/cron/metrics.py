"""The metrics of cron jobs."""

from collections import Counter
from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.cron.model import JobState
from tocsin.features.cron.service import CronJobs
from tocsin.features.hooks import FeatureMetrics

MAX_LABELLED = 200  # jobs, by name: a label with more values would burden Prometheus
LABEL = ("cron_job",)  # Prometheus itself sets the label `job`

JOBS = Metric("tocsin_cron_jobs", "Cron jobs by state.", ("state",))
FAILING = Metric("tocsin_cron_jobs_failing", "Cron jobs whose last run failed.")
LATE = Metric("tocsin_cron_late_seconds", "How long the earliest due instant of all jobs has waited for a scheduler.")
JOB_FAILING = Metric(
    "tocsin_cron_job_failing", f"1 if the last run of a job failed; the first {MAX_LABELLED} jobs by name.", LABEL
)
LAST_SUCCESS = Metric(
    "tocsin_cron_job_last_success_timestamp_seconds",
    f"Time when the last successful run of a job ended; the first {MAX_LABELLED} jobs by name.",
    LABEL,
)


async def read_metrics(jobs: CronJobs) -> Iterable[Sample]:
    found, running = (await jobs.store.all(), await jobs.running_ids()) if jobs.are_kept else ([], set[str]())
    succeeded, failing = await jobs.store.outcomes() if found else ({}, set[str]())
    counts = dict.fromkeys(map(str, JobState), 0) | Counter(
        str(job.state(jobs.now(), is_running=job.id in running)) for job in found
    )
    late = max((jobs.now() - job.next_at for job in found if job.next_at is not None), default=0.0)
    shown = found[:MAX_LABELLED]
    return [
        *count_samples(JOBS, counts),
        Sample(FAILING, sum(job.id in failing for job in found)),
        Sample(LATE, max(0.0, late)),
        *(Sample(JOB_FAILING, job.id in failing, (job.name,)) for job in shown),
        *(Sample(LAST_SUCCESS, succeeded[job.id], (job.name,)) for job in shown if job.id in succeeded),
    ]


METRICS = FeatureMetrics[CronJobs]((JOBS, FAILING, LATE, JOB_FAILING, LAST_SUCCESS), read_metrics)
