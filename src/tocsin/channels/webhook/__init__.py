"""webhook: signed events for programs, by Standard Webhooks. Source: docs/facts/standard-webhooks.md."""

from tocsin.channels.webhook.adapter import WebhookAdapter

__all__ = ["WebhookAdapter"]
