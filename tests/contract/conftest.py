"""The examples on the path as if they were installed."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

# At collection: the examples' own test modules are imported below.
sys.path += [str(EXAMPLES / name) for name in ("webhookchat", "heartbeat")]
