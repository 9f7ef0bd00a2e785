"""Clients of the Redis servers of tests."""

from tests.waiting import PATIENCE_S

from tocsin.core.storage.redis_client import RedisClient, open_redis


def patient_redis(url: str, *, wait_replicas: int = 0) -> RedisClient:
    """Return a client for what tests ask: an answer that a busy machine delays for seconds is no outage."""
    return open_redis(url, answer_timeout_s=PATIENCE_S, wait_replicas=wait_replicas)
