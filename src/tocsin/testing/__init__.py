"""For authors of channels: a clock that obeys, a scripted transport, and the channel contract suite."""

from tocsin.testing.parts import FakeClock, ScriptedTransport, SentRequest, build_adapter

__all__ = ["FakeClock", "ScriptedTransport", "SentRequest", "build_adapter"]
