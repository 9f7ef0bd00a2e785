"""The HTTP gateway: sending, webhooks, deliveries, health and metrics."""
