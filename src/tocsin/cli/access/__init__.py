"""Commands for who may use the dashboard and the gateway, and for what they can call there."""
