"""The sandbox: what a program in it tries to reach outside, it does not reach."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.process.sandbox import SYSTEM_PATH, Level, ResourceLimits, Sandbox, SandboxPolicy, WritableFolders
from tocsin.core.process.starting import Finished, run, streaming
from tocsin.core.process.tree import list_tree

SECRET = "correct-horse-battery"
MARK = "987654.321"  # seconds that only our victim sleeps
PYTHON = shutil.which("python3", path=SYSTEM_PATH)
ENV = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "TERM": "dumb"}


needs_bubblewrap = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
async def bubblewrap() -> None:
    """Skip where bubblewrap does not run."""
    state = await Sandbox().state()
    if state.level is not Level.BUBBLEWRAP:
        pytest.skip(state.reason)


@dataclass
class World:
    """What there is to steal and to break around the folder of one skill."""

    root: Path
    victim: subprocess.Popen[bytes]
    port: int
    visits: list[str] = field(default_factory=list)
    inherited: int = -1

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def skill(self) -> Path:
        return self.data / "skills" / "thief"

    @property
    def scratch(self) -> Path:
        return self.data / "scratch" / "thief"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def fill(self, script: str) -> str:
        names = {
            "@DATA@": self.data,
            "@HOME@": self.home,
            "@ROOT@": self.root,
            "@VICTIM@": self.victim.pid,
            "@PORT@": self.port,
            "@FD@": self.inherited,
            "@SECRET@": SECRET[:-3] + "[e]ry",  # as a pattern that does not find itself
        }
        for name, value in names.items():
            script = script.replace(name, str(value))
        return script

    def harm(self) -> list[str]:
        """Return what was done to it."""
        found = [f"{path} is there" for path in self.root.rglob("pwned*") if self.scratch not in path.parents]
        if self.victim.poll() is not None:
            found.append("the victim is dead")
        if (self.data / ".env").read_text() != f"TOKEN={SECRET}\n":
            found.append(".env was changed")
        if "thief" not in (self.skill / "skill.yaml").read_text():
            found.append("the manifest was changed")
        return found + self.visits


def build(root: Path) -> None:
    for folder in ("data/skills/thief", "data/skills/other", "data/scratch/thief", "home/.ssh"):
        (root / folder).mkdir(parents=True)
    for file in ("data/vault.enc", "data/identity.txt", "data/tocsin.db", "data/skills/other/key", "home/.ssh/id_rsa"):
        (root / file).write_text(SECRET)
    (root / "data/.env").write_text(f"TOKEN={SECRET}\n")
    (root / "data/skills/thief/skill.yaml").write_text("name: thief\n")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A user's machine with a running program, secrets, and servers that note every visitor."""
    root = tmp_path_factory.mktemp("w")
    build(root)
    with contextlib.ExitStack() as stack:
        victim = subprocess.Popen(["sleep", MARK], env={"PATH": SYSTEM_PATH, "VICTIMS_TOKEN": SECRET})
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        world = World(root, victim, tcp.getsockname()[1])
        by_path = stack.enter_context(socket.socket(socket.AF_UNIX))
        by_path.bind(str(world.data / "s"))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0tocsin-{world.port}")
        for server, name in ((tcp, "tcp"), (by_path, "unix socket"), (abstract, "abstract socket")):
            server.listen()
            threading.Thread(target=note_visits, args=(server, name, world.visits), daemon=True).start()
        shared = Path(f"/dev/shm/tocsin-{world.port}")
        shared.write_text(SECRET)
        stack.callback(shared.unlink)
        world.inherited = os.open(world.data / ".env", os.O_RDONLY)
        stack.callback(os.close, world.inherited)
        os.set_inheritable(world.inherited, True)
        yield world


