"""One module for each group of commands that belongs to a floor."""
