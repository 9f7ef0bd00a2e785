"""Install, upgrade and restore Tocsin as the documents say, in empty Debian roots: `python -m tools.install_proof`.

For each way of running (the image, a wheel, a checkout): from an empty root to a message in the stand-in and a run of a
cron job on the dashboard; an upgrade of data that an older commit wrote; a backup, and its restore on an empty host.
Needs root and mmdebstrap. Times are printed; everything that is lost or changed is listed, and makes the exit code 1.
"""

import argparse
import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.town_thread import town_on_a_thread
from tools.install_proof.checkout import CheckoutWay
from tools.install_proof.debian import CACHE, ROOT, DebianRoot, Steps, debian_roots, make_empty_root
from tools.install_proof.first_run import first_run, first_run_of_checkout
from tools.install_proof.installation import Installation
from tools.install_proof.records import IN_DATABASE, audit_lines, count, fill, go_on, listed, lost, served, stored
from tools.install_proof.ways import ImageWay, Way, WheelWay, export

from tocsin_standins import StandinCluster

WAYS: dict[str, type[Way]] = {way.name: way for way in (ImageWay, WheelWay, CheckoutWay)}
# Before the image was rebuilt and the tables of runs and cron were migrated; a clone without history lacks it.
BEFORE = "32599ba63fd055e2a1be4e58ff9c9d414a6eada3"
OLDER = "0.0.1"  # the version that its wheel gets, because pip keeps a package that has the version of the new wheel


def main() -> int:
    """Prove the ways named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.install_proof", description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"ways to prove (default: {', '.join(WAYS)})")
    parser.add_argument("--before", default=BEFORE, metavar="COMMIT", help="commit whose data is upgraded")
    parser.add_argument("--only", choices=("first", "upgrade"), help="only the first run, or only the data")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write tocsin.db of the older commit there, as text")
    arguments = parser.parse_args()
    if unknown := set(arguments.ways) - set(WAYS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(WAYS)}")
    if os.geteuid() or not shutil.which("mmdebstrap"):
        sys.exit("this needs root, and mmdebstrap (apt-get install mmdebstrap)")
    new, before = _commit("HEAD"), _commit(arguments.before)
    CACHE.mkdir(parents=True, exist_ok=True)
    steps = Steps("all")
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # apt-get refuses a folder of packages that another one uses
        _prove(arguments, new, before, steps)
    _print_table(steps)
    return 1 if steps.failures else 0


def _prove(arguments: argparse.Namespace, new: str, before: str, steps: Steps) -> None:
    with TemporaryDirectory(prefix="tocsin-install-") as name, debian_roots(Path(name)):
        folder = Path(name)
        folder.chmod(0o755)
        sources = export(new, folder / "new"), export(before, folder / "before", OLDER)
        with steps.step("an empty Debian root"):
            base = make_empty_root(folder / "base")
        for way in arguments.ways or WAYS:
            steps.way = way
            if arguments.only != "upgrade":
                _first(WAYS[way], folder, base, sources[0], steps)
            if arguments.only != "first":
                _data(WAYS[way], folder, base, sources, steps, arguments.keep)


def _commit(name: str) -> str:
    words = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"this clone has no commit {name}: run `git fetch --unshallow`, or name another one with --before")
    return done.stdout.strip()


def _settings(town: StandinCluster) -> dict[str, str]:
    return {
        "GATEWAY_TOKEN": "a-token-for-this-proof",
        "DASHBOARD_USER": "anna",
        "DASHBOARD_PASS": "a-long-made-up-password",
        "REDIS_URL": "off",
        **{name: value for name, value in town.environment().items() if not name.startswith(("CHAT_", "SMTP_"))},
    }


def _first(kind: type[Way], folder: Path, base: DebianRoot, source: Path, steps: Steps) -> None:
    with town_on_a_thread() as town:
        way = kind(folder / "first", base, _settings(town), steps)
        if isinstance(way, CheckoutWay):
            first_run_of_checkout(way, source)
        else:
            first_run(way, source, town)


def _data(
    kind: type[Way], folder: Path, base: DebianRoot, sources: tuple[Path, Path], steps: Steps, kept_in: Path | None
) -> None:
    new, before = sources
    with town_on_a_thread() as town:
        way = kind(folder / "data", base, _settings(town), steps)
        used = way.install(before)
        used.start()
        fill(used, town)
        answered = served(used)
        used.stop()
        kept, log = stored(used), audit_lines(used)
        token = used.token
        if kept_in:
            write_database(used, kept_in)
        with steps.step("the upgrade"):
            used = way.upgrade(used, new)
        used.token = token
        if not way.is_installed(used.root, new):
            steps.failures.append(f"{way.name}: the upgrade did not install the new version")
        now = stored(used)
        steps.check("commands after the upgrade", list(lost(kept, now)), count(kept))
        steps.check("audit log after the upgrade", _cut(log, audit_lines(used)), len(log))
        used.start()
        steps.check("REST API after the upgrade", list(lost(answered, served(used))), count(answered))
        answered = served(used)
        used.stop()
        kept, log = stored(used), audit_lines(used)
        used.start()
        with steps.step("the backup"):
            way.back_up(used)
        host = way.install(new)
        with steps.step("the restore"):
            way.restore(host)
        host.token = token
        steps.check("commands after the restore", list(lost(kept, stored(host))), count(kept))
        steps.check("audit log after the restore", _cut(log, audit_lines(host)), len(log))
        host.start()
        steps.check("REST API after the restore", list(lost(answered, served(host))), count(answered))
        with steps.step("the run that waited is approved and ends, and the bot answers"):
            go_on(host, town)
        host.stop()


def write_database(tocsin: Installation, folder: Path) -> None:
    """Write the database as text, and what commands list of it, for the tests of later versions."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(tocsin.data_path / "tocsin.db")
    # Indexes of words are virtual; their contents are in tables of their own, which are written as all others.
    virtual = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL %'").fetchall()
    indexed = tuple(f'INSERT INTO "{name}" ' for (name,) in virtual)
    lines = [line for line in connection.iterdump() if not line.startswith(indexed)]
    (folder / "tocsin.db.sql").write_text("\n".join(lines) + "\n", "utf-8")
    connection.close()
    found = listed(tocsin, IN_DATABASE)
    rows = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in found.items())
    (folder / "listed.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def _cut(before: list[str], after: list[str]) -> list[str]:
    return [] if after[: len(before)] == before else ["the log does not begin with the lines that it had"]


def _print_table(steps: Steps) -> None:
    print("\n| way | step | seconds |\n|---|---|---|")
    for way, what, took in steps.rows:
        print(f"| {way} | {what.replace('|', '/')} | {took:.1f} |")
    print(f"\n{len(steps.failures)} values were lost or changed")


if __name__ == "__main__":
    sys.exit(main())
