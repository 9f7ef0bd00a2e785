"""The metrics of workflows; those of their runs, and of steps that wait for approval, are of the engine."""

from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.hooks import FeatureMetrics
from tocsin.features.workflows.service import Workflows

WORKFLOWS = Metric("tocsin_workflows", "Workflow files by state: valid or invalid.", ("state",))


async def read_metrics(workflows: Workflows) -> Iterable[Sample]:
    """Return how many files are valid."""
    found = await workflows.all()
    valid = sum(file.valid for file in found)
    return count_samples(WORKFLOWS, {"valid": valid, "invalid": len(found) - valid})


METRICS = FeatureMetrics[Workflows]((WORKFLOWS,), read_metrics)
