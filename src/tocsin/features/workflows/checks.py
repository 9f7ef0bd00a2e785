"""The checks of workflows in `tocsin doctor`."""

from collections.abc import AsyncIterator

from tocsin.core.text.strings import number_of
from tocsin.features.hooks import Checks, FeatureCheck
from tocsin.features.workflows.service import Workflows
from tocsin.terminal.findings import Finding, failure

SHOWN = 3  # problems of one file


async def check_workflows(workflows: Workflows) -> AsyncIterator[Finding]:
    """Check the file of each workflow."""
    found = await workflows.all()
    for file in found:
        if file.unreadable:
            yield failure("workflows", file.unreadable)
            continue
        fix = f"tocsin workflows validate {file.name}"
        for problem in file.read.errors[:SHOWN]:
            yield Finding("error", "workflows", problem.as_line(str(file.path)), fix)
        for problem in file.read.warnings[:SHOWN]:
            yield Finding("warning", "workflows", problem.as_line(str(file.path)), fix)
    valid = sum(file.valid for file in found)
    if valid:
        yield Finding("ok", "workflows", f"{number_of(valid, 'workflow')} in {workflows.folder}")


CHECKS: Checks[Workflows] = (FeatureCheck(check_workflows, at_start=True),)
