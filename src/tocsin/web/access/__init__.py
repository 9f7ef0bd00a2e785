"""Who may use the dashboard and the gateway: passwords, sessions, tokens, and what slows down guessing."""
