"""Stand-ins of the providers on loopback, for the demo and the tests; faults included.

Imports nothing else of the package: an independent counterpart of the adapters.
"""

from tocsin.standins.faults import Fault, FaultScript
from tocsin.standins.recorder import Received, Recorder
from tocsin.standins.town import Town, open_standins

__all__ = ["Fault", "FaultScript", "Received", "Recorder", "Town", "open_standins"]
