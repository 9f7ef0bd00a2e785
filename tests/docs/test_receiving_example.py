"""The example of a channel that receives keeps every promise of receiving: its own suite, run here."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples" / "doorbell"))  # as if it were installed

from test_tocsin_doorbell import TestDoorbell

__all__ = ["TestDoorbell"]
