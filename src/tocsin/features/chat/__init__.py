"""Conversations with the chat model in the dashboard."""
