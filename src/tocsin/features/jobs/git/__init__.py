"""Git, as task jobs use it."""
