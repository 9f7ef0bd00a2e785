"""webpush: notifications of browsers and phones, without a messenger. Source: docs/facts/web-push.md."""

from tocsin.channels.webpush.adapter import WebpushAdapter

__all__ = ["WebpushAdapter"]
