"""Presses on the pages behind signed links, on channels that need not be able to receive."""

from tocsin.channels.inbound import InboundAdapter, InboundMessage
from tocsin.channels.presses import LinkPresses, is_by_link
from tocsin.channels.registry import Registry


def receiver_of(registry: Registry, message: InboundMessage) -> InboundAdapter:
    """Return the inbound side of the channel of a message; raises UnknownChannelError.

    A press on the page behind a signed link needs none, and may be on a channel that cannot receive.
    """
    return LinkPresses() if is_by_link(message) else registry.receiver(message.channel)
