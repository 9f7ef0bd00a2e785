"""What operations must show: commands on many hosts, watched files, failing jobs, killed task jobs, the status."""

import asyncio
import json
import os
import random
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.figures import Figure
from tests.features.cron.telling import failing_hour
from tests.features.jobs.conftest import make_repository
from tests.features.jobs.kills import survive_kills
from tests.features.ssh.conftest import SSHD, Machine, make_key, open_site
from tests.quick_start import TOCSIN
from tests.runs.kills import KINDS
from tests.runs.kills import survive_kills as survive_run_kills

HOSTS, AT_ONCE = 50, 10
SEED = 20_261_122


class Fleet:
    """Names that lead to one real sshd, as Tocsin knows them and as `ssh` by hand does."""

    def __init__(self, place: Path) -> None:
        folder = place / "machine"
        folder.mkdir()
        key = make_key(folder / "key")
        (folder / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
        self.machine = Machine(folder, key)
        port, host_key = self.machine.sshd()
        self.names = [f"host{number}" for number in range(HOSTS)]
        self.data_dir = place / "data"
        self.data_dir.mkdir()
        self.hosts = [
            {
                "name": name, "hostname": "127.0.0.1", "port": port, "groups": ["all"],
                "identity": {"kind": "key", "ref": str(key)},
            }
            for name in self.names
        ]  # fmt: skip
        (self.data_dir / "config").touch()
        (self.data_dir / "ssh_hosts.yaml").write_text(json.dumps({"hosts": self.hosts}))
        known = " ".join(Path(f"{host_key}.pub").read_text().split()[:2])
        (self.data_dir / "ssh_known_hosts").write_text(f"[127.0.0.1]:{port} {known}\n")
        self.config = place / "ssh_config"
        self.config.write_text(
            f"Host host*\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {key}\n  IdentitiesOnly yes\n"
            f"  BatchMode yes\n  UserKnownHostsFile {self.data_dir}/ssh_known_hosts\n"
        )
        self.env = {
            "PATH": os.environ["PATH"],
            "TOCSIN_DATA_DIR": str(self.data_dir),
            "SSH_CONFIG": str(self.data_dir / "config"),
            "REDIS_URL": "off",
        }

    def by_hand(self, *options: str, names: Sequence[str] = ()) -> float:
        """Return how long `ssh` takes on all names, or on some."""
        hosts = "\n".join(names or self.names).encode()
        return self._timed(
            ["xargs", "-P", str(AT_ONCE), "-I{}", "ssh", "-F", str(self.config), *options, "{}", "uptime"], hosts
        )

    def ours(self, *choice: str) -> float:
        """Return how long `tocsin ssh run` takes, start to exit."""
        return self._timed([str(TOCSIN), "ssh", "run", "--max-parallel", str(AT_ONCE), *choice, "uptime"])

    def socket(self) -> Path:
        """Return the shared connection that was used last."""
        found = [path for path in (self.data_dir / "ssh").iterdir() if path.is_socket()]
        return max(found, key=lambda path: path.stat().st_mtime)

    def hang_up(self) -> None:
        """End the shared connections, so that the next command connects anew."""
        for path in (self.data_dir / "ssh").iterdir():
            if path.is_socket():
                subprocess.run(
                    ["ssh", "-O", "exit", "-o", f"ControlPath={path}", "x"], capture_output=True, check=False
                )

    def _timed(self, argv: Sequence[str], stdin: bytes = b"") -> float:
        began = time.perf_counter()
        done = subprocess.run(argv, input=stdin, env=self.env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return time.perf_counter() - began


@contextmanager
def _fleet(place: Path):
    fleet = Fleet(place)
    try:
        yield fleet
    finally:
        if (fleet.data_dir / "ssh").is_dir():
            fleet.hang_up()
        fleet.machine.stop_all()


def run_on_many_hosts(place: Path, rounds: int) -> list[Figure]:
    """`uptime` on 50 names of one sshd, beside `ssh` with the same parallelism; in turn, so that a drift meets both."""
    if SSHD is None:
        return [Figure("skipped: sshd is not installed", 0)]
    anew, shared, hand = [], [], []
    with _fleet(place) as fleet:
        fleet.ours("--host", fleet.names[0])
        for _ in range(rounds):
            hand.append(fleet.by_hand())
            fleet.hang_up()
            anew.append(fleet.ours("--group", "all"))
            shared.append(fleet.ours("--group", "all"))
    middle = statistics.median(hand)
    return [
        Figure(f"`ssh` by hand on {HOSTS} hosts, {AT_ONCE} at a time", middle, unit="s"),
        Figure("`tocsin ssh run`, connecting anew", statistics.median(anew) / middle, "≤", 1.3, "times that"),
        Figure("… where the connections are shared", statistics.median(shared) / middle, "≤", 1.3, "times that"),
    ]


def run_on_one_host(place: Path, rounds: int) -> list[Figure]:
    """A command over a connection that is shared already, beside `ssh` over the same one."""
    if SSHD is None:
        return [Figure("skipped: sshd is not installed", 0)]
    with _fleet(place) as fleet:
        one = fleet.names[:1]
        fleet.ours("--host", one[0])
        path = fleet.socket()
        hand, anew, whole = [], [], []
        service = asyncio.run(_in_a_service(fleet, one[0], rounds, lambda: hand.append(_over(fleet, path))))
        for _ in range(rounds):
            anew.append(fleet.by_hand(names=one))
            whole.append(fleet.ours("--host", one[0]))
    ssh, connecting = 1000 * statistics.median(hand), 1000 * statistics.median(anew)
    return [
        Figure("`ssh` over a shared connection", ssh, unit="ms"),
        Figure("a command in a service takes longer by", 1000 * statistics.median(service) - ssh, "≤", 60, "ms"),
        Figure("`ssh` that connects", connecting, unit="ms"),
        Figure(
            "`tocsin ssh run`, start to exit, longer by", 1000 * statistics.median(whole) - connecting, "≤", 60, "ms"
        ),
    ]


def _over(fleet: Fleet, path: Path) -> float:
    return fleet.by_hand("-o", f"ControlPath={path}", names=fleet.names[:1])


async def _in_a_service(fleet: Fleet, name: str, rounds: int, between: Callable[[], object]) -> list[float]:
    took = []
    async with open_site(fleet.data_dir, fleet.env | {"SSH_KEEP_S": "60"}) as site:
        for _ in range(rounds):
            between()
            began = time.perf_counter()
            run = await site.run("uptime", name)
            took.append(time.perf_counter() - began)
            assert run.ok, run.reason
    return took


def fail_for_an_hour(place: Path, failures: int) -> list[Figure]:
    """A job that fails so often within an hour of injected time, and then works."""
    found = asyncio.run(failing_hour(place, failures))
    titles = [title for title, _ in found.notifications]
    told = [text.splitlines()[0] for text in found.messages]
    return [
        Figure("failures of one job in an hour", found.failures, "=", failures),
        Figure("notifications of them", titles.count("Job backup is failing"), "=", 1),
        Figure("… its count", dict(found.notifications)["Job backup is failing"], "=", failures),
        Figure("messages: the first failure, and one with the count", len(told) - 1, "=", 2, detail="; ".join(told)),
        Figure("messages that it works again", sum("works again" in line for line in told), "=", 1),
    ]


def kill_task_jobs(place: Path, kills: int) -> list[Figure]:
    """Kills while branches and work trees are made, used and removed."""
    found = asyncio.run(survive_kills(place, kills, random.Random(SEED)))
    return [
        Figure("kills during task jobs", found.kills),
        Figure("… that met a branch being made or removed", found.cut),
        Figure("jobs recorded", found.records),
        Figure("branches without a record", found.branches_without_record, "=", 0),
        Figure("work trees without a record", found.work_trees_without_record, "=", 0),
        Figure("records without their branch", found.records_without_branch, "=", 0),
        Figure(
            "left unfinished, running or half registered",
            found.states_without_record + found.unfinished + found.running,
            "=",
            0,
        ),
    ]


def tell_the_status(place: Path, rounds: int) -> list[Figure]:
    """`tocsin status` from start to exit, with every feature configured."""
    env = {**configured(place), "PATH": os.environ["PATH"], "HOME": str(place)}
    times: dict[str, list[float]] = {"channels": [], "status": []}
    for number in range(rounds + 1):
        for command, into in times.items():
            began = time.perf_counter()
            done = subprocess.run([TOCSIN, "--json", command], env=env, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr.decode()
            if number:  # the first one warms the caches
                into.append(1000 * (time.perf_counter() - began))
    off = [name for name, each in json.loads(done.stdout)["subsystems"].items() if each["status"] in _UNUSED]
    return [
        Figure("subsystems that are not configured", len(off), "=", 0, detail=", ".join(off)),
        Figure("`tocsin channels`", statistics.median(times["channels"]), unit="ms"),
        Figure("`tocsin status`, start to exit", statistics.median(times["status"]), "≤", 300, "ms"),
    ]


_UNUSED = {"unconfigured", "disabled"}


def configured(place: Path) -> dict[str, str]:
    """Configure every feature; return the settings."""
    data = place / "data"
    for folder in ("workflows", "cron.d", "skills/greet", "inbox"):
        (data / folder).mkdir(parents=True)
    make_repository(place / "repos" / "site")
    files = {
        "profiles.yaml": 'oncall:\n  - {channel: teamchat, target: "#ops"}\n',
        "triggers.yaml": '- {pattern: "^uptime$", command: uptime}\n',
        "skills/greet/skill.yaml": "name: greet\ndescription: Greet.\ncommand: echo hello\n",
        "workflows/nightly.yaml": "name: nightly\nnotify_profile: oncall\nsteps:\n  - {name: look, command: df}\n",
        "cron.d/backup.yaml": 'schedule: "30 3 * * *"\ncommand: echo hi\noutput: oncall\n',
        "watchers.yaml": f"- {{name: inbox, path: {data}/inbox, command: wc}}\n",
        "ssh_hosts.yaml": "hosts:\n  - {name: web1, hostname: 127.0.0.1, groups: [web]}\n",
        "browser_profiles.yaml": "profiles:\n  - {name: work}\n",
    }
    for name, text in files.items():
        (data / name).write_text(text)
        (data / name).chmod(0o600)
    env = {
        "TOCSIN_DATA_DIR": str(data), "REDIS_URL": "off", "JOB_REPOSITORIES": str(place / "repos"),
        "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example", "NOTIFY_PROFILE": "oncall",
        "BOTCHAT_BOT_TOKEN": f"123456789:{'A' * 35}", "ALLOWED_CHAT_IDS": "1001", "BOTCHAT_ADMIN_CHAT_ID": "1001",
        "DASHBOARD_USER": "ana", "DASHBOARD_PASS": "correct horse battery",
    }  # fmt: skip
    for words, stdin in (
        (("vault", "init"), ""),
        (("vault", "set", "DEPLOY_KEY"), "a secret\n"),
        (("memory", "set", "greeting", "Say hello."), ""),
        (("cron", "run", "backup"), ""),
    ):
        surroundings = {**env, "PATH": os.environ["PATH"]}
        done = subprocess.run(
            [TOCSIN, *words], env=surroundings, input=stdin.encode(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
    return env


def kill_runs(place: Path, kills: int, seed: int = 20261124) -> list[Figure]:
    """Kill processes with runs of eight kinds, with approvals, queues, pauses and retries among them, at any moment."""
    found = asyncio.run(survive_run_kills(place, kills, random.Random(seed)))
    return [
        Figure("kills of processes with runs", found.kills),
        Figure("… runs", found.runs),
        Figure("… kinds of runs", found.kinds, "=", KINDS),
        Figure("… not ended or not settled", found.lost, "=", 0),
        Figure("… steps and commands executed twice", found.twice, "=", 0),
        Figure("… ended without an audit entry", found.unreported, "=", 0),
        Figure("… with two audit entries", found.reported_twice, "=", 0),
        Figure("… failures that were not retried", found.not_retried, "=", 0),
        Figure("… workflows without a summary", found.messages_missing, "=", 0),
        Figure("… summaries and answers beyond one each", found.messages_unexpected, "=", 0),
        Figure("… interruptions without a notice", found.unnotified, "=", 0),
        Figure("… with two notices", found.notified_twice, "=", 0),
        Figure("… workflows without their failure path", found.without_failure_path, "=", 0),
        Figure("… interrupted by a kill", found.interrupted),
    ]
