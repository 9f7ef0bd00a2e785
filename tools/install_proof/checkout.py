"""A checkout that is installed for the whole machine, with the units of systemd, which does not run here."""

import re
import subprocess
from pathlib import Path

from tools.install_proof.debian import ROOT, DebianRoot, install_packages, mount_into
from tools.install_proof.installation import Installation
from tools.install_proof.ways import COMMIT_FILE, Way, commands_of, lines

# In place of systemd, which does not run in a chroot: the unit's user and command, and no restrictions.
SYSTEMCTL = """\
#!/bin/sh
pid=/run/tocsin.pid
as_tocsin() { exec setpriv --reuid tocsin --regid tocsin --init-groups env HOME=/var/lib/tocsin \\
    TOCSIN_DATA_DIR=/var/lib/tocsin /opt/tocsin/bin/tocsin --env-file /etc/tocsin/tocsin.env "$@"; }
case "$*" in
"start tocsin.service")
    install -d -o tocsin -g tocsin -m 0700 /var/lib/tocsin
    as_tocsin up </dev/null >>/var/log/tocsin-up.log 2>&1 &
    echo $! >$pid ;;
"start tocsin-doctor.service")
    # An error is none of the installation: the chroot has no sandbox.
    (as_tocsin doctor --offline) >/var/log/doctor.log 2>&1 || true ;;
"stop tocsin.service")
    if [ -e $pid ]; then
        kill "$(cat $pid)"
        while kill -0 "$(cat $pid)" 2>/dev/null; do sleep 0.1; done
        rm $pid
    fi ;;
esac
"""


class CheckoutWay(Way):
    """A checkout that is installed for the whole machine, with the units of systemd."""

    name = "checkout"
    packages = ("git", "python3", "python3-venv", "sqlite3")

    def install(self, source: Path) -> Installation:
        root = self.new_root()
        with self.steps.step("apt-get install git python3-venv sqlite3"):
            install_packages(root, self.packages)
        (root / "usr/local/sbin/systemctl").write_text(SYSTEMCTL)
        (root / "usr/local/sbin/systemctl").chmod(0o755)
        origin = self.origin(root, source)
        with self.steps.step("git clone, the guide's installation, the units"):
            root.script(f"git clone --quiet {origin} /srv/checkout")
            checkout = {"home": "/srv/checkout"}
            root.script(commands_of("docs/guide.md", "## Install")[0], **checkout)
            root.script(commands_of("deploy/README.md", "## systemd")[0], **checkout)
        values, ports = self.values()
        env_file = root / "etc/tocsin/tocsin.env"
        env_file.write_text(env_file.read_text("utf-8") + lines(values))
        program = self.as_tocsin()
        installation = Managed(root, program, "root", "/srv/checkout", "/var/lib/tocsin", ports, owner="tocsin")
        root.script("install -d -o tocsin -g tocsin -m 0700 /var/lib/tocsin")
        return installation

    def as_tocsin(self) -> list[str]:
        """Return the words of the page's `as_tocsin`."""
        [block] = [text for text in commands_of("docs/operation.md", "# Operation") if text.startswith("as_tocsin()")]
        return ["sh", "-c", f'{block} as_tocsin "$@"', "sh"]

    def upgrade(self, old: Installation, source: Path) -> Installation:
        self.origin(old.root, source)
        [commands] = commands_of("docs/operation.md", "## Upgrade")
        old.root.script(commands, home="/srv/checkout")
        old.wait()
        old.stop()
        return old

    def back_up(self, installation: Installation) -> None:
        mount_into(installation.root, "/backup", self.backup)
        [commands, *_] = commands_of("docs/operation.md", "## Back up")
        installation.root.script(commands, home="/srv/checkout")
        installation.stop()

    def restore(self, installation: Installation) -> None:
        mount_into(installation.root, "/backup", self.backup)
        commands, *_ = commands_of("docs/operation.md", "## Restore")
        installation.root.script(commands, home="/srv/checkout")
        text = (installation.root / "etc/tocsin/tocsin.env").read_text("utf-8")
        found = re.findall(r"^(?:GATEWAY|DASHBOARD)_PORT=(\d+)$", text, re.MULTILINE)
        installation.ports = int(found[-2]), int(found[-1])

    def origin(self, root: DebianRoot, source: Path) -> str:
        """Return the repository that a root clones; its branch has the commit of the folder."""
        place = root / "srv/origin.git"
        if not place.exists():
            subprocess.run(["git", "clone", "--quiet", "--bare", str(ROOT), str(place)], check=True)
        commit = (source / COMMIT_FILE).read_text().strip()
        for words in (["update-ref", "refs/heads/main", commit], ["symbolic-ref", "HEAD", "refs/heads/main"]):
            subprocess.run(["git", *words], cwd=place, check=True)
        return "/srv/origin.git"


class Managed(Installation):
    """An installation whose services systemd starts."""

    def start(self) -> None:
        self.root.run(["systemctl", "start", "tocsin.service"])
        self.wait()

    def stop(self) -> None:
        self.root.run(["systemctl", "stop", "tocsin.service"])
