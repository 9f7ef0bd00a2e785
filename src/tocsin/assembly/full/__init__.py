"""The parts of services, the dashboard and commands other than sends; imported at their first use."""
