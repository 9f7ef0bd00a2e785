"""Move everything that STORE decides about from one store into the other."""
