"""The demo page: a bot to talk to, and what every channel received."""
