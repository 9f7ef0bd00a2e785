"""Browser profiles: Chromium with data directories of their own, started and stopped here."""
