"""Child processes: starting, sandboxing and ending them; detecting which processes are alive."""
