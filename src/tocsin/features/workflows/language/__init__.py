"""The language of workflow files: reading and validation before a run."""
