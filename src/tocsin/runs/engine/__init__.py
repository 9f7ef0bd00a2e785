"""Starts, queues, settles, resumes and recovers runs of every kind."""
