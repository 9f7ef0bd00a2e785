"""apprise: one of the services of the library Apprise for each target. Source: docs/facts/apprise.md."""

from tocsin.channels.apprise.adapter import AppriseAdapter

__all__ = ["AppriseAdapter"]
