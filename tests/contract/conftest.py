"""The example on the path as if it were installed."""

import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "webhookchat"

sys.path.append(str(EXAMPLE))  # at collection: the example's own test module is imported below
