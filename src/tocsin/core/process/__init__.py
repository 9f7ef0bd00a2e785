"""Child processes: starting, confining and ending them; telling which processes live."""
