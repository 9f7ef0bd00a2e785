"""Repositories that name programs wherever git documents that one can be named; what runs leaves a mark.

Each repository carries a group of keys of the configuration, in one of the forms in which a repository can. All groups
of a form use one folder, because only small files differ.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

GIT_ENV = {
    "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_SSH": "/bin/false",
    "GIT_AUTHOR_NAME": "Ana", "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "Ana", "GIT_COMMITTER_EMAIL": "ana@example.org",
}  # fmt: skip

# Keys of git-config(1), gitattributes(5) and githooks(5) whose value is a program, a command line, or where one lies.
_ALONE = """
    browser.evil.cmd browser.evil.path core.alternateRefsCommand core.askPass core.editor core.fsmonitor core.gitProxy
    core.pager core.sshCommand diff.evil.command diff.evil.textconv diff.external difftool.evil.cmd difftool.evil.path
    filter.evil.clean filter.evil.process filter.evil.smudge gc.recentObjectsHook gitcvs.dbDriver
    gpg.ssh.defaultKeyCommand gpg.ssh.program gpg.x509.program guitool.evil.cmd help.browser imap.tunnel
    init.templateDir instaweb.browser instaweb.httpd instaweb.modulePath interactive.diffFilter man.evil.cmd
    man.evil.path merge.evil.driver mergetool.evil.cmd mergetool.evil.path pager.diff pager.log pager.status
    receive.procReceiveRefs remote.origin.receivepack remote.origin.uploadpack sendemail.ccCmd sendemail.headerCmd
    sendemail.sendmailCmd sendemail.smtpServer sendemail.toCmd sequence.editor tar.evil.command trailer.evil.cmd
    trailer.evil.command uploadpack.packObjectsHook web.browser
