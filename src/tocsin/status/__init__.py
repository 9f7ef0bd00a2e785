"""How everything is: subsystems, services, runs, and what needs a person."""
