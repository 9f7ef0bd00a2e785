"""Reading rows of the memory tables, and statistics."""
