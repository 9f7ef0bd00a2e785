"""Move the records that STORE covers from one store to the other."""
