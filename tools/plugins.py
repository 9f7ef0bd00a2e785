"""Prove that authors of plug-ins can test what they copied: `python -m tools.plugins`.

Builds the wheel, installs it with the extra `testing` from the package index into a clean environment, and runs copies
of the examples there, outside the checkout.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.versions import ROOT, uv


def main() -> int:
    """Run the tests of every example; return the exit code."""
    with TemporaryDirectory(prefix="tocsin-plugins-") as folder:
        place = Path(folder)
        uv("build", "--quiet", "--wheel", "--out-dir", str(place))
        [wheel] = place.glob("*.whl")
        uv("venv", "--quiet", "--python", sys.executable, str(place / "venv"))
        python = str(place / "venv" / "bin" / "python")
        uv("pip", "install", "--quiet", "--python", python, f"tocsin[testing] @ {wheel.as_uri()}")
        copies = shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        failed = [each.name for each in sorted(copies.iterdir()) if not _passes(each, python)]
    print(f"failed: {', '.join(failed)}" if failed else "all examples pass")
    return 1 if failed else 0


def _passes(example: Path, python: str) -> bool:
    print(f"{example.name} …", flush=True)
    uv("pip", "install", "--quiet", "--python", python, str(example))
    return subprocess.run([python, "-m", "pytest", "-q"], cwd=example, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
