"""The stand-in of chat models."""
