"""When something is due: schedules, missed instants, overlap, and the lease that lets one process of several decide."""
