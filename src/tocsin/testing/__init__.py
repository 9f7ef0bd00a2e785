"""For authors of channels: a fake clock, a scripted transport, and the contract suites."""

from tocsin.testing.fakes import FakeClock, ScriptedTransport, SentRequest, build_adapter

__all__ = ["FakeClock", "ScriptedTransport", "SentRequest", "build_adapter"]
