"""Stand-ins of the providers on loopback, for the demo and the tests; faults included.

Imports nothing else of the package: an independent counterpart of the adapters.
"""

from tocsin_standins.cluster import StandinCluster, open_standins
from tocsin_standins.faults import Fault, FaultScript
from tocsin_standins.recorder import RecordedRequest, Recorder

__all__ = ["Fault", "FaultScript", "RecordedRequest", "Recorder", "StandinCluster", "open_standins"]
