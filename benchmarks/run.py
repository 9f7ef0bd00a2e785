"""Print every figure that the README quotes, measured side by side in this one run: `make bench`."""

import sys
from importlib import import_module

from report import markdown

PARTS = (
    "startup",
    "gateway",
    "sends",
    "markup",
    "hostile",
    "vault",
    "audit",
    "delivery",
    "webhooks",
    "runs",
    "memory",
    "watching",
    "watchers",
    "rest",
    "streams",
    "logins",
)


def main() -> None:
    """Measure the parts named on the command line, or all of them."""
    rows = []
    for name in sys.argv[1:] or PARTS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        rows += import_module(name).measure()
    print(markdown(rows))
    sys.exit(0 if all(row.met for row in rows) else 1)


if __name__ == "__main__":
    main()