def note_visits(server: socket.socket, name: str, visits: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            visits.append(f"a visit by {name}")
            connection.close()


async def in_sandbox(
    world: World,
    script: str,
    *,
    timeout_s: float = PATIENCE_S,
    network: bool = False,
    limits: ResourceLimits | None = None,
) -> Finished:
    room = SandboxPolicy(world.skill, world.skill, world.scratch, network=network)
    confined = await Sandbox(limits or ResourceLimits()).confine(
        ["/bin/sh", "-c", world.fill(script)], {**ENV, "HOME": str(world.home)}, room
    )
    return await run(confined.argv, env=confined.env, cwd=confined.cwd, timeout_s=timeout_s, stdin="\n")


def own_room(folder: Path) -> SandboxPolicy:
    return SandboxPolicy(folder, folder)


def python(code: str) -> str:
    return f"python3 - <<'CODE'\n{code}\nCODE"


CONNECT = python("""
import socket, sys
s = socket.socket(socket.{family}); s.settimeout(3)
s.connect({address}); print("ESCAPED")
""")
LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"

# Each prints ESCAPED, or the secret, or does harm that `World.harm` sees, when it works. Those of the first table
# do work outside the sandbox, which is tested; those of the second would be a danger to the machine there.
HARMLESS = {
    "read the private key in the home": "cat @HOME@/.ssh/id_rsa",
    "read the settings": "cat @DATA@/.env",
    "read the vault": "cat @DATA@/vault.enc",
    "read the vault's identity": "cat ../../identity.txt",
    "read the database": "cat @DATA@/tocsin.db",
    "read another skill": "cat ../other/key",
    "list the data directory": "ls -a @DATA@ | grep -qx .env && echo ESCAPED",
    "write beside the skill": "echo x > ../pwned1",
    "write into the data directory": "echo x > @DATA@/pwned2",
    "write through a symbolic link to a folder": "ln -sfn @DATA@ out && echo x > out/pwned3",
    "read through a symbolic link": "ln -sfn @DATA@/.env link && cat link",
    "make a hard link to a secret": "rm -f hard; ln @DATA@/.env hard && cat hard",
    "change the manifest": "echo 'permissions: [vault]' >> skill.yaml && echo ESCAPED",
    "replace the manifest": "cp skill.yaml new && mv -f new skill.yaml && echo ESCAPED",
    "see other processes": "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q '987654[.]321' && echo ESCAPED",
    "read the environment of another process": "cat /proc/[0-9]*/environ | grep -a @SECRET@ && echo ESCAPED",
    "read through the root of another process": "for p in /proc/[0-9]*; do cat $p/root@DATA@/.env; done",
    "read through the folder of another process": "for p in /proc/[0-9]*; do cat $p/cwd/../../.env; done",
    "read another process's memory": "head -c 1 /proc/@VICTIM@/maps | grep -q . && echo ESCAPED",
    "connect to a server on this machine": CONNECT.format(family="AF_INET", address='("127.0.0.1", @PORT@)'),
    "connect to a socket in the data directory": CONNECT.format(family="AF_UNIX", address='"@DATA@/s"'),
    "connect to a socket without a file": CONNECT.format(family="AF_UNIX", address='"\\0tocsin-@PORT@"'),
    "read shared memory": "cat /dev/shm/tocsin-@PORT@",
    "see the network of the machine": '[ "$(ls /sys/class/net | wc -l)" -ge 1 ] && echo ESCAPED',
}
DANGEROUS = {
    "read a file that this program has open": "cat <&@FD@; cat /proc/self/fd/@FD@",
    "read the password file": "cat /etc/shadow && echo ESCAPED",
    "write to a system folder": "echo x > /usr/bin/pwned4 && echo ESCAPED",
    "write to the system's settings": "echo x >> /etc/hosts && echo ESCAPED",
    "kill another process": "kill -9 @VICTIM@",
    "kill the parent": '[ "$PPID" -gt 1 ] && kill -9 $PPID && echo ESCAPED',
    "trace another process": python(LIBC + "print('ESCAPED' if libc.ptrace(16, @VICTIM@, 0, 0) == 0 else '')"),
    "mount a file system": "mkdir -p m && mount -t tmpfs none m && echo ESCAPED",
    "mount a folder elsewhere": "mkdir -p m && mount --bind / m && echo ESCAPED",
    "make the system writable": "mount -o remount,rw /usr && echo ESCAPED",
    "become root of a new namespace": "unshare --user --map-root-user --mount true && echo ESCAPED",
    "enter the namespaces of the first process": "nsenter --target 1 --mount cat @DATA@/.env",
    "change the root": python("import os\nos.chroot('/proc/1/root'); print('ESCAPED')"),
    "become root": python("import os\nos.setuid(0); print('ESCAPED')"),
    "use a program that makes root": "grep ' /usr ' /proc/mounts | grep -q nosuid || echo ESCAPED",
    "make a device": "mknod disk b 8 0 && echo ESCAPED",
    "read a disk": "for d in /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmsg; do head -c1 $d && echo ESCAPED; done",
    "type into the terminal": python(
        "import fcntl, termios\nf = open('/dev/tty')\nfcntl.ioctl(f, termios.TIOCSTI, b'x'); print('ESCAPED')"
    ),
    "change the kernel": "echo x > /proc/sys/kernel/domainname && echo ESCAPED",
    "press a magic key": "echo h > /proc/sysrq-trigger && echo ESCAPED",
    "rename the machine": "hostname pwned && echo ESCAPED",
    "open a file by its handle": python(
        LIBC + "h = (ctypes.c_char * 16)(8, 0, 0, 0, 1, 0, 0, 0, 2)\nf = os.open('/usr', 0)\n"
        "print('ESCAPED' if libc.open_by_handle_at(f, h, 0) >= 0 else '')"
    ),
    "reach another network": python(
        "import socket\ns = socket.socket(2, 2); s.connect(('192.0.2.1', 9)); print('ESCAPED')"
    ),
}
ESCAPES = {**HARMLESS, **DANGEROUS}


def test_at_least_thirty_escapes_are_tried():
    assert len(ESCAPES) >= 30


@needs_bubblewrap
@pytest.mark.parametrize("name", ESCAPES)
async def test_an_escape_is_contained(name: str, world: World):
    if "python3" in ESCAPES[name] and PYTHON is None:
        pytest.skip("no python3 in the system's folders")
    done = await in_sandbox(world, f"echo began; {ESCAPES[name]}")
    assert done.stdout.startswith("began\n"), done.stderr
    assert "ESCAPED" not in done.stdout
    assert SECRET not in done.stdout + done.stderr
    assert world.harm() == []


@pytest.mark.parametrize("name", HARMLESS)
def test_the_same_escape_works_outside_so_its_test_can_fail(name: str, tmp_path: Path):
    if "python3" in HARMLESS[name] and PYTHON is None:
        pytest.skip("no python3 in the system's folders")
    build(tmp_path)
    visits: list[str] = []
    with contextlib.ExitStack() as stack:
        victim = stack.enter_context(
            subprocess.Popen(["sleep", MARK], env={"VICTIMS_TOKEN": SECRET, "PATH": SYSTEM_PATH})
        )
        stack.callback(victim.kill)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = server.getsockname()[1]
        for address in (str(tmp_path / "data/s"), f"\0tocsin-{port}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        shared = Path(f"/dev/shm/tocsin-{port}")
        shared.write_text(SECRET)
        stack.callback(shared.unlink)
        world = World(tmp_path, victim, port, visits)
        done = subprocess.run(
            ["sh", "-c", world.fill(HARMLESS[name])], cwd=world.skill, env=ENV, capture_output=True, check=False
        )
        said = done.stdout.decode(errors="replace")
        assert "ESCAPED" in said or SECRET in said or world.harm(), done.stderr


@needs_bubblewrap
async def test_a_program_may_write_to_its_home_and_to_tmp_and_the_folders_stay_open(world: World):
    room = SandboxPolicy(world.skill, world.skill, world.scratch)
    script = "ls -A $HOME; read -r word; echo $word > $HOME/own && echo t > /tmp/t && echo $HOME"
    confined = await Sandbox().confine(["/bin/sh", "-c", script], ENV, room)
    folders, said = WritableFolders(world.scratch, ResourceLimits()), bytearray()
    async with streaming(
        confined.argv,
        lambda _, data: said.extend(data),
        stdin="typed\n",
        env=confined.env,
        cwd=confined.cwd,
        wrapped=True,
        attach=folders.open,
    ) as child:
        assert await child.wait() == 0
    assert said.decode() == f"{world.scratch}\n"
    with open("own", opener=lambda name, _: os.open(name, os.O_RDONLY, dir_fd=folders.home)) as file:
        assert file.read() == "typed\n"
    folders.close()
    assert list(world.scratch.iterdir()) == []


@needs_bubblewrap
async def test_it_has_no_capability_and_cannot_gain_one(world: World):
    done = await in_sandbox(world, "grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs' /proc/self/status")
    assert {line.split()[1] for line in done.stdout.splitlines() if line.startswith("Cap")} == {"0" * 16}
    assert "NoNewPrivs:\t1" in done.stdout


@needs_bubblewrap
async def test_the_network_is_there_where_it_is_allowed(world: World):
    if PYTHON is None:
        pytest.skip("no python3 in the system's folders")
    done = await in_sandbox(world, HARMLESS["connect to a server on this machine"], network=True)
    assert "ESCAPED" in done.stdout, done.stderr
    await eventually(lambda: world.visits)
    world.visits.clear()


@needs_bubblewrap
async def test_what_leaves_its_session_ends_with_the_run(world: World):
    seconds = f"31415.{os.getpid()}"  # nobody else's
    done = await in_sandbox(world, f"setsid sleep {seconds} >/dev/null 2>&1 & setsid -f sleep {seconds}; echo left")
    assert done.stdout == "left\n"

    def all_gone() -> bool:
        return not [path for path in Path("/proc").glob("[0-9]*/cmdline") if seconds.encode() in read(path)]

    await eventually(all_gone)  # the kernel ends them in its own time


@needs_bubblewrap
async def test_limits_hold_in_it(world: World):
    done = await in_sandbox(world, "ulimit -c; ulimit -n; ulimit -v; ulimit -f")
    limits = ResourceLimits()
    core, files, kib, _ = done.stdout.split()
    assert (core, files, kib) == ("0", str(limits.open_files), str(limits.address_space_bytes // 1024))


@needs_bubblewrap
async def test_the_disk_in_memory_ends_where_its_limit_is(world: World):
    size = 1024 * 1024
    fill = f"for d in /tmp /dev/shm $HOME; do head -c {size + 1} /dev/zero > $d/f; stat -c %s $d/f; done"
    done = await in_sandbox(world, fill, limits=ResourceLimits(home_bytes=size, temporary_bytes=size))
    assert [int(text) <= size for text in done.stdout.split()] == [True] * 3
    assert done.stderr.count("No space left") == 3


@needs_bubblewrap
async def test_nothing_of_it_outlives_this_program(world: World, tmp_path: Path):
    seconds = f"27182.{os.getpid()}"  # nobody else's
    confined = await Sandbox().confine(
        ["/bin/sh", "-c", f"echo up; sleep {seconds}"], ENV, SandboxPolicy(world.skill, world.skill)
    )
    code = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE).stdout.readline())"
    owner = subprocess.run(["python3", "-c", code, *confined.argv], cwd=world.skill, capture_output=True, check=False)
    assert b"up" in owner.stdout, owner.stderr
    await eventually(lambda: not any(seconds.encode() in read(p) for p in Path("/proc").glob("[0-9]*/cmdline")))


async def test_without_bubblewrap_the_level_is_limits_and_says_why():
    state = await Sandbox(bwrap="").state()
    assert (state.level, "bubblewrap" in state.reason) == (Level.LIMITS, True)


async def test_a_bubblewrap_that_fails_is_not_used_and_its_words_are_the_reason(tmp_path: Path):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    broken.chmod(0o755)
    state = await Sandbox(bwrap=str(broken)).state()
    assert state.level is Level.LIMITS
    assert state.reason.endswith(": No permissions to create new namespace")


async def test_the_level_is_found_out_once(tmp_path: Path):
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho tried >> {tmp_path}/log; exit 1\n")
    fake.chmod(0o755)
    sandbox = Sandbox(bwrap=str(fake))
    assert [(await sandbox.state()).level for _ in range(3)] == [Level.LIMITS] * 3
    assert (tmp_path / "log").read_text() == "tried\n"


async def test_without_bubblewrap_limits_and_environment_hold_and_output_is_the_programs_own(tmp_path: Path):
    sandbox = Sandbox(bwrap="")
    confined = await sandbox.confine(
        ["/bin/sh", "-c", "ulimit -n; echo err >&2; exit 4"], ENV, SandboxPolicy(tmp_path, tmp_path)
    )
    done = await run(confined.argv, env=confined.env, cwd=tmp_path, timeout_s=PATIENCE_S)
    assert (done.exit_code, done.stdout, done.stderr) == (4, "1024\n", "err\n")


def test_programs_are_looked_for_where_the_sandbox_has_them():
    sandbox = Sandbox()
    path = "/home/me/.local/bin:/usr/local/bin:bin::/usr/bin:/opt/x"
    assert sandbox.reachable(path, Level.BUBBLEWRAP) == "/usr/local/bin:/usr/bin"
    assert sandbox.reachable(path, Level.LIMITS) == "/home/me/.local/bin:/usr/local/bin:/usr/bin:/opt/x"
    assert sandbox.reachable("bin", Level.LIMITS) == SYSTEM_PATH


@needs_bubblewrap
async def test_everything_below_a_sandboxed_program_is_in_its_tree(world: World):
    confined = await Sandbox().confine(
        ["/bin/sh", "-c", "setsid sleep 60 & echo up; wait"], ENV, SandboxPolicy(world.skill, world.skill)
    )
    up = asyncio.Event()
    async with streaming(confined.argv, lambda *_: up.set(), env=confined.env, cwd=world.skill) as child:
        await up.wait()
        # bubblewrap, its inner half, sh, sleep; nobody tells of what happens in there
        await eventually(lambda: len(list_tree(child.pid)) >= 4)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
