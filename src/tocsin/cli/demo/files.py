"""The files in the demo's data directory: settings and samples."""

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tocsin.channels.model import TARGETS_FILE
from tocsin.core.config.core_variables import (
    DASHBOARD_PASS,
    DASHBOARD_PORT,
    DASHBOARD_USER,
    DATA_DIR,
    FRONT_DOOR_PORT,
    GATEWAY_PORT,
    LOG_FORMAT,
    LOG_LEVEL,
    REDIS_URL,
)
from tocsin.core.storage.files import make_directory, write_atomically

if TYPE_CHECKING:
    from tocsin_standins.cluster import StandinCluster

PROFILE = "oncall"
GREET, DISK_SPACE = "greet", "disk-space"
# Messages that fire the sample triggers, and one that runs a sample skill.
TEXTS = ("uptime", "weather Oslo", "Please greet Carol", "explain exit code 137", f"/run {GREET} Alice")

# A slash command is matched as typed, so that `/uptime` fires the same rule.
TRIGGERS = """\
- pattern: "^/?uptime$"
  command: uptime || date

- pattern: '^/?weather (\\w+)'
  command: echo "It is always sunny in $1."

- pattern: '^/?(?:please )?greet (\\w+)'
  action: skill
  command: greet

- pattern: "^/?explain .+"
  action: claude
  command: "Answer in one sentence: $0"
"""

SKILLS = {
    GREET: """\
name: greet
description: Greet a person by name.
# The name is the argument; in skill mode, where there are none, the word behind `greet` in the input.
command: |
  name=${1:-$(sed -n 's/.*[Gg]reet *\\([[:alnum:]]*\\).*/\\1/p')}
  echo "Hello, ${name:-world}!"
""",
    DISK_SPACE: """\
name: disk-space
description: Show how full the disk is.
command: df -h /
dependencies: [df]
""",
}

REPORT = "disk-report"
WORKFLOWS = {
    REPORT: f"""\
name: {REPORT}
description: Check how full the disk is, and notify the profile.
steps:
  - name: look
    command: df -P "$PARAM_FOLDER" | tail -n 1
    outputs: {{used: "stdout | regex:'([0-9]+)%'"}}
  - name: tell
    type: notify
    profile: {PROFILE}
    command: "${{params.folder}} is ${{steps.look.outputs.used}} % full"
params:
  folder: {{default: /}}
""",
}

RELEASE = "release"
WORKFLOWS[RELEASE] = f"""\
name: {RELEASE}
description: Build, ask whether to publish, and tell the profile.
notify_profile: {PROFILE}
steps:
  - name: build
    command: echo "built $PARAM_VERSION"
  - name: ask
    type: wait
    approval: true
    message: "Publish ${{params.version}}?"
    timeout: 12h
  - name: publish
    command: echo "published $PARAM_VERSION"
params:
  version: {{default: "1.4.0"}}
"""

# One job that succeeds, one that fails, and one at night.
FAILING = "backup"
JOBS = {
    "disk-check": 'schedule: "* * * * *"\ncommand: df -h /\ntags: [demo]\n',
    FAILING: 'schedule: "*/5 * * * *"\ncommand: echo "no space left on device" >&2; exit 1\n'
    "description: It fails on purpose, to show where failures appear.\ntags: [demo]\n",
    "nightly-report": f'schedule: "30 3 * * *"\ntype: workflow\ncommand: {REPORT}\noutput: {PROFILE}\n'
    "output_on: failure\ntags: [demo]\n",
}

INBOX = "inbox"
WATCHERS = """\
- name: {name}
  path: {folder}
  command: 'echo "$WATCH_EVENT: $1"; wc -l < "$1"'
  output: {profile}
"""


# A repository for task jobs; the assistant skills that need no model examine its contents.
SITE = Path("repositories", "site")
SITE_FILES = {
    "README.md": "# A site\n",
    "settings.py": 'DEBUG = False\nAPI_KEY = "q7Zk2mVx9Lr4Tn8Wd3Hs6Bf1"\n',
}
BROWSERS = "profiles:\n  - {name: demo, default: true}\n"


class DemoPorts(NamedTuple):
    """The ports of the demo's services."""

    gateway: int
    dashboard: int
    front_door: int


def write_files(directory: Path, cluster: "StandinCluster", ports: DemoPorts, redis_url: str) -> Path:
    """Write `.env` and the samples; return the path of `.env`."""
    values = {
        DATA_DIR.name: str(directory),
        GATEWAY_PORT.name: str(ports.gateway),
        DASHBOARD_PORT.name: str(ports.dashboard),
        FRONT_DOOR_PORT.name: str(ports.front_door),
        DASHBOARD_USER.name: "demo",
        DASHBOARD_PASS.name: secrets.token_urlsafe(16),
        REDIS_URL.name: redis_url,
        LOG_LEVEL.name: "warning",
        LOG_FORMAT.name: "text",
        "JOB_REPOSITORIES": str(directory / SITE.parent),
        "SKILLS_WATCH": str(directory / SITE),
        **cluster.environment(),
        **cluster.access(),
    }
    env_file = directory / ".env"
    write_atomically(env_file, "".join(f"{name}={value}\n" for name, value in values.items()))
    write_atomically(directory / "profiles.yaml", _profile(cluster))
    write_atomically(directory / TARGETS_FILE, f"{json.dumps(cluster.targets(), indent=2)}\n")  # which is YAML
    write_atomically(directory / "triggers.yaml", TRIGGERS)
    for name, manifest in SKILLS.items():
        folder = directory / "skills" / name
        make_directory(folder)
        write_atomically(folder / "skill.yaml", manifest)
    make_directory(directory / "workflows")
    for name, workflow in WORKFLOWS.items():
        write_atomically(directory / "workflows" / f"{name}.yaml", workflow)
    make_directory(directory / "cron.d")
    for name, job in JOBS.items():
        write_atomically(directory / "cron.d" / f"{name}.yaml", job)
    make_directory(directory / SITE)
    for name, text in SITE_FILES.items():
        write_atomically(directory / SITE / name, text)
    write_atomically(directory / "browser_profiles.yaml", BROWSERS)
    make_directory(directory / INBOX)
    watchers = WATCHERS.format(name=INBOX, folder=json.dumps(str(directory / INBOX)), profile=PROFILE)
    write_atomically(directory / "watchers.yaml", watchers)
    return env_file


def _profile(cluster: "StandinCluster") -> str:
    lines = [f"{PROFILE}:"]
    for channel, target in cluster.samples().items():
        lines += [f"  - channel: {cluster.product(channel)}", f'    target: "{target}"']
    return "\n".join(lines) + "\n"
