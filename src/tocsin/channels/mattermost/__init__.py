"""mattermost: posts of a bot, by REST v4. Source: docs/facts/mattermost.md."""

from tocsin.channels.mattermost.adapter import MattermostAdapter

__all__ = ["MattermostAdapter"]
