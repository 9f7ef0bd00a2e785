"""Commands about who may use the dashboard and the gateway."""
