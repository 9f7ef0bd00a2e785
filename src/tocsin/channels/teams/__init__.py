"""teams: cards in Microsoft Teams, posted by a workflow. Source: docs/facts/teams.md."""

from tocsin.channels.teams.adapter import TeamsAdapter

__all__ = ["TeamsAdapter"]
