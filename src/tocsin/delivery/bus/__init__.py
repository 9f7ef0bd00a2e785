"""The bus: Redis Streams and publish/subscribe as a way into the queue."""
