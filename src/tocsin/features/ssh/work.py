"""The type of runs of commands on hosts."""

from collections.abc import Mapping
from typing import Any

from tocsin.core.audit.actions import CLI
from tocsin.core.text.strings import number_of
from tocsin.features.abilities import Notices
from tocsin.features.hooks import WorkHooks
from tocsin.features.run_notices import NotifyingRuns
from tocsin.features.ssh.execution import told
from tocsin.features.ssh.feature import SSH_RUN
from tocsin.features.ssh.model import SHOWN_COMMAND
from tocsin.features.ssh.service import Ssh
from tocsin.runs.document import audit_facts
from tocsin.runs.engine.run_type import RunAuditEntry, RunMessage, RunType
from tocsin.runs.model import HostStatus, Run


class SshRuns(NotifyingRuns, RunType):
    """Commands on hosts."""

    kind = "ssh"
    source = CLI.name
    category = "ssh"

    def __init__(self, notices: Notices, public_url: str) -> None:
        super().__init__(notices)
        self._public_url = public_url

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the output of the hosts as a message, if the command has an `output`."""
        output = run.params.get("output")
        if not output or run.started_at is None or run.dry_run:
            return None
        text = told(run.subject_name, run, run.hosts)
        return RunMessage.about(run, output, text, run.source or self.source, self._public_url)

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        if run.dry_run:
            return None
        names = run.params["hosts"]
        facts = {
            "hosts": names,
            "command": run.params["command"][:SHOWN_COMMAND],
            **audit_facts(run),
            "failed": [host.host for host in run.hosts if host.status is not HostStatus.SUCCEEDED],
        }
        return RunAuditEntry(SSH_RUN, f"{number_of(len(names), 'host')} {run.status}", facts)


WORK = WorkHooks[Ssh](run_types={"ssh": lambda ssh: SshRuns(ssh.notices, ssh.public_url)})
