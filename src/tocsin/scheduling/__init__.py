"""Schedules, missed instants, overlapping runs, and the lease that elects one scheduler among several processes."""
