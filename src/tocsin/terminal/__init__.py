"""The terminal: parsing of arguments and output of results."""
