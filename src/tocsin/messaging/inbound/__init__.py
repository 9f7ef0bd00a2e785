"""Everything that is received: inbox, lanes and handlers."""
