"""What SSH is to the rest of the program."""

from pathlib import Path

from tocsin.core.config.variables import Variable, directory, integer
from tocsin.features.contract import Feature, FeatureCheck, FeatureCommand
from tocsin.features.ssh.audit_actions import SSH_RUN, SSH_TRUST
from tocsin.features.ssh.schema import MIGRATIONS

SSH_CONFIG: Variable[Path | None] = Variable(
    "SSH_CONFIG",
    directory,
    None,
    "The configuration file of `ssh` whose hosts `tocsin ssh` knows, too.",
    shown_default="`~/.ssh/config`, then `/etc/ssh/ssh_config`",
)
SSH_KEEP_S = Variable(
    "SSH_KEEP_S", integer(0, 3600), 60, "Seconds for which a connection stays open for the next command; 0 is never."
)

FEATURE = Feature(
    name="ssh",
    summary="hosts: commands on many of them, their health, and their host keys",
    page="ssh.md",
    variables=(SSH_CONFIG, SSH_KEEP_S),
    tables={"ssh": MIGRATIONS},
    audit_actions=(SSH_RUN, SSH_TRUST),
    commands=(
        FeatureCommand(
            "ssh",
            "run commands on hosts, check how they are, trust their keys",
            "tocsin.features.ssh.commands:configure_ssh",
        ),
    ),
    open="tocsin.features.ssh.opening:open_ssh",
    checks=(FeatureCheck("tocsin.features.ssh.checks:check_ssh", at_start=True),),
    subsystems={"ssh": "tocsin.features.ssh.opening:subsystem_of"},
    dashboard_routes="tocsin.features.ssh.routes:ssh_operations",
    run_types={"ssh": "tocsin.features.ssh.opening:run_type_of"},
    starts={"ssh": "tocsin.features.ssh.opening:start_ssh"},
    subjects={"ssh": "tocsin.features.ssh.opening:list_hosts"},
)
