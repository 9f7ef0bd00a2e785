"""Packages of a channel: the list of services with them, and what the command says without them."""

import site
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.command_line import Done

INSTALL = 'pip install "tocsin[{}]"'
TARGETS = 'apprise: {phone: {url: "gotify://127.0.0.1:9/AbCdEf"}}\n'
PUSH = {"WEBPUSH_CONTACT": "mailto:ops@example.org"}


def test_the_services_behind_a_channel_are_listed_with_the_form_of_each_address(cli: Cli):
    shown = cli("channels", "--services")
    assert shown.code == 0
    head, *rows = shown.out.splitlines()
    assert head.split() == ["channel", "service", "address", "files", "page"]
    [line] = [row for row in rows if "pover://{user_key}@{token} " in row]
    assert line.split()[:2] == ["apprise", "Pushover"]
    assert "yes" in line
    listed = cli("channels", "--services", "--json").json()
    assert len(listed) > 150
    [pushover] = [each for each in listed if each["service"] == "Pushover"]
    assert pushover.keys() == {"channel", "service", "schemes", "forms", "files", "page"}
    assert (pushover["channel"], pushover["schemes"], pushover["files"]) == ("apprise", ["pover"], True)


@pytest.fixture
def bare(cli: Cli, tmp_path: Path) -> Callable[..., Done]:
    """The command in an environment that lacks the optional packages of channels."""
    place = tmp_path / "bare"
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/python3.*/site-packages")
    added = "; ".join(f"site.addsitedir({path!r})" for path in site.getsitepackages())
    line = f"import site, sys; sys.modules['apprise'] = sys.modules['cryptography'] = None; {added}\n"
    (packages / "hidden.pth").write_text(line)  # the isolated process of a channel reads it, too

    def run(*arguments: str) -> Done:
        argv = [place / "bin" / "python", "-m", "tocsin", *arguments]
        done = subprocess.run(argv, env={**cli.env, **PUSH}, cwd=cli.home, capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def test_without_its_package_a_channel_names_the_extra_that_installs_it(cli: Cli, bare: Callable[..., Done]):
    assert bare("channels").code == 0
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "targets.yaml").write_text(TARGETS)
    for call, package, extra in (
        (("channels", "--services"), "apprise", "apprise"),
        (("send", "apprise", "phone", "hello"), "apprise", "apprise"),
        (("test", "apprise"), "apprise", "apprise"),
        (("send", "push", "phone", "hello"), "cryptography", "push"),
        (("test", "push"), "cryptography", "push"),
    ):
        done = bare(*call)
        assert done.code != 0
        assert f"{package}: package not installed" in done.err, call
        assert INSTALL.format(extra) in done.err, call
        assert "Traceback" not in done.err


def test_doctor_names_the_extra_of_each_configured_channel_without_its_package(cli: Cli, bare: Callable[..., Done]):
    cli.data_dir.mkdir(exist_ok=True)
    (cli.data_dir / "targets.yaml").write_text(TARGETS)
    done = bare("doctor", "--offline", "--json")
    found = {each["subject"]: each for each in done.json()["findings"] if each["subject"] in {"apprise", "webpush"}}
    for kind, package, extra in (("apprise", "apprise", "apprise"), ("webpush", "cryptography", "push")):
        assert (found[kind]["state"], found[kind]["detail"]) == ("error", f"{package} is not installed")
        assert found[kind]["fix"] == INSTALL.format(extra)
