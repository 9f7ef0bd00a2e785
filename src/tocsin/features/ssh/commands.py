"""ssh: list hosts and groups, run a command on them, tell how they are, trust their keys."""

import argparse
import sys

from tocsin.core.errors import ConfigError
from tocsin.core.text.strings import number_of
from tocsin.features.contract import Commands
from tocsin.features.ssh.client.host_keys import ShownKey
from tocsin.features.ssh.execution import remote_command
from tocsin.features.ssh.model import (
    MAX_PARALLEL,
    MAX_TIMEOUT_S,
    HostHealth,
    HostHealthRecord,
    HostKey,
    KeyStatus,
    SshGroup,
    SshHealth,
    SshHost,
    SshPlan,
    SshRequest,
)
from tocsin.features.ssh.service import Ssh
from tocsin.runs.model import HostStatus, Line, Run
from tocsin.terminal.options import add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console, is_terminal
from tocsin.terminal.program import Program
from tocsin.terminal.text import add_pairs, read_message, readable, whole_number

_NO_HOSTS = "no hosts exist; add them to ssh_hosts.yaml in the data directory, or to ~/.ssh/config"


def configure_ssh(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin ssh`."""
    commands = add_subcommands(
        parser,
        {
            "hosts": "list the hosts with their last health check and key status",
            "groups": "list the host groups",
            "run": "run a command on hosts and print its output",
            "health": "check that hosts are reachable and accept the login",
            "trust": "show the key of a host, and trust it after confirmation",
        },
    )
    parser.epilog = "example: tocsin ssh run --group web uptime"
    hosts = commands["hosts"]
    hosts.epilog = "example: tocsin ssh hosts --group web"
    hosts.add_argument("--group", default="", help="group of the hosts")
    hosts.add_argument("-s", "--search", default="", metavar="TEXT", help="text in the name or description")
    hosts.set_defaults(run=_hosts)
    commands["groups"].epilog = "example: tocsin ssh groups"
    commands["groups"].set_defaults(run=_groups)
    _configure_run(commands["run"])
    health = commands["health"]
    health.epilog = "example: tocsin ssh health --group web\n\nexit code 0: all hosts are up, 1: at least one is not"
    _add_choice(health)
    health.add_argument(
        "--refresh", action="store_true", help="check again, even if the last result is less than 30 seconds old"
    )
    health.set_defaults(run=_health)
    trust = commands["trust"]
    trust.epilog = "example: tocsin ssh trust web1\n\nexit code 0: the key is trusted, 1: it is not"
    trust.add_argument("host", metavar="HOST", help="name of the host; `tocsin ssh hosts` lists them")
    trust.add_argument("--fingerprint", default="", metavar="SHA256:…", help="trust the key if it has this fingerprint")
    trust.add_argument("-y", "--yes", action="store_true", help="trust the key without confirmation")
    trust.set_defaults(run=_trust)


def _configure_run(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: tocsin ssh run --group web 'systemctl is-active nginx'\n\n"
        "`--` before COMMAND allows it to start with a dash; `-` reads COMMAND from standard input.\n"
        "exit code 0: the command succeeded on all hosts, 1: it failed on at least one"
    )
    _add_choice(parser)
    parser.add_argument(
        "--timeout",
        type=whole_number(1, MAX_TIMEOUT_S),
        default=60,
        metavar="SECONDS",
        help="timeout per host (default: 60)",
    )
    parser.add_argument(
        "--max-parallel",
        type=whole_number(1, MAX_PARALLEL),
        default=5,
        metavar="N",
        help="maximum number of hosts at the same time (default: 5)",
    )
    parser.add_argument("--stop-on-failure", action="store_true", help="after a failure, do not start on further hosts")
    add_pairs(parser, "--env", "environment variable on the hosts")
    parser.add_argument("--cwd", default="", metavar="DIR", help="working directory on the hosts")
    parser.add_argument("--output", default="", metavar="DESTINATION", help="profile or target to send the results to")
    parser.add_argument("--dry-run", action="store_true", help="list the hosts and the command, and run nothing")
    parser.add_argument("command", metavar="COMMAND", help="command as one argument, for the shell of each host")
    parser.set_defaults(run=_run, free_text="command")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", action="append", default=[], metavar="HOST", help="host; may be repeated")
    parser.add_argument("--group", action="append", default=[], metavar="GROUP", help="group; may be repeated")


def _hosts(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    found = program.run(lambda ssh: _unbroken(ssh).hosts(readable(arguments.group), readable(arguments.search)))
    return out.listing(
        found,
        ("name", "address", "user", "groups", "status", "host key", "from"),
        (_row(host) for host in found),
        empty=_NO_HOSTS,
    )


def _unbroken(ssh: Ssh) -> Ssh:
    """Raise ConfigError if the hosts file has errors: a command has no earlier version of it."""
    if ssh.inventory.problem:
        raise ssh.inventory.problem
    return ssh


def _row(host: SshHost) -> tuple[str, ...]:
    through = f" through {host.jump_host}" if host.jump_host else ""
    address = f"{host.hostname}:{host.port}{through}"
    status = host.status if host.enabled else "not enabled"
    return host.name, address, host.user, ", ".join(host.groups), status, host.host_key.status, host.source


def _groups(_: argparse.Namespace, out: Console, program: Program) -> int:
    async def work(ssh: Ssh) -> list[SshGroup]:
        return _unbroken(ssh).groups()

    found = program.run(work)
    return out.listing(
        found,
        ("group", "hosts"),
        ((group.name, ", ".join(group.hosts)) for group in found),
        empty="no groups exist; add a list `groups` to hosts in ssh_hosts.yaml",
    )


def _run(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    request = SshRequest(
        read_message(arguments.command, out),
        tuple(map(readable, arguments.host)),
        tuple(map(readable, arguments.group)),
        float(arguments.timeout),
        arguments.max_parallel,
        arguments.stop_on_failure,
        dict(arguments.env),
        readable(arguments.cwd),
        output=readable(arguments.output),
    )
    if arguments.dry_run:
        return _show_plan(request, out, program)

    async def work(ssh: Ssh) -> Run:
        _unbroken(ssh).admit(request, source="cli")
        out.effect_done("the command was run")
        return await ssh.run(request, source="cli", watch=lambda line: _show(line, out))

    run = program.run(work, writes=True)
    if out.as_json:
        out.document(run)
    else:
        _tell_end(run, out)
    return DONE if run.ok else FAILED


def _show_plan(request: SshRequest, out: Console, program: Program) -> int:
    async def work(ssh: Ssh) -> list[str]:
        return [host.name for host in _unbroken(ssh).plan(request)]

    hosts, command = program.run(work), remote_command(request)
    for host in hosts:
        out.text(f"{host}: {command}")
    return out.answer(SshPlan(hosts=hosts, command=command))


def _show(line: Line, out: Console) -> None:
    """Show a line as it comes: output with its host before it, everything else on standard error."""
    host, _, stream = line.stream.partition("/")
    if stream == "stdout":
        out.line(f"{host}: {line.plain}")
    elif stream == "stderr":
        out.aside(f"{host}: {line.plain}")


def _tell_end(run: Run, out: Console) -> None:
    for host in run.hosts:
        if host.status is not HostStatus.SUCCEEDED:
            out.error(f"{host.host}: {host.status.replace('_', ' ')}{f': {host.error}' if host.error else ''}")
    if not run.hosts and run.reason:
        out.error(run.reason)
    done = sum(host.status is HostStatus.SUCCEEDED for host in run.hosts)
    out.note(f"{done} of {number_of(len(run.hosts), 'host')} succeeded")


def _health(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    hosts, groups = list(map(readable, arguments.host)), list(map(readable, arguments.group))

    async def work(ssh: Ssh) -> SshHealth:
        asked = _unbroken(ssh).health(hosts, groups, refresh=arguments.refresh)
        return await out.while_waiting("Checking the hosts", asked)

    found = program.run(work)
    return out.listing(
        found,
        ("host", "status", "ping", "ssh", "host key"),
        (_health_row(item) for item in found.items),
        empty=_NO_HOSTS,
        ok=found.summary[HostHealth.UP] == len(found.items),
    )


def _health_row(item: HostHealthRecord) -> tuple[str, ...]:
    ping, ssh = item.ping, item.ssh
    answered = f"{ping.rtt_ms} ms" if ping.ok else ping.error or ""
    if ping.ok is not None:  # it was tried
        answered += f" ({ping.method})"
    logged_in = f"{ssh.latency_ms} ms" if ssh.ok else ssh.error or ""
    return item.host, item.status, answered, logged_in, item.host_key.status


def _trust(arguments: argparse.Namespace, out: Console, program: Program) -> int:
    async def accept(shown: ShownKey) -> bool:
        _tell_key(arguments.host, shown.key, out)
        if arguments.fingerprint:
            return bool(shown.key.fingerprint == arguments.fingerprint)
        if arguments.yes:
            return True
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            raise ConfigError(
                "this command asks for confirmation, and there is no terminal",
                hint="compare the fingerprint, then add --fingerprint SHA256:…",
            )
        return await out.confirmed(f"Trust this key of {arguments.host}?")

    key, trusted = program.run(lambda ssh: _unbroken(ssh).trust(readable(arguments.host), accept, source="cli"))
    if trusted:
        out.effect_done("the key is trusted")
    return out.answer(
        {"host": arguments.host, "trusted": trusted, "fingerprint": key.fingerprint, "type": key.type},
        f"{arguments.host}: {key.fingerprint} is trusted",
        ok=trusted,
        error=f"the key of {arguments.host} is not trusted: {key.fingerprint}",
        hint="verify it on the host itself",
    )


def _tell_key(host: str, key: HostKey, out: Console) -> None:
    what = "presented a different key than before" if key.status is KeyStatus.CHANGED else "presented an unknown key"
    out.note(f"{host} {what}: {key.type} {key.fingerprint}")
    out.note(f"to verify it on {host}, run `ssh-keygen -lf` on the .pub files in /etc/ssh")


COMMANDS: Commands = {"ssh": configure_ssh}
