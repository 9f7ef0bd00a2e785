"""What all operations of the HTTP interfaces have in common: problems, strict reading, pages, conditions, keys."""
