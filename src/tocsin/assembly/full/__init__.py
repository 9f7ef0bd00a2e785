"""What services, the dashboard and single commands need besides a send; imported when a part is first used."""
