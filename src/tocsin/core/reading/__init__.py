"""Reading YAML, JSON and fields of strangers, with positions and suggestions."""
