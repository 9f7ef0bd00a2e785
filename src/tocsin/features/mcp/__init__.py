"""An MCP server: agents notify people and look at what happened; they cannot approve."""
