"""The hosts of a data directory as the rest of the program uses them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.core.errors import ConfigError
from tocsin.core.text.redaction import MASK
from tocsin.core.text.strings import number_of
from tocsin.features.context import AttentionItem, FeatureContext, NoticeLevel, SubsystemState, SubsystemStatus
from tocsin.features.hooks import FeatureHooks
from tocsin.features.ssh import deny, inventory
from tocsin.features.ssh.client.ssh_program import SshProgram
from tocsin.features.ssh.feature import SSH_CONFIG, SSH_KEEP_S
from tocsin.features.ssh.model import MAX_TIMEOUT_S, HostHealth, SshRequest
from tocsin.features.ssh.service import Ssh
from tocsin.features.ssh.store import ProbeStore
from tocsin.runs.control import NotRetriedError, StartRequest
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run

FOLDER, KNOWN_HOSTS = "ssh", "ssh_known_hosts"


def open_ssh(context: FeatureContext) -> Ssh:
    """Return the hosts of the data directory."""
    data_dir, config = context.data_dir, context.settings[SSH_CONFIG]
    program = SshProgram(
        data_dir / FOLDER,
        data_dir / KNOWN_HOSTS,
        config,
        context.environment,
        context.abilities.secrets,
        context.settings[SSH_KEEP_S],
    )
    return Ssh(
        inventory.Inventory(data_dir / inventory.FILE_NAME, config),
        deny.DenyList(data_dir / deny.FILE_NAME),
        program,
        ProbeStore(context.database),
        context,
    )


async def start_ssh(ssh: Ssh, subject: str, asked: StartRequest) -> ActiveRun:
    """Start a command on hosts.

    `asked.params` has `command`, and may have the other fields of `tocsin ssh run`. Without `hosts` and `groups`, the
    subject is a host, or a group where it begins with `group:`.
    """
    request = request_of("", kept_of(asked.retry.run)) if asked.retry else request_of(subject, asked.params)
    return await ssh.start(
        request,
        source=asked.source,
        trigger=asked.cause,
        actor=asked.actor,
        parent_run_id=asked.parent_run_id,
        retry=asked.retry,
    )


async def list_hosts(ssh: Ssh) -> Sequence[str]:
    """Return the names of all hosts, and those of groups behind `group:`."""
    return [*ssh.inventory.all(), *(f"group:{name}" for name in ssh.inventory.groups())]


def kept_of(run: Run) -> Mapping[str, Any]:
    """Return the parameters of a run to be retried; raises NotRetriedError if they were not stored."""
    if run.env_keys or MASK in str(run.params["command"]):
        what = "variables of this run were" if run.env_keys else "command of this run contains a secret and was"
        raise NotRetriedError(f"the {what} not stored", hint="run it again: tocsin ssh run")
    # The hosts of its groups are among its hosts: they may have other ones now.
    return {**run.params, "groups": (), "dry_run": run.dry_run}


def request_of(subject: str, params: Mapping[str, Any]) -> SshRequest:
    """Return the request with these parameters; raises ConfigError if one is missing or unknown."""
    known = {
        "command", "hosts", "groups", "timeout_seconds", "max_parallel", "stop_on_failure", "env", "working_dir",
        "dry_run", "output", "user",
    }  # fmt: skip
    if unknown := sorted(params.keys() - known):
        raise ConfigError(
            f"unknown parameter of an ssh run: {', '.join(unknown)}", hint=f"use {', '.join(sorted(known))}"
        )
    hosts, groups = tuple(params.get("hosts", ())), tuple(params.get("groups", ()))
    if not hosts and not groups and subject:
        group = subject.removeprefix("group:")
        hosts, groups = ((), (group,)) if group != subject else ((subject,), ())
    timeout_s = params.get("timeout_seconds", 60.0)  # `None`: the caller has a limit of its own, or wants none
    return SshRequest(
        str(params.get("command", "")),
        hosts,
        groups,
        float(MAX_TIMEOUT_S if timeout_s is None else timeout_s),
        int(params.get("max_parallel", 5)),
        bool(params.get("stop_on_failure", False)),
        {name: str(value) for name, value in params.get("env", {}).items()},
        str(params.get("working_dir", "")),
        bool(params.get("dry_run", False)),
        str(params.get("output") or ""),
        str(params.get("user") or ""),
    )


async def check_subsystem(ssh: Ssh) -> SubsystemStatus:
    """Return the state of the hosts at their last health check."""
    hosts, problem = ssh.inventory.value.hosts, ssh.inventory.problem
    if problem:
        told = f"the hosts file has errors: {problem}"
        return SubsystemStatus(SubsystemState.ERROR, told, attention=[AttentionItem(NoticeLevel.ERROR, told, "#/ssh")])
    if not hosts:
        return SubsystemStatus(SubsystemState.UNCONFIGURED, "no hosts")
    probes = await ssh.last_probes()
    counts = {str(state): sum(probe.status is state for probe in probes) for state in HostHealth}
    worse = [f"{counts[state]} {state}" for state in (HostHealth.DOWN, HostHealth.DEGRADED) if counts[state]]
    changed = [probe for probe in probes if probe.key_changed]
    attention = [
        *(_item(NoticeLevel.ERROR, f"the key of host {probe.host} has changed", probe.host) for probe in changed),
        *(
            _item(NoticeLevel.WARNING, f"host {probe.host} is down", probe.host)
            for probe in probes
            if probe.status is HostHealth.DOWN
        ),
    ]
    return SubsystemStatus(
        SubsystemState.DEGRADED if worse or changed else SubsystemState.OK,
        ", ".join([number_of(len(hosts), "host"), *worse]),
        {"hosts": len(hosts), **counts},
        max((probe.checked_at for probe in probes), default=None),
        attention=attention,
    )


def _item(level: NoticeLevel, told: str, host: str) -> AttentionItem:
    return AttentionItem(level, told, f"#/ssh/{host}")


HOOKS = FeatureHooks[Ssh](
    open=open_ssh,
    subsystems={"ssh": check_subsystem},
    starts={"ssh": start_ssh},
    subjects={"ssh": list_hosts},
)
