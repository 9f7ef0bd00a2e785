"""Public records: one class per resource, from which its JSON and its JSON Schema are generated."""
