"""Access control of the dashboard and the gateway: passwords, sessions, tokens and throttling."""
