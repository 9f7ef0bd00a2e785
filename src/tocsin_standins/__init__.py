"""Stand-ins of the providers on loopback, with faults on request, for the demo and the tests.

This package imports nothing from `tocsin`, so that it checks the adapters independently.
"""

from tocsin_standins.cluster import StandinCluster, open_standins
from tocsin_standins.faults import Fault, FaultScript
from tocsin_standins.recorder import RecordedRequest, Recorder

__all__ = ["Fault", "FaultScript", "RecordedRequest", "Recorder", "StandinCluster", "open_standins"]
