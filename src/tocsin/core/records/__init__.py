"""Public records: one class for each thing, from which its JSON and its JSON Schema are made."""
