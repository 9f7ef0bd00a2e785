"""What ran, when, and how it ended: one record for everything that is executed."""
