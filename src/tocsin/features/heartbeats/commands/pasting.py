"""Lines to paste where a job runs: a crontab, a systemd unit, a task of Windows, a CronJob of Kubernetes."""

from collections.abc import Mapping

from tocsin.features.heartbeats.model import DAY_S, HeartbeatDefinition

HOUR_S = 3600.0
# `--retry` repeats what fails while the network or Tocsin is away; the ping itself never fails the job.
_CURL = "curl -fsS -m 10 --retry 5 -o /dev/null"


def lines_for(url: str, name: str, schedule: str) -> Mapping[str, str]:
    """Return the lines by place; `schedule` is that of the crontab."""
    return {
        "cron": f"{schedule} /usr/local/bin/{name}; {_CURL} {url}/$?",
        "shell": "\n".join(
            (
                "rid=$(cat /proc/sys/kernel/random/uuid)",
                f'{_CURL} "{url}/start?rid=$rid"',
                f"log=$(/usr/local/bin/{name} 2>&1); status=$?",
                f'printf %s "$log" | {_CURL} --data-binary @- "{url}/$status?rid=$rid"',
            )
        ),
        "systemd": "\n".join(
            (
                "[Service]",
                f"ExecStartPre=-/usr/bin/{_CURL} {url}/start",
                f"ExecStopPost=-/bin/sh -c '[ \"$$SERVICE_RESULT\" = success ] && end=0 || end=1; {_CURL} {url}/$$end'",
            )
        ),
        "powershell": "\n".join(
            (
                f"Invoke-RestMethod -Uri {url}/start",
                f"& C:\\Scripts\\{name}.ps1; $code = if ($?) {{ 0 }} else {{ 1 }}",
                f'Invoke-RestMethod -Uri "{url}/$code"',
            )
        ),
        "kubernetes": "\n".join(
            (
                "command: [sh, -c]",
                "args:",
                "  - |",
                f"    /usr/local/bin/{name}; status=$?",
                f'    {_CURL} "{url}/$status"',
                "    exit $status",
            )
        ),
    }


_TITLES = {
    "cron": "crontab",
    "shell": "shell script, with start, duration and log",
    "systemd": "systemd: systemctl edit the unit",
    "powershell": "PowerShell task",
    "kubernetes": "Kubernetes CronJob: the container of the job",
}


def lines_to_paste(url: str, name: str, schedule: str) -> str:
    """Return the lines for all places, each below its title."""
    return "\n".join(f"\n# {_TITLES[place]}\n{lines}" for place, lines in lines_for(url, name, schedule).items())


def crontab_schedule(definition: HeartbeatDefinition) -> str:
    """Return the schedule of a heartbeat, or one that keeps to its period."""
    if definition.schedule:
        return definition.schedule
    period = definition.period or DAY_S
    return "0 3 * * *" if period >= DAY_S else "0 * * * *" if period >= HOUR_S else "* * * * *"
