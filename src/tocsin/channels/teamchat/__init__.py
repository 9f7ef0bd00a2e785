"""teamchat: Slack, by Web API and Events API. Source: docs/facts/teamchat.md."""

from tocsin.channels.teamchat.adapter import TeamchatAdapter

__all__ = ["TeamchatAdapter"]