"""
_SIGNED = {"log.showSignature": "true", "commit.gpgSign": "true"}
PROGRAMS: dict[str, dict[str, str]] = {key: {key: "{evil}"} for key in _ALONE.split()}
PROGRAMS |= {
    "alias.status": {"alias.status": "!{evil}", "alias.diff": "!{evil}", "alias.evil": "!{evil}"},
    "core.attributesFile": {"core.attributesFile": "{repo}/../attributes", "filter.evil.smudge": "{evil}"},
    "core.hooksPath": {"core.hooksPath": "{hooks}"},
    "credential.helper": {"credential.helper": "!{evil}", "credential.https://example.org.helper": "!{evil}"},
    "gpg.openpgp.program": {"gpg.openpgp.program": "{evil}", **_SIGNED},
    "gpg.program": {"gpg.program": "{evil}", **_SIGNED},
    "hook.evil.command": {"hook.evil.command": "{evil}", "hook.evil.event": "post-checkout"},
    "remote.origin.vcs": {"remote.origin.vcs": "ext", "protocol.ext.allow": "always"},
    "submodule.lib.update": {"submodule.lib.update": "!{evil}", "submodule.lib.url": "ext::{evil}"},
    "url.ext::{evil} .insteadOf": {"url.ext::{evil} .insteadOf": "https://", "protocol.ext.allow": "always"},
}

# What the last part of a documented key is called if it names a program.
_NAMES_PROGRAM = re.compile(
    r"\.(\w*(cmd|command|program|helper|editor|pager|hook|browser|filter|tunnel|httpd|hookspath|askpass|proxy)"
    r"|textconv|external|\w*driver|clean|smudge|process|fsmonitor|uploadpack|receivepack|vcs|smtpserver"
    r"|attributesfile|templatedir|modulepath|procreceiverefs|path)$",
    re.IGNORECASE,
)
_OTHERS = ("advice.", "color.", "column.", "http.", "include", "remote.evil.proxy")  # words, addresses, our forms


def programs() -> list[str]:
    """Return the keys that name a program: those above, and others that the installed git documents by such names."""
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True, env=GIT_ENV).stdout
    keys = {re.sub(r"<[\w-]+>|\*", "evil", key) for key in listed.split() if "." in key}
    known = {_ends(key) for name, settings in PROGRAMS.items() for key in (name, *settings)}
    more = {key for key in keys if _NAMES_PROGRAM.search(key) and not key.startswith(_OTHERS)}
    return [*PROGRAMS, *sorted(key for key in more if _ends(key) not in known)]


def groups(count: int) -> list[dict[str, str]]:
    """Return the settings that name a program, in so many groups; keys of one kind are in different ones."""
    keys = programs()
    return [dict(setting for key in keys[n::count] for setting in settings_of(key).items()) for n in range(count)]


def settings_of(key: str) -> dict[str, str]:
    """Return the settings with which git uses the program of a key."""
    return PROGRAMS.get(key, {key: "{evil}"})


def _ends(key: str) -> tuple[str, str]:
    """Return a key in lower case and without the name in its middle."""
    section, *_, name = key.lower().split(".")
    return section, name


class Form(StrEnum):
    """Where a repository carries its settings."""

    PLAIN = "configuration"
    INCLUDE = "include"
    ON_BRANCH = "include on a branch"
    IN_WORK_TREE = "include in work trees"
    LONG_NAME = "include behind a long name"
    WORK_TREE = "configuration of the work tree"
    LINKED = "linked work tree"
    BARE = "bare"
    GIT_FILE = "git directory elsewhere"
    SUBMODULE = "submodule"
    NESTED = "repository in the work tree"


_PROMISED = {
    "core.repositoryFormatVersion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.partialCloneFilter": "blob:none",
}
# The ways in which git fetches the objects that a partial clone lacks.
PARTIAL_CLONES = {
    "upload-pack": {"remote.origin.url": "file://{repo}", "remote.origin.uploadpack": "{evil}"},
    "ext": {"remote.origin.url": "ext::{evil}", "protocol.ext.allow": "always"},
    "vcs": {"remote.origin.url": "{evil}", "remote.origin.vcs": "ext", "protocol.ext.allow": "always"},
    "ssh": {"remote.origin.url": "ssh://localhost/x", "core.sshCommand": "{evil}"},
    "proxy": {"remote.origin.url": "git://localhost/x", "core.gitProxy": "{evil}"},
    "insteadOf": {"remote.origin.url": "x:y", "url.ext::{evil} .insteadOf": "x:", "protocol.allow": "always"},
}
PARTIAL_CLONES = {name: _PROMISED | settings for name, settings in PARTIAL_CLONES.items()}


INCLUDES = {Form.INCLUDE, Form.ON_BRANCH, Form.IN_WORK_TREE, Form.LONG_NAME}


def run_git(folder: Path, *words: str | Path, check: bool = True) -> str:
    """Run git as a person in that folder would."""
    done = subprocess.run(
        ["git", *words], cwd=folder, env=GIT_ENV, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="replace").strip()


def make_base(base: Path) -> Path:
    """Make the repository that all hostile ones are copies of: two branches, a signed commit, attributes, a gitlink."""
    (base / "lib").mkdir(parents=True)
    for folder in (base / "lib", base):
        run_git(folder, "init", "-q", "-b", "main")
        shutil.rmtree(folder / ".git" / "hooks", ignore_errors=True)
        (folder / "readme").write_text("hello\n")
        (folder / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
        (folder / ".gitignore").write_text("ignored\n")
        run_git(folder, "add", ".")
        run_git(folder, "commit", "-qm", "Begin")
    run_git(base, "branch", "topic")
    (base / "readme").write_text("one\n")
    run_git(base, "commit", "-qam", "One")
    run_git(base, "worktree", "add", "-q", base.parent / "other", "topic")
    (base.parent / "other" / "readme").write_text("two\n")
    run_git(base.parent / "other", "commit", "-qam", "Two")
    run_git(base, "worktree", "remove", base.parent / "other")
    text = run_git(base, "cat-file", "commit", "HEAD").replace("\n\n", f"\ngpgsig {SIGNATURE}\n\n", 1)
    (base.parent / "signed").write_text(f"{text}\n")
    run_git(base, "update-ref", "HEAD", run_git(base, "hash-object", "-t", "commit", "-w", base.parent / "signed"))
    (base / "readme").write_text("changed\n")
    (base / "lib" / "readme").write_text("changed\n")
    return base


SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n \n iHUEABYKAB0WIQ\n -----END PGP SIGNATURE-----"


@dataclass
class HostileRepository:
    """A folder below `place` that takes one form, and carries one key after another."""

    place: Path
    form: Form

    @property
    def name(self) -> str:
        """What people call the repository: a folder below `place`."""
        return {Form.LINKED: "linked", Form.BARE: "bare.git"}.get(self.form, "site")

    @property
    def folder(self) -> Path:
        return self.place / self.name

    @property
    def mark(self) -> Path:
        """What is made when a program runs."""
        return self.place.parent / "ran"

    def make(self, base: Path) -> "HostileRepository":
        site, evil = self.place / "site", self.place.parent / "evil"
        shutil.copytree(base, site, symlinks=True)
        hooks = evil.with_name("hooks")
        hooks.mkdir()
        evil.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.mark}'\nexit 1\n")
        evil.chmod(0o755)
        for hook in ("post-checkout", "reference-transaction", "pre-commit", "post-index-change", "post-commit"):
            (hooks / hook).symlink_to(evil)
        (site.parent / "attributes").write_text("* filter=evil\n")
        if self.form is Form.LINKED:
            run_git(site, "worktree", "add", "-q", "-b", "linked", self.folder)
            (self.folder / "readme").write_text("changed\n")
        elif self.form is Form.BARE:
            shutil.copytree(site / ".git", self.folder)
            (self.folder / "index").unlink()
        elif self.form is Form.GIT_FILE:
            (site / ".git").rename(site / "hidden")
            (site / ".git").write_text("gitdir: hidden\n")
        elif self.form is Form.SUBMODULE:
            (site / ".git" / "modules").mkdir()
            (site / "lib" / ".git").rename(site / ".git" / "modules" / "lib")
            (site / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
        self._head, self._plain = run_git(self.folder, "rev-parse", "HEAD"), self._configuration.read_text()
        return self

    def log_commit(self, subject: str) -> None:
        """Add what a commit adds to git's log of the work tree: whoever can write there needs no git for it."""
        site = self.place / "site"
        places = {Form.LINKED: site / ".git" / "worktrees" / "linked", Form.GIT_FILE: site / "hidden"}
        with (places.get(self.form, site / ".git") / "logs" / "HEAD").open("a") as log:
            log.write(f"{'0' * 40} {self._head} Ana <ana@example.org> 1700000000 +0000\tcommit: {subject}\n")

    @property
    def _configuration(self) -> Path:
        site = self.place / "site"
        below = {
            Form.BARE: self.folder,
            Form.GIT_FILE: site / "hidden",
            Form.SUBMODULE: site / ".git" / "modules" / "lib",
            Form.NESTED: site / "lib" / ".git",
        }
        return below.get(self.form, site / ".git") / "config"

    def arm(self, settings: Mapping[str, str]) -> None:
        """Have the repository carry these settings, and forget what ran."""
        self.mark.unlink(missing_ok=True)
        places = {"evil": self.place.parent / "evil", "hooks": self.place.parent / "hooks", "repo": self.folder}
        text = "".join(_lines(key.format(**places), value.format(**places)) for key, value in settings.items())
        hidden = self.place / "site" / "settings"
        condition = {
            Form.INCLUDE: "[include]",
            Form.ON_BRANCH: '[includeIf "onbranch:**"]',
            Form.IN_WORK_TREE: '[includeIf "gitdir:**/worktrees/**"]',
            Form.LONG_NAME: f'[a "{"x" * 1_200_000}"]\n\tb = c\n[include]',
        }.get(self.form)
        if condition:
            hidden.write_text(text)
            text = f"{condition}\n\tpath = {hidden}\n"
        if self.form is Form.WORK_TREE:
            self._configuration.with_name("config.worktree").write_text(text)
            text = "[extensions]\n\tworktreeConfig = true\n"
        self._configuration.write_text(f"{self._plain}{text}")

    def lose(self, path: str) -> None:
        """Take the content of a file out of the objects, as in a partial clone."""
        blob = run_git(self.folder, "rev-parse", f"HEAD:{path}")
        (self.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    def ran(self) -> str:
        """Return what ran since it was armed."""
        return self.mark.read_text() if self.mark.exists() else ""


def _lines(key: str, value: str) -> str:
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    title = f'{section} "{subsection}"' if subsection else section
    return f'[{title}]\n\t{name} = "{value}"\n'
