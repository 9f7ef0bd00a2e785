"""Run the tests with the oldest or newest versions that pyproject.toml allows: `python -m tools.versions lowest`.

The packages come from the package index, into an environment of their own below `.cache/versions`, which is kept until
the versions change. Tools of development have their locked versions. `--python PATH` takes another interpreter than
this one. Further arguments go to pytest, which otherwise runs what the packages can affect.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".cache" / "versions"
EXTRAS = ("demo", "apprise", "chat", "otel", "push", "voice")
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
# Not those of prose, of the checkout, and of what stands beside the program.
LEFT_OUT = ("deploy", "docs", "e2e", "house", "standins")


def main() -> int:
    """Make the environment and run the tests in it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.versions", description=__doc__)
    parser.add_argument("which", choices=RESOLUTIONS)
    parser.add_argument("--python", default=sys.executable, help="the interpreter (default: this one)")
    arguments, words = parser.parse_known_args()
    python = environment(arguments.which, arguments.python)
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *(words or ["-n", "2", "-q", *tests()])]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def tests() -> list[str]:
    """Return the tests that the versions of packages can affect."""
    found = (path for path in (ROOT / "tests").iterdir() if path.is_dir() or path.name.startswith("test_"))
    rooms = sorted(f"tests/{path.name}" for path in found if not path.name.startswith("_"))
    return [
        *(room for room in rooms if room.removeprefix("tests/") not in LEFT_OUT),
        "tests/house/test_private_names.py",
    ]


def environment(which: str, interpreter: str = sys.executable) -> Path:
    """Return the Python of the environment with these versions; it is made anew when they have changed."""
    name = f"{which}-{_version(interpreter)}"
    place, pins = PLACE / name, PLACE / f"{name}.txt"
    PLACE.mkdir(parents=True, exist_ok=True)
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    chosen = ("--python", interpreter, "--resolution", RESOLUTIONS[which])
    new = uv("pip", "compile", "--quiet", *chosen, "--upgrade", *extras, "pyproject.toml")
    tools = [
        pin for pin in _pins((ROOT / "requirements" / "dev.txt").read_text("utf-8")) if _name(pin) not in _names(new)
    ]
    wanted = "\n".join([*_pins(new), *tools])
    python = place / "bin" / "python"
    if not pins.exists() or pins.read_text("utf-8") != wanted or not python.exists():
        shutil.rmtree(place, ignore_errors=True)
        pins.unlink(missing_ok=True)
        uv("venv", "--quiet", "--seed", "--python", interpreter, str(place))
        constraints = PLACE / f"{name}-constraints.txt"
        constraints.write_text(wanted, "utf-8")
        project = f".[{','.join(EXTRAS)}]"
        groups = ("--group", "dev", "--group", "build")
        uv("pip", "install", "--quiet", "--python", str(python), "-c", str(constraints), "-e", project, *groups)
        pins.write_text(wanted, "utf-8")
    print(f"{name}: {', '.join(_pins(new))}", flush=True)
    return python


def _version(interpreter: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([interpreter, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _pins(text: str) -> list[str]:
    return re.findall(r"^[\w.-]+==[\w.!+]+", text, re.MULTILINE)


def _name(pin: str) -> str:
    return re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower()


def _names(text: str) -> set[str]:
    return {_name(pin) for pin in _pins(text)}


def uv(*words: str) -> str:
    """Return what uv prints; it is installed where it is missing. Exits with a sentence if it fails."""
    program = shutil.which("uv") or Path(sys.executable).with_name("uv")
    if not Path(program).exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=True)
    done = subprocess.run([program, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"uv {' '.join(words[:2])} failed; is the package index reachable?")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
