"""The status of the program: subsystems, services, runs, and items that need a person."""
