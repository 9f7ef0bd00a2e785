"""The metrics of skills; those of their runs are of the engine."""

from asyncio import to_thread
from collections.abc import Iterable

from tocsin.core.metrics import Metric, Sample, count_samples
from tocsin.features.hooks import FeatureMetrics
from tocsin.features.skills.service import Skills

SKILLS = Metric("tocsin_skills", "Installed skills by state: valid or invalid.", ("state",))


async def read_metrics(skills: Skills) -> Iterable[Sample]:
    """Return how many skills are valid."""
    found = await to_thread(skills.list)
    valid = sum(skill.valid for skill in found)
    return count_samples(SKILLS, {"valid": valid, "invalid": len(found) - valid})


METRICS = FeatureMetrics[Skills]((SKILLS,), read_metrics)
