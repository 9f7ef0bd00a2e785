"""The commented example that `tocsin workflows new` writes."""

from tocsin.features.file_schemas import modeline
from tocsin.features.workflows.feature import WORKFLOW_FILE

EXAMPLE = """\
# Check: tocsin workflows validate {name}    Plan: tocsin workflows run {name} --dry-run
name: {name}
description: Report how full a disk is

# Values that a run is given: tocsin workflows run {name} --param folder=/var
params:
  folder: {{type: string, default: /, description: Which file system}}
  limit: {{type: integer, default: 90, minimum: 1, maximum: 100}}

# Who gets a summary when a run fails, and when one succeeds again. The profile must exist in profiles.yaml.
# notify_profile: oncall
# notify_on: [failure, recovery]

# Without depends_on the steps run from top to bottom.
steps:
  - name: measure
    # Every parameter is a variable PARAM_<NAME> of the shell, and every output of a step STEP_<STEP>_<OUTPUT>.
    command: df -P "$PARAM_FOLDER" | awk 'NR == 2 {{ print $5 }}' | tr -d %
    timeout: 30s
    outputs:
      used: stdout | trim

  - name: warn
    when: steps.measure.outputs.used > params.limit
    command: echo "the file system of $PARAM_FOLDER is $STEP_MEASURE_USED % full"

# These run after the steps, when the run has failed.
on_failure:
  - name: explain
    # Other values become variables here.
    env: {{CODE: "${{steps.measure.exit_code}}"}}
    command: echo "the measurement failed with exit code $CODE"
"""


def example(name: str) -> str:
    """Return the file of a new workflow."""
    return modeline(WORKFLOW_FILE) + EXAMPLE.format(name=name)
