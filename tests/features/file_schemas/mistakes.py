"""Seeded mistakes: the kind of the file, its text, and where the mistake stands."""

from typing import NamedTuple

TOGETHER = "which keys go together is a rule of the reader"
OTHERS = "it compares entries of a list"
GRAMMAR = "the text has a grammar of its own"


class Mistake(NamedTuple):
    """One mistake; `beyond` says why a schema cannot find it."""

    kind: str
    text: str
    line: int
    column: int
    beyond: str = ""


_SKILL = "name: it\ndescription: Makes a backup\ncommand: ./backup.sh\n"
_ABOUT = "Reviews every change for mistakes and says what is wrong with it."
_AGENT = f"name: it\ndescription: {_ABOUT}\ntools: [Read]\n"
_JOB = "schedule: '@daily'\ncommand: ./backup.sh\n"
_STEP = "name: it\nsteps:\n  - name: copy\n    command: cp a b\n"
_RULE = "- name: scans\n  path: /srv\n  command: 'true'\n"

MISTAKES = [
    # unknown and missing keys
    Mistake("profiles", "oncall:\n  - channel: email\n    target: a@b.c\n    subject: Disk\n", 4, 5),
    Mistake("profiles", "oncall:\n  - channel: email\n", 2, 5),
    Mistake("targets", "webhok:\n  ci: {}\n", 1, 1),
    Mistake("targets", "webhook:\n  ci:\n    url: https://x.example\n    secret: '${vault:CI}'\n    uri: x\n", 5, 5),
    Mistake("targets", "webhook:\n  CI: {url: 'https://x.example', secret: '${vault:CI}'}\n", 2, 3),
    Mistake("doors", "ci:\n  - title: Build\n    colour: red\n", 3, 5),
    Mistake("doors", "ci:\n  - title: Build\n    drop: maybe\n", 3, 11),
    Mistake("heartbeats", "nightly:\n  period: 5m\n  severe: warning\n", 3, 3),
    Mistake("heartbeats", "nightly:\n  period: 5m\n  misses: 20\n", 3, 11),
    Mistake("triggers", "- pattern: disk\n  command: df\n  replay: false\n", 3, 3),
    Mistake("triggers", "- pattern: disk\n  reply: false\n", 1, 3),
    Mistake("watchers", f"{_RULE}  pattern: ['*.pdf']\n", 4, 3),
    Mistake("watchers", "- name: scans\n  command: 'true'\n", 1, 3),
    Mistake("cron_job", f"{_JOB}timeout: 60\n", 3, 1),
    Mistake("cron_job", "command: ./backup.sh\n", 1, 1),
    Mistake("workflow", f"{_STEP}    comand: x\n", 5, 5),
    Mistake("workflow", "name: it\nsteps:\n  - name: copy\n", 3, 5),
    Mistake("workflow", "name: it\n", 1, 1),
    Mistake("workflow", f"{_STEP}    url: https://example.org\n", 5, 5),  # of another type of step
    Mistake("ssh_hosts", "hosts:\n  - name: web1\n    host: 10.0.0.1\n", 3, 5),
    Mistake("ssh_hosts", "hosts:\n  - hostname: 10.0.0.1\n", 2, 5),
    Mistake("browser_profiles", "profiles:\n  - name: a\n    engine: chrome\n", 3, 5),
    Mistake("browser_profiles", "- name: a\n- headless: true\n", 2, 3),
    Mistake("rotation_policies", "default_max_age: 30\n", 1, 1),
    Mistake("rotation_policies", "secrets:\n  SMTP_PASS: {max_age_days: 30, days: 3}\n", 2, 33),
    Mistake("skill", f"{_SKILL}timeout: 60\n", 4, 1),
    Mistake("skill", "name: it\ncommand: ./backup.sh\n", 1, 1),
    Mistake("assistant_skill", f"{_AGENT}patterns: ['*.py']\n", 4, 1),
    Mistake("assistant_skill", f"name: it\ndescription: {_ABOUT}\nenabled: true\n", 1, 1),
    # types
    Mistake("profiles", "oncall:\n  channel: email\n  target: a@b.c\n", 2, 3),
    Mistake("profiles", "- channel: email\n", 1, 1),
    Mistake("triggers", "- pattern: disk\n  command: df\n  reply: maybe\n", 3, 10),
    Mistake("triggers", "pattern: disk\ncommand: df\n", 1, 1),
    Mistake("watchers", f"{_RULE}  recursive: 'yes'\n", 4, 14),
    Mistake("watchers", f"{_RULE}  patterns: '*.pdf'\n", 4, 13),
    Mistake("cron_job", f"{_JOB}timeout_seconds: 5m\n", 3, 18),
    Mistake("cron_job", f"{_JOB}env: [A, B]\n", 3, 6),
    Mistake("workflow", f"{_STEP}    env: {{A: [1]}}\n", 5, 14),
    Mistake("ssh_hosts", "hosts: [web1]\n", 1, 9),
    Mistake("browser_profiles", "profiles:\n  - name: a\n    port: auto\n", 3, 11),
    Mistake("rotation_policies", "default_max_age_days: 30d\n", 1, 23),
    Mistake("skill", f"{_SKILL}dependencies: tar\n", 4, 15),
    Mistake("assistant_skill", f"{_AGENT}coordination: [test-writer]\n", 4, 15),
    # words, limits and patterns
    Mistake("profiles", "on call:\n  - {channel: email, target: a@b.c}\n", 1, 1),
    Mistake("profiles", "oncall: []\n", 1, 9),
    Mistake("triggers", "- pattern: disk\n  action: shel\n  command: df\n", 2, 11),
    Mistake("watchers", f"{_RULE}  events: [create]\n", 4, 12),
    Mistake("watchers", f"{_RULE}  debounce_ms: 60001\n", 4, 16),
    Mistake("watchers", "- name: scans\n  path: srv\n  command: 'true'\n", 2, 9),
    Mistake("cron_job", f"{_JOB}overlap: skipp\n", 3, 10),
    Mistake("cron_job", f"{_JOB}output_on: failure,recovered\n", 3, 12),
    Mistake("cron_job", f"{_JOB}retry: {{max_attempts: 0}}\n", 3, 23),
    Mistake("cron_job", f"{_JOB}env: {{1A: x}}\n", 3, 7),
    Mistake("workflow", f"{_STEP}    timeout: 5 minutes\n", 5, 14),
    Mistake("workflow", f"{_STEP}    type: shel\n", 5, 11),
    Mistake("workflow", "name: it\nsteps:\n  - name: Copy\n    command: cp a b\n", 3, 11),
    Mistake("ssh_hosts", "hosts:\n  - name: web1\n    port: 65536\n", 3, 11),
    Mistake("ssh_hosts", "hosts:\n  - name: web1\n    identity: {kind: password}\n", 3, 22),
    Mistake("browser_profiles", "- name: a\n  proxy: ftp://proxy.example.org\n", 2, 10),
    Mistake("rotation_policies", "secrets:\n  SMTP-PASS: {max_age_days: 30}\n", 2, 3),
    Mistake("skill", f"{_SKILL}permissions: [net]\n", 4, 15),
    Mistake("skill", f"{_SKILL}timeout_seconds: 301\n", 4, 18),
    Mistake("assistant_skill", "name: it\ndescription: short\ntools: [Read]\n", 2, 14),
    Mistake("assistant_skill", f"name: it\ndescription: {_ABOUT}\ntools: [Bash]\n", 3, 9),
    # YAML
    Mistake("profiles", "oncall: &all\n  - {channel: email, target: a@b.c}\n", 1, 9),
    Mistake("triggers", "- pattern: disk\n  command: df\n  pattern: memory\n", 3, 3),
    Mistake("workflow", f"{_STEP}   timeout: 1m\n", 5, 4),
    # what only a reader finds
    Mistake("triggers", "- pattern: 'a(b'\n  command: df\n", 1, 12, GRAMMAR),
    Mistake("cron_job", "schedule: every now and then\ncommand: df\n", 1, 11, GRAMMAR),
    Mistake("cron_job", f"{_JOB}type: message\n", 3, 7, TOGETHER),
    Mistake("watchers", f"{_RULE}{_RULE}", 4, 9, OTHERS),
    Mistake("workflow", f"{_STEP}    depends_on: [paste]\n", 5, 18, OTHERS),
    Mistake("browser_profiles", "- name: a\n  browser: firefox\n", 1, 3, TOGETHER),
    Mistake("skill", f"{_SKILL}vault: [BACKUP_KEY]\n", 4, 1, TOGETHER),
]
