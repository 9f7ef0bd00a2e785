"""Commands that manage access to the dashboard and the gateway, and describe their API."""
