#!/bin/sh
# Finds a Python that is new enough and lets it run bootstrap.py.
set -eu
cd "$(dirname "$0")/.."
for python in "${PYTHON:-}" .venv/bin/python python3 python3.14 python3.13 python3.12 python3.11; do
    if [ -n "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" tools/bootstrap.py "$@"
    fi
done
echo "error: Tocsin needs Python 3.11 or newer, and none was found on PATH." >&2
echo "  fix: install one (Debian and Ubuntu: apt-get install python3), or name one: make PYTHON=/path/to/python3" >&2
exit 1
