"""What the tests of receiving channels share."""

from collections.abc import AsyncIterator

import pytest
from tests.channels.endpoint import Endpoint, webhook

from tocsin.channels.inbound import InboundAdapter
from tocsin.testing.fakes import FakeClock


@pytest.fixture
async def endpoint(receiver: InboundAdapter, clock: FakeClock) -> AsyncIterator[Endpoint]:
    """Serve the webhook of a module's `receiver`."""
    async with webhook(receiver, clock) as endpoint:
        yield endpoint
