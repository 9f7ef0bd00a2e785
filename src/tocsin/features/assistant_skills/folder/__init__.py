"""Access to the folder of a run, and to nothing else."""
