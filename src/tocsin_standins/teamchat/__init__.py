"""The stand-in of the Slack Web API."""
