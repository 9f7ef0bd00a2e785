"""The demo page: talk to the bot, and see what every channel received."""
