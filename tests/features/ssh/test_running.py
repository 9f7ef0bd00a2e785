"""Commands on hosts, with a real sshd."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.facts import mentions
from tests.features.ssh.conftest import Machine, Site, open_site, peer
from tests.hostile import HOSTILE

from tocsin.core.errors import ConfigError
from tocsin.core.ids import new_id
from tocsin.core.tracing.spans import SpanKind, start_tracing
from tocsin.features.ssh.client.ssh_program import SshSession
from tocsin.features.ssh.deny import DenyList
from tocsin.features.ssh.execution import sent_command
from tocsin.features.ssh.hooks import start_ssh
from tocsin.features.ssh.model import CommandDeniedError, HostEntry, Identity, IdentityKind, SshRequest
from tocsin.runs.control import StartRequest
from tocsin.runs.model import HostStatus, Line, RunStatus

Describe = Callable[..., dict[str, object]]


async def test_a_command_runs_on_many_hosts_and_each_line_carries_its_host(
    site: Site, machine: Machine, described: Describe
):
    port, _ = machine.sshd()
    site.write(*(described(f"web{n}", port, groups=["web"]) for n in range(3)))
    await site.trust("web0")
    lines: list[Line] = []
    request = SshRequest('echo "out"; echo err >&2', groups=("web",))
    run = await site.ssh.run(request, source="cli", watch=lines.append)
    assert (run.kind, run.status) == ("ssh", RunStatus.SUCCEEDED)
    assert [(host.host, host.exit_code, host.stdout, host.stderr) for host in run.hosts] == [
        (f"web{n}", 0, "out\n", "err\n") for n in range(3)
    ]
    assert sorted((line.stream, line.text) for line in lines) == sorted(
        (f"web{n}/{stream}", text) for n in range(3) for stream, text in (("stdout", "out"), ("stderr", "err"))
    )
    (entry,) = site.bench.audit("ssh.run")
    assert entry.metadata["hosts"] == ["web0", "web1", "web2"]
    assert entry.metadata["failed"] == []
    assert entry.detail == "3 hosts succeeded"


async def test_the_audit_entry_of_a_run_on_one_host_says_one_host(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    await site.on("true", "web")
    (entry,) = site.bench.audit("ssh.run")
    assert entry.detail == "1 host succeeded"


async def test_the_command_arrives_as_it_was_written(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    for command, printed in (
        ("""printf '%s|' "$HOME" '$HOME' "a  b" \\$x""", f"{machine.home}|$HOME|a  b|$x|"),
        ("echo %h %n ${USER:+user}", "%h %n user\n"),
    ):
        assert (await site.on(command, "web")).stdout == printed
    assert "OpenSSH" not in (await site.on("-V", "web")).stderr  # as an option it would print the version of ssh


async def test_directory_and_variables_are_quoted_for_the_shell_there(
    site: Site, machine: Machine, described: Describe, tmp_path: Path
):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    folder = tmp_path / "a '$(touch evil)' b"
    folder.mkdir()
    env = {"GREETING": "it's $(id); `id`\nsecond"}
    done = await site.on('pwd; printf %s "$GREETING"', "web", working_dir=str(folder), env=env)
    assert done.stdout == f"{folder}\nit's $(id); `id`\nsecond"
    lost = await site.on("echo still", "web", working_dir=str(tmp_path / "missing"))
    assert (lost.status, lost.stdout) == (HostStatus.FAILED, "")


@pytest.mark.parametrize("shell", ["sh", "dash", "bash"])
async def test_no_shell_of_a_host_runs_a_variable_that_it_is_sent(tmp_path: Path, shell: str):
    env = {f"V{number}": value for number, value in enumerate(HOSTILE)}
    request = SshRequest("".join(f'printf "%s\\0" "${name}"; ' for name in env) + "cat", ("web",), env=env)
    command, values = sent_command(request)
    assert not any(value in command for value in HOSTILE)
    argv = [shutil.which(shell) or "sh", "-c", command]
    done = await asyncio.to_thread(subprocess.run, argv, input=values.encode(), capture_output=True, cwd=tmp_path)
    assert done.stdout.decode().split("\0") == [*HOSTILE, ""]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("env", [{"A": "x" * 131_070}, {f"V{number}": "x" * 100_000 for number in range(30)}])
def test_variables_that_a_host_could_not_hold_are_refused_before_it_is_asked(env: dict[str, str]):
    with pytest.raises(ConfigError, match="KiB"):
        SshRequest("true", ("web",), env=env).check()


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("exit 255", 255)])
async def test_an_exit_code_is_that_of_the_command(
    site: Site, machine: Machine, described: Describe, command: str, code: int
):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    run = await site.run(command, "web")
    assert (run.status, run.exit_code, run.hosts[0].status) == (RunStatus.FAILED, code, HostStatus.FAILED)


async def test_a_command_that_takes_too_long_is_given_up(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    for timeout_s in (1.5, 12, 50):  # on a busy machine, the login alone takes longer than the first
        run = await site.run("echo begun; sleep 60", "web", timeout_s=timeout_s)
        assert (run.status, run.hosts[0].status) == (RunStatus.TIMED_OUT, HostStatus.TIMED_OUT)
        if run.hosts[0].stdout:
            break
    assert run.hosts[0].stdout == "begun\n"


async def test_no_further_host_begins_after_a_failure(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(*(described(f"web{n}", port) for n in range(3)))
    await site.trust("web0")
    run = await site.run("exit 1", "web0", "web1", "web2", max_parallel=1, stop_on_failure=True)
    assert [host.status for host in run.hosts] == [HostStatus.FAILED, HostStatus.SKIPPED, HostStatus.SKIPPED]
    assert run.status is RunStatus.FAILED
    assert mentions(run.reason or "", "1 of 3")


async def test_a_cancelled_run_ends_where_it_works_and_does_not_begin_elsewhere(
    site: Site, machine: Machine, described: Describe
):
    port, _ = machine.sshd()
    site.write(*(described(f"web{n}", port) for n in range(2)))
    await site.trust("web0")
    begun = asyncio.Event()
    request = SshRequest("echo begun; sleep 60", ("web0", "web1"), max_parallel=1)
    running = await site.ssh.start(request, source="cli", watch=lambda _: begun.set())
    await begun.wait()
    await site.bench.app.runs().cancel(running.run.id)
    run = await running.wait()
    assert run.status is RunStatus.CANCELLED
    assert [host.status for host in run.hosts] == [HostStatus.CANCELLED] * 2


async def test_a_host_that_prints_much_is_cut_in_the_record(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    run = await site.run("yes 0123456789 | head -c 20000000", "web")
    (host,) = run.hosts
    assert (host.status, host.truncated, len(host.stdout)) == (HostStatus.SUCCEEDED, True, 65536)
    assert run.output.bytes == 20_000_000
    assert run.output.truncated


async def test_hosts_that_fail_differently_are_told_apart(site: Site, machine: Machine, described: Describe):
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-cut\r\n")
        await reader.read(10)
        writer.close()

    port, _ = machine.sshd()
    stranger = machine.folder / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", stranger], check=True)
    async with peer(hang) as hanging, peer(cut) as cutting:
        site.write(
            described("good", port),
            described("stranger", port, identity={"kind": "key", "ref": str(stranger)}),
            described("hanging", hanging),
            described("cutting", cutting),
            described("closed", 1),
        )
        await site.trust("good")
        hangs = HostStatus.TIMED_OUT
        run = await site.run("true", "good", "stranger", "hanging", "cutting", "closed", timeout_s=2)
        if [host.host for host in run.hosts if host.status is HostStatus.TIMED_OUT] != ["hanging"]:
            # On a busy machine a login alone takes longer; with that much time, ssh gives up on the banner by itself.
            hangs = HostStatus.UNREACHABLE
            run = await site.run("true", "good", "stranger", "hanging", "cutting", "closed", timeout_s=100)
    assert run.status is RunStatus.PARTIALLY_SUCCEEDED
    assert {host.host: host.status for host in run.hosts} == {
        "good": HostStatus.SUCCEEDED,
        "stranger": HostStatus.AUTH_FAILED,
        "hanging": hangs,
        "cutting": HostStatus.UNREACHABLE,
        "closed": HostStatus.UNREACHABLE,
    }
    assert mentions(str(run.hosts[1].error), stranger)
    assert "Connection refused" in str(run.hosts[4].error)
    assert mentions(str(run.reason), "4 of", "5 hosts")


async def test_a_connection_that_is_cut_in_the_middle_says_that_the_command_may_go_on(
    site: Site, machine: Machine, described: Describe
):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    host = await site.on("kill -9 $PPID; sleep 1", "web")
    assert host.status is HostStatus.FAILED
    assert "connection" in str(host.error)


async def test_a_host_without_a_shell_fails_with_what_it_says(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd(more="ForceCommand echo 'This account is not available.'; exit 1\n")
    site.write(described("web", port))
    await site.trust("web")
    host = await site.on("uptime", "web")
    assert (host.status, host.exit_code, host.stdout) == (HostStatus.FAILED, 1, "This account is not available.\n")
    (item,) = (await site.ssh.health()).items
    assert item.status == "up"


async def test_a_jump_host_is_checked_as_strictly_as_its_target(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    inner, _ = machine.sshd("inner")
    site.write(described("gate", port), described("inner", inner, jump_host="gate"))
    assert (await site.on("echo there", "inner")).status is HostStatus.HOST_KEY_UNKNOWN
    await site.trust("gate")
    assert (await site.on("echo there", "inner")).status is HostStatus.HOST_KEY_UNKNOWN
    await site.trust("inner")
    assert (await site.on("echo there", "inner")).stdout == "there\n"


async def test_a_line_of_the_deny_list_refuses_a_command(site: Site, machine: Machine, described: Describe):
    site.write(described("web", 1))
    deny = site.data_dir / "ssh_deny.txt"
    deny.write_text("# never\n\n\\brm\\s+-rf\\s+/\n")
    with pytest.raises(CommandDeniedError, match=r"rejected by ssh_deny.txt:3: ") as refused:
        await site.run("cd / && rm  -rf /*", "web")
    assert refused.value.code == "command-denied"
    deny.write_text("ok\n(broken\n")
    with pytest.raises(Exception, match=r"ssh_deny\.txt:2"):
        await site.run("true", "web")
    assert [(entry.action, entry.metadata["outcome"]) for entry in site.bench.audit()] == [("ssh.run", "denied")]


def test_spaces_at_the_ends_of_a_line_of_the_deny_list_are_not_part_of_its_pattern(tmp_path: Path):
    deny = DenyList(tmp_path / "ssh_deny.txt")
    deny.path.write_text("  halt \nreboot\\x20\n")
    deny.check("reboot")
    for refused in ("halt", "reboot now"):
        with pytest.raises(CommandDeniedError):
            deny.check(refused)


def kill_master(socket: Path) -> None:
    """Kill the `ssh` that holds a shared connection, so that its socket stays behind."""
    told = subprocess.run(["ssh", "-S", socket, "-O", "check", "web"], check=True, capture_output=True, text=True)
    os.kill(int(re.findall(r"pid=(\d+)", told.stderr)[0]), signal.SIGKILL)


async def test_commands_share_a_connection_that_stays_open(
    machine: Machine, described: Describe, tmp_path_factory: pytest.TempPathFactory
):
    port, _ = machine.sshd()
    async with open_site(tmp_path_factory.mktemp("s") / "d", {"SSH_KEEP_S": "30"}) as site:
        site.write(described("web", port))
        await site.trust("web")
        before = (machine.folder / "server.log").read_text().count("Accepted publickey")
        for command, code in (("true", 0), ("exit 4", 4), ("exit 255", 255)):
            assert (await site.on(command, "web")).exit_code == code
        assert (machine.folder / "server.log").read_text().count("Accepted publickey") - before == 1
        (host,) = site.ssh.inventory.choose(("web",), ())
        machine.stop_all()
        kill_master(site.ssh.program.socket_of(host))
        assert (await site.on("true", "web")).status is HostStatus.UNREACHABLE
        assert not site.ssh.program.socket_of(host).exists()


async def test_a_key_of_the_vault_is_in_a_private_folder_while_it_is_used(
    tmp_path: Path, machine: Machine, described: Describe
):
    async def reveal(name: str, /, *, reader: str) -> str:
        assert (name, reader) == ("WEB_KEY", "ssh")
        return machine.key.read_text()

    port, _ = machine.sshd()
    async with open_site(tmp_path / "data", abilities={"secrets": SimpleNamespace(reveal=reveal)}) as site:
        site.write(described("web", port, identity={"kind": "vault", "ref": "WEB_KEY"}))
        await site.trust("web")
        listed = await site.on(f"cd {site.ssh.program.folder}/*/ && stat -c '%n %a' . key-*", "web")
        assert listed.stdout == ". 700\nkey-web 600\n"
        assert not list(site.ssh.program.folder.glob("*/key-*"))


async def test_a_dry_run_records_the_hosts_and_reaches_none(site: Site, described: Describe):
    site.write(described("a", 1), described("b", 1))
    params = {"command": "true", "hosts": ["b"], "dry_run": True}
    request = StartRequest(source="workflow", cause="workflow", params=params)
    running = await start_ssh(site.ssh, "a", request)
    run = await running.wait()
    assert (run.status, run.dry_run, run.trigger) == (RunStatus.SUCCEEDED, True, "workflow")
    assert [(host.host, host.status) for host in run.hosts] == [("b", HostStatus.SKIPPED)]
    assert site.bench.audit() == []


@pytest.mark.parametrize("keep_s", ["0", "30"])
async def test_a_run_that_is_cancelled_while_it_connects_runs_nothing(
    machine: Machine, described: Describe, tmp_path_factory: pytest.TempPathFactory, keep_s: str
):
    port, _ = machine.sshd()
    arrived, may_pass, folder = asyncio.Event(), asyncio.Event(), tmp_path_factory.mktemp("s")

    async def hold_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await may_pass.wait()
        there, to = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_carry(reader, to), _carry(there, writer))

    # The name of the folder is short: that of a socket in it has little room.
    async with open_site(folder / "d", {"SSH_KEEP_S": keep_s}) as site, peer(hold_up) as slow:
        site.write(described("web", slow))
        may_pass.set()
        await site.trust("web")
        may_pass.clear()
        arrived.clear()
        running = await site.ssh.start(SshRequest(f"touch {folder}/done", ("web",)), source="cli")
        await arrived.wait()
        await site.bench.app.runs().cancel(running.run.id)
        may_pass.set()
        run = await running.wait()
        (host,) = site.ssh.inventory.choose(("web",), ())
        if keep_s != "0":
            kill_master(site.ssh.program.socket_of(host))
    assert (run.status, [host.status for host in run.hosts]) == (RunStatus.CANCELLED, [HostStatus.CANCELLED])
    assert not (folder / "done").exists()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        try:
            while data := await reader.read(65536):
                writer.write(data)
        finally:
            writer.close()
            await writer.wait_closed()


async def test_the_values_of_variables_are_in_no_process_list(site: Site, machine: Machine, described: Describe):
    port, _ = machine.sshd()
    site.write(described("web", port))
    await site.trust("web")
    value = new_id()  # nobody else on this machine has it on a command line
    look = f"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep '[{value[0]}]{value[1:]}'"
    done = await site.on(f'{look}; printf %s "$TOKEN"', "web", env={"TOKEN": value, "MORE": "ä\n" * 5000})
    assert done.stdout == value


async def test_a_deny_list_that_leads_nowhere_refuses_and_one_with_a_byte_order_mark_counts(site: Site):
    site.write({"name": "web", "hostname": "127.0.0.1"})
    path = site.data_dir / "ssh_deny.txt"
    path.write_bytes(b"\xef\xbb\xbf\\brm\\s+-rf\r\n")
    with pytest.raises(CommandDeniedError, match=r"ssh_deny\.txt:1"):
        await site.run("rm -rf /srv", "web")
    path.unlink()
    for target in ("nowhere", path.name):
        path.symlink_to(target)
        with pytest.raises(ConfigError, match=r"ssh_deny\.txt"):
            await site.run("true", "web")
        path.unlink()


async def test_a_refused_login_tells_what_is_wrong_with_the_key(site: Site, machine: Machine):
    plain, locked, gone = machine.key, machine.folder / "locked", machine.folder / "gone"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", locked], check=True)
    session = SshSession(site.ssh.program, machine.folder, machine.folder / "config")

    def why(kind: IdentityKind, ref: object) -> str:
        return session.why_refused(HostEntry("web", identity=Identity(kind, str(ref))))

    assert why(IdentityKind.KEY, plain) == why(IdentityKind.AGENT, "") == ""
    assert mentions(why(IdentityKind.KEY, locked), locked)
    assert why(IdentityKind.KEY, gone) == f"; the key {gone}: No such file or directory"
    locked.rename(machine.folder / "key-web")
    assert "KEY" in why(IdentityKind.VAULT, "KEY")


class Noted:
    """A tracer that notes what its spans say."""

    traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    def __init__(self) -> None:
        self.spans: list[dict[str, object]] = []
        self.noted: dict[str, object] = {}

    def begin(self, name: str, kind: SpanKind, parent: str, attributes: Mapping[str, object]) -> "Noted":
        opened = Noted()
        opened.spans = self.spans
        opened.noted = {"name": name, "kind": kind, **attributes}
        self.spans.append(opened.noted)
        return opened

    def set(self, **attributes: object) -> None:
        self.noted.update(attributes)

    def fail(self, kind: str) -> None:
        self.noted |= {"error": kind} if kind else {}

    def rename(self, name: str) -> None:
        self.noted["name"] = name

    def end(self) -> None:
        self.noted["ended"] = True


async def test_each_host_of_a_command_is_a_span_with_what_became_of_it(
    site: Site, machine: Machine, described: Describe
):
    port, _ = machine.sshd()
    site.write(*(described(f"web{n}", port) for n in range(2)))
    await site.trust("web0")
    tracer = Noted()
    start_tracing(tracer)
    try:
        run = await site.run("exit 3", "web0", "web1")
    finally:
        start_tracing(None)
    found = sorted((each for each in tracer.spans if each["name"] == "run on host"), key=lambda each: str(each["host"]))
    assert [(each["host"], each["run"], each["exit_code"], each["ended"]) for each in found] == [
        (f"web{n}", run.id, 3, True) for n in range(2)
    ]
    assert {each["error"] for each in found} == {"failed"}
