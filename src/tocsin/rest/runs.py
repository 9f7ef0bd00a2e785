"""The answers of operations that start runs."""

from typing import Any

from tocsin.runs.model import Run

# What starting something may answer: the run that has ended, or the one that goes on.
RUN_STARTED: dict[int | str, dict[str, Any]] = {
    200: {"model": Run, "description": "The run, which ended within `Prefer: wait=N`."},
    202: {"model": Run, "description": "The run has started. Its URL is in `Location`."},
}
