"""teamchat: Slack, by Web API and Events API. Source: channel fact book, section 1."""

from tocsin.channels.teamchat.adapter import TeamchatAdapter

__all__ = ["TeamchatAdapter"]
