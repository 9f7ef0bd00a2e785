"""Running skills: dependencies, modes, limits, and one audit entry each."""

import asyncio
import contextlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.process.test_starting import gone, pid_in
from tests.facts import mentions
from tests.features.assistant_skills.broken_front_matter import GOOD, file_of
from tests.features.skills.attacks import FILES, MOUNTS, script_of
from tests.features.skills.conftest import SECRET, Workshop, call
from tests.waiting import LIMITS_S, PATIENCE_S, eventually

from tocsin.core.errors import ConfigError
from tocsin.core.process.sandbox import Level, ResourceLimits, Sandbox
from tocsin.core.process.starting import SUPERVISES
from tocsin.core.records.as_json import to_json
from tocsin.features.skills.model import ExecutionMode, InvalidSkillError, SkillDisabledError, UnknownSkillError
from tocsin.features.skills.records import record_of
from tocsin.features.skills.snapshot import MAX_DEPTH, MAX_FILES, digest_of, drop_set_uid
from tocsin.runs.model import RunStatus, RunTrigger

needs_bubblewrap = pytest.mark.usefixtures("bubblewrap")
BOTH = pytest.mark.parametrize("mode", list(ExecutionMode))
# What shells set themselves.
SHELLS = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


def names(output: str, shells: frozenset[str] = SHELLS) -> set[str]:
    return {line.partition("=")[0] for line in output.splitlines()} - shells


# --- what a skill gets


IDENTITY = "from tocsin.core.process.identity import own_identity; print(own_identity(), end='')"
DAEMON = """\
import os, time
if not os.fork():
    os.setsid()
    if not os.fork():
        os.execvp("sleep", ["sleep", "{}"])
    os._exit(0)
"""


def running_with(seconds: str) -> list[str]:
    """Return the processes that sleep for so long."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if file.read_bytes().split(b"\0")[1:2] == [seconds.encode()]:
                found.append(file.parent.name)
    return found


@BOTH
async def test_arguments_are_data_and_input_is_standard_input(workshop: Workshop, mode: ExecutionMode):
    hostile = ["$(id)", "a b", "'\"", "; exit 9"]
    run = await workshop.run('printf "%s|" "$0" "$@"; cat', mode, args=hostile, input="typed")
    assert run.output.tail == "it|" + "".join(f"{argument}|" for argument in hostile) + "typed"


@pytest.mark.parametrize("mode", list(ExecutionMode))
async def test_a_skill_that_is_switched_off_is_not_run_by_any_caller(workshop: Workshop, mode: ExecutionMode):
    workshop.write("it", "echo hi")
    workshop.put("it/SKILL.md", file_of(GOOD | {"name": "name: it", "enabled": "enabled: false"}))
    with pytest.raises(SkillDisabledError, match="disabled") as raised:
        await workshop.skills.run("it", call(mode))
    assert raised.value.hint.endswith("skills/it/SKILL.md")
    assert workshop.audit() == []


async def test_a_standard_run_starts_in_its_folder_and_may_write_there(workshop: Workshop):
    run = await workshop.run("pwd; echo kept > own")
    assert run.output.tail == str(workshop.folder / "skills" / "it")
    assert (workshop.folder / "skills/it/own").read_text() == "kept\n"


LEVELS = pytest.mark.parametrize("level", ["bubblewrap", "limits"])


async def use(workshop: Workshop, level: str) -> None:
    workshop.sandbox = Sandbox() if level == "bubblewrap" else Sandbox(bwrap="")
    if (state := await workshop.sandbox.state()).level != level:
        pytest.skip(state.reason)


@LEVELS
async def test_what_a_sandboxed_run_writes_into_its_home_is_there_for_the_next_one(workshop: Workshop, level: str):
    await use(workshop, level)
    assert (await workshop.run('echo kept > "$HOME/own"', ExecutionMode.SANDBOXED)).ok
    assert (await workshop.run('cat "$HOME/own"', ExecutionMode.SANDBOXED)).output.tail == "kept"
    assert stat.S_IMODE((workshop.folder / "scratch/it").stat().st_mode) == 0o700


@LEVELS
async def test_a_sandboxed_run_changes_nothing_in_its_folder(workshop: Workshop, level: str):
    await use(workshop, level)
    attacks = [*FILES, *(MOUNTS if level == "bubblewrap" else ())]
    workshop.put("it/backup.sh", "echo honest\n")
    before = digest_of(workshop.write("it", script_of(attacks)))
    run = await workshop.run(script_of(attacks), ExecutionMode.SANDBOXED)
    assert run.ok
    assert digest_of(workshop.folder / "skills/it") == before == run.params["sha256"]
    assert len(FILES) + len(MOUNTS) >= 60


async def test_what_runs_is_the_snapshot_whatever_is_changed_on_the_host_meanwhile(workshop: Workshop):
    script = "trap 'sh part.sh; cat skill.yaml; exit 0' TERM; echo up; while :; do sleep 0.01; done 2>/dev/null"
    workshop.put("it/part.sh", "echo honest")
    folder = workshop.write("it", script)
    digest = digest_of(folder)
    lines: list[str] = []
    running = await workshop.skills.start(
        "it", call(ExecutionMode.SANDBOXED), watch=lambda line: lines.append(line.text)
    )
    await pid_line(lines)
    (folder / "part.sh").write_text("echo forged")
    forged = folder / "new"
    forged.write_text("name: it\ndescription: d\ncommand: 'true'\npermissions: [network]\n")
    forged.replace(folder / "skill.yaml")
    await workshop.runs.cancel(running.run.id, grace_s=30)
    run = await running.wait()
    assert run.output.tail.splitlines()[1] == "honest"
    assert "network" not in run.output.tail
    assert run.params["sha256"] == digest != digest_of(folder)


async def test_no_snapshot_stays_behind(workshop: Workshop):
    await workshop.run("true", ExecutionMode.SANDBOXED)
    await workshop.run("true", ExecutionMode.SANDBOXED, more="dependencies: [no-such]")
    workshop.write("it", "true")
    with pytest.raises(ConfigError):
        await workshop.skills.run("it", call(ExecutionMode.SANDBOXED, timeout_s=9999))
    assert list((workshop.folder / "snapshots").iterdir()) == []


async def test_the_snapshot_of_a_program_that_was_killed_is_removed_by_the_next_run(workshop: Workshop):
    left = workshop.folder / "snapshots" / "left" / "it"
    left.mkdir(parents=True)
    dead = subprocess.Popen([sys.executable, "-c", IDENTITY], stdout=subprocess.PIPE, text=True)
    (left.parent / "owner").write_text(dead.communicate()[0])
    left.chmod(0o500)
    await workshop.run("true", ExecutionMode.SANDBOXED)
    assert not left.exists()


async def test_no_program_in_the_home_directory_keeps_a_set_uid_bit_and_links_are_not_followed(workshop: Workshop):
    others = workshop.folder / "others"
    others.touch(0o4755)
    others.chmod(0o4755)
    script = 'cd "$HOME"; cp /bin/true a; mkdir b; cp /bin/true b/c; chmod 6755 a b/c b; ln -s ../../others link'
    assert (await workshop.run(script, ExecutionMode.SANDBOXED)).ok
    assert stat.S_IMODE(others.stat().st_mode) == 0o4755
    modes = [path.lstat().st_mode for path in (workshop.folder / "scratch").rglob("*") if not path.is_symlink()]
    assert len(modes) == 4
    assert not [mode for mode in modes if mode & (stat.S_ISUID | stat.S_ISGID)]


def test_bits_are_taken_from_files_and_never_from_what_a_link_leads_to(tmp_path: Path):
    scratch, outside = tmp_path / "scratch", tmp_path / "outside"
    scratch.mkdir()
    outside.touch()
    outside.chmod(0o600)
    swap = """
import os
while 1:
    os.rename("file", "name")
    os.rename("link", "name")
    os.symlink("../outside", "link")
    open("file", "w").close()
    os.chmod("file", 0o6777)
"""
    (scratch / "file").touch()
    (scratch / "file").chmod(0o6777)
    (scratch / "link").symlink_to("../outside")
    swapping = subprocess.Popen([sys.executable, "-c", swap], cwd=scratch)
    try:
        for _ in range(3_000):
            drop_set_uid(scratch)
    finally:
        swapping.kill()
        swapping.wait()
    assert stat.S_IMODE(outside.stat().st_mode) == 0o600


def test_nothing_is_too_deep_to_lose_its_bits(tmp_path: Path):
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    descriptor = os.open("tool", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.fchmod(descriptor, 0o6777)
    drop_set_uid(tmp_path)
    assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o777
    os.close(descriptor)
    os.close(here)


async def test_a_set_uid_program_in_the_folder_is_an_ordinary_one_in_the_run(workshop: Workshop):
    folder = workshop.write("it", "stat -c %a tool")
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool").chmod(0o6755)
    run = await workshop.skills.run("it", call(ExecutionMode.SANDBOXED))
    assert run.output.tail == "500"


async def test_links_and_folders_come_along_and_pipes_and_sockets_do_not(workshop: Workshop):
    folder = workshop.write("it", "cat sub/deeper/file link; ls -A; test ! -e outside")
    (folder / "sub/deeper").mkdir(parents=True)
    (folder / "sub/deeper/file").write_text("deep\n")
    (folder / "link").symlink_to("sub/deeper/file")
    (folder / "outside").symlink_to("/nowhere/at/all")
    os.mkfifo(folder / "pipe")
    run = await workshop.skills.run("it", call(ExecutionMode.SANDBOXED))
    assert run.ok
    assert run.output.tail.split() == ["deep", "deep", "link", "outside", "skill.yaml", "sub"]


async def test_a_skill_with_too_many_files_is_refused_with_a_reason(workshop: Workshop):
    folder = workshop.write("it", "true")
    for number in range(MAX_FILES):
        (folder / str(number)).touch()
    with pytest.raises(ConfigError, match=f"more than {MAX_FILES} files"):
        await workshop.skills.run("it", call(ExecutionMode.SANDBOXED))
    assert list((workshop.folder / "snapshots").iterdir()) == []


@BOTH
async def test_names_of_files_may_be_any_bytes(workshop: Workshop, mode: ExecutionMode):
    folder = workshop.write("it", "true")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9")).touch()
    assert (await workshop.skills.run("it", call(mode))).ok


async def test_what_cannot_be_copied_is_named_and_no_matter_in_the_standard_mode(workshop: Workshop):
    folder = workshop.write("it", "true")
    folder.joinpath(*["deep"] * (MAX_DEPTH + 1)).mkdir(parents=True)
    run = await workshop.skills.run("it", call())
    assert run.ok
    assert "sha256" not in run.params


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_that_may_not_be_read_is_named(workshop: Workshop):
    folder = workshop.write("it", "true")
    (folder / "secret").touch(0o000)
    with pytest.raises(ConfigError, match=r"cannot read 'secret' in .*: Permission denied"):
        await workshop.skills.run("it", call(ExecutionMode.SANDBOXED))
    assert (await workshop.skills.run("it", call())).ok


async def test_a_caller_that_is_cancelled_while_the_skill_is_copied_leaves_no_copy(workshop: Workshop):
    folder = workshop.write("it", "true")
    (folder / "large").write_bytes(bytes(20_000_000))
    task = asyncio.create_task(workshop.skills.run("it", call(ExecutionMode.SANDBOXED)))
    await eventually((workshop.folder / "snapshots").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((workshop.folder / "snapshots").iterdir()) == []


def test_the_digest_covers_names_contents_links_and_what_is_executable(tmp_path: Path):
    folder = tmp_path / "it"
    folder.mkdir()
    seen = {digest_of(folder)}
    changes: list[Callable[[], object]] = [
        lambda: (folder / "a").write_text("x"),
        lambda: (folder / "a").write_text("y"),
        lambda: (folder / "a").rename(folder / "b"),
        lambda: (folder / "b").chmod(0o755),
        lambda: (folder / "c").symlink_to("b"),
        lambda: ((folder / "c").unlink(), (folder / "c").symlink_to("d")),
    ]
    for number, change in enumerate(changes):
        change()
        seen.add(digest_of(folder))
        assert len(seen) == number + 2


@pytest.mark.skipif(not SUPERVISES, reason="only Linux has subreapers")
@pytest.mark.parametrize("how", ["standard", "bubblewrap", "limits"])
async def test_a_daemon_does_not_outlive_its_skill(workshop: Workshop, how: str):
    if how != "standard":
        await use(workshop, how)
    seconds = f"98765.{os.getpid()}"
    python = "python3" if how == "bubblewrap" else sys.executable
    script = f"{python} - <<'CODE'\n{DAEMON.format(seconds)}CODE\n"
    await workshop.run(script, ExecutionMode.STANDARD if how == "standard" else ExecutionMode.SANDBOXED)
    assert await eventually(lambda: not running_with(seconds))


async def test_a_standard_run_has_the_environment_it_is_handed(workshop: Workshop):
    run = await workshop.run("env")
    assert names(run.output.tail) == {"PATH", "HOME", "EDITOR", "TERM"}


@LEVELS
async def test_a_sandboxed_run_has_four_variables_and_not_even_those_of_the_shell(workshop: Workshop, level: str):
    await use(workshop, level)
    run = await workshop.run("env", ExecutionMode.SANDBOXED)
    # bash cannot be kept from that one.
    assert names(run.output.tail, shells=frozenset({"_"})) == {"PATH", "HOME", "LANG", "TERM"}
    assert "TERM=vt100" in run.output.tail
    assert f"HOME={workshop.folder}/scratch/it" in run.output.tail.splitlines()
    assert run.params["sandbox"] == level


@BOTH
async def test_a_command_may_still_name_its_folder(workshop: Workshop, mode: ExecutionMode):
    if mode is ExecutionMode.SANDBOXED:  # at the level "limits", it runs in its copy
        await use(workshop, "bubblewrap")
    run = await workshop.run('echo "$PWD"', mode)
    assert run.output.tail == str(workshop.folder / "skills" / "it")


@BOTH
async def test_the_permission_vault_brings_the_vaults_secrets_and_the_full_environment(
    workshop: Workshop, mode: ExecutionMode
):
    workshop.vault = {"API_KEY": "from-the-vault"}
    run = await workshop.run("env", mode, more="permissions: [vault]")
    assert names(run.output.tail) == {"PATH", "HOME", "EDITOR", "TERM", "API_KEY"}
    assert run.env_keys == ("API_KEY",)


@BOTH
async def test_without_that_permission_the_vault_is_not_even_opened(workshop: Workshop, mode: ExecutionMode):
    workshop.vault = {"API_KEY": "from-the-vault"}
    run = await workshop.run("env", mode)
    assert "API_KEY" not in run.output.tail
    assert run.env_keys == ()


@BOTH
async def test_a_skill_that_names_its_secrets_gets_no_others(workshop: Workshop, mode: ExecutionMode):
    workshop.vault = {"API_KEY": "from-the-vault", "OTHER": "not-for-it"}
    run = await workshop.run("env", mode, more="permissions: [vault]\nvault: [API_KEY]")
    assert "API_KEY=[secret]" in run.output.tail
    assert "OTHER" not in run.output.tail
    assert (run.env_keys, workshop.readers) == (("API_KEY",), ["skill:it"])


async def test_a_skill_with_an_empty_list_of_secrets_gets_none(workshop: Workshop):
    workshop.vault = {"API_KEY": "from-the-vault"}
    run = await workshop.run("env", more="permissions: [vault]\nvault: []")
    assert run.env_keys == ()


async def test_secrets_are_masked_in_what_is_kept(workshop: Workshop):
    workshop.vault = {"API_KEY": "from-the-vault"}
    script = f'echo "$API_KEY {SECRET}"; echo "$1"'
    run = await workshop.run(script, more="permissions: [vault]", args=["from-the-vault"])
    assert run.output.tail == "[secret] [secret]\n[secret]"
    kept = [path for path in workshop.folder.rglob("*") if path.is_file() and "skills" not in path.parts]
    assert not [path for path in kept if b"from-the-vault" in path.read_bytes()]


# --- what does not run


@BOTH
async def test_missing_dependencies_fail_the_run_before_anything_starts(workshop: Workshop, mode: ExecutionMode):
    run = await workshop.run("touch started", mode, more="dependencies: [cat, no-such-a, no-such-b]")
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error["code"] == "dependency-missing"
    assert mentions(run.error["message"], "no-such-a", "no-such-b")
    assert "cat" not in run.error["message"]
    assert not (workshop.folder / "skills/it/started").exists()
    assert await workshop.runs.get(run.id) == run


async def test_a_dependency_is_looked_for_on_the_path_of_the_skill(workshop: Workshop, tmp_path: Path):
    tool = tmp_path / "bin" / "own-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    workshop.environment["PATH"] = f"{tool.parent}:{workshop.environment['PATH']}"
    more = "dependencies: [own-tool]"
    assert (await workshop.run("own-tool", more=more)).ok
    if (await workshop.skills.sandbox_state()).level is Level.BUBBLEWRAP:  # the sandbox has the system's programs alone
        error = (await workshop.run("own-tool", ExecutionMode.SANDBOXED, more=more)).error or {}
        assert (error["code"], mentions(error["message"], "own-tool")) == ("dependency-missing", True)


async def test_a_broken_skill_is_refused_with_file_line_and_reason(workshop: Workshop):
    file = workshop.put("bad/skill.yaml", "name: bad\ndescription: d\ncomand: c\n")
    with pytest.raises(InvalidSkillError, match=rf"{file}:3:1: unknown key 'comand' \(did you mean 'command'\?\)"):
        await workshop.skills.run("bad", call())
    assert (await workshop.runs.search()).items == ()


async def test_instructions_for_the_assistant_are_not_run(workshop: Workshop):
    workshop.put("notes/SKILL.md", "---\nname: notes\ndescription: d\n---\n")
    with pytest.raises(UnknownSkillError, match="assistant"):
        await workshop.skills.run("notes", call())


# --- limits


async def test_a_skill_may_be_given_less_time_than_its_own(workshop: Workshop):
    run = await workshop.run("sleep 60", timeout_s=0.2)
    assert (run.status, "0.2 s" in run.reason) == (RunStatus.TIMED_OUT, True)


@pytest.mark.parametrize("timeout_s", [0, -1, 301])
async def test_more_than_five_minutes_are_refused(workshop: Workshop, timeout_s: float):
    workshop.write("it", "true")
    with pytest.raises(ConfigError, match="at most 300 s"):
        await workshop.skills.run("it", call(timeout_s=timeout_s))


@BOTH
async def test_a_skill_that_ignores_being_asked_to_end_is_killed_with_all_it_started(
    workshop: Workshop, mode: ExecutionMode
):
    for timeout_s in LIMITS_S:
        run = await workshop.run("trap '' TERM; sleep 60 & echo up; wait; sleep 60", mode, timeout_s=timeout_s)
        if run.output.tail:
            break
    assert run.status is RunStatus.TIMED_OUT
    assert run.output.tail == "up"


@BOTH
async def test_a_cancelled_skill_can_put_things_away(workshop: Workshop, mode: ExecutionMode):
    script = "trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.01; done 2>/dev/null"
    workshop.write("it", script)
    lines: list[str] = []
    running = await workshop.skills.start("it", call(mode), watch=lambda line: lines.append(line.text))
    await pid_line(lines)
    await workshop.runs.cancel(running.run.id, grace_s=30)
    run = await running.wait()
    assert (run.status, run.output.tail) == (RunStatus.CANCELLED, "up\ntidy")


async def test_output_without_end_is_thrown_away(workshop: Workshop):
    for timeout_s in LIMITS_S:
        run = await workshop.run("yes", timeout_s=timeout_s)
        if run.output.truncated:
            break
    assert (run.status, run.output.truncated) == (RunStatus.TIMED_OUT, True)


@needs_bubblewrap
async def test_a_fork_bomb_is_ended_in_the_sandbox(workshop: Workshop):
    workshop.limits = ResourceLimits(processes=24)
    # It stops growing at 64 processes, in case that nothing else stops it.
    seconds = f"271.{os.getpid()}"  # nobody else's
    bomb = f"for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5 6 7 8; do setsid sleep {seconds} & done; done; wait"
    run = await workshop.run(bomb, ExecutionMode.SANDBOXED, timeout_s=PATIENCE_S)
    assert run.status in {RunStatus.FAILED, RunStatus.TIMED_OUT}  # where the kernel counts them, it cannot fork
    assert "processes" in (run.reason or "") or "fork" in run.output.tail

    def all_gone() -> bool:
        return not [path for path in Path("/proc").glob("[0-9]*/cmdline") if seconds.encode() in content(path)]

    await eventually(all_gone)  # the kernel ends them in its own time


@needs_bubblewrap
async def test_memory_beyond_the_limit_ends_a_sandboxed_skill(workshop: Workshop):
    workshop.limits = ResourceLimits(memory_bytes=50_000_000)
    run = await workshop.run(
        "head -c 200000000 /dev/zero | tail -n 1 | sleep 60",
        ExecutionMode.SANDBOXED,
        timeout_s=PATIENCE_S,
    )
    assert (run.status, "47 MiB" in run.reason) == (RunStatus.FAILED, True)


@needs_bubblewrap
async def test_a_sandboxed_skill_reaches_nothing_of_the_data_directory_but_its_folder(workshop: Workshop):
    (workshop.folder / ".env").write_text(f"TOKEN={SECRET}")
    workshop.write("other", "true")
    run = await workshop.run(
        "ls -A ../..; cat ../../.env ../other/skill.yaml; echo pwned >> skill.yaml", ExecutionMode.SANDBOXED
    )
    assert run.status is RunStatus.FAILED
    assert run.output.tail.splitlines()[:2] == ["scratch", "skills"]
    assert "TOKEN" not in run.output.tail
    assert "\npwned\n" not in (workshop.folder / "skills/it/skill.yaml").read_text()


@needs_bubblewrap
async def test_instructions_beside_a_manifest_cannot_be_changed_by_a_run(workshop: Workshop):
    workshop.put("it/SKILL.md", "---\nname: it\ndescription: d\n---\n")
    run = await workshop.run("rm SKILL.md; echo pwned > SKILL.md", ExecutionMode.SANDBOXED)
    assert not run.ok
    assert "pwned" not in (workshop.folder / "skills/it/SKILL.md").read_text()


async def test_cancelling_the_caller_ends_the_skill(workshop: Workshop):
    workshop.write("it", "echo $$ > leader; sleep 60")
    task = asyncio.create_task(workshop.skills.run("it", call()))
    pid = await pid_in(workshop.folder / "skills/it/leader")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(pid)
    assert [entry.detail for entry in workshop.audit()] == ["it interrupted"]


# --- what is told of a run


async def test_a_part_of_another_run_has_no_entry_of_its_own(workshop: Workshop):
    workshop.write("it", "true")
    assert (await workshop.skills.run("it", replace(call(), audited=False))).ok
    assert workshop.audit() == []


@pytest.mark.parametrize(
    ("command", "more", "status"),
    [("true", "", "succeeded"), ("exit 3", "", "failed"), ("true", "dependencies: [no-such]", "failed")],
)
async def test_each_run_writes_one_audit_entry(workshop: Workshop, command: str, more: str, status: str):
    run = await workshop.run(command, ExecutionMode.SANDBOXED, more=more, args=["private"])
    (entry,) = workshop.audit()
    assert (entry.action, entry.source, entry.detail) == ("skill.run", "cli", f"it {status}")
    facts = dict(entry.metadata)
    assert (facts["run"], facts["skill"], facts["mode"], facts["actor"]) == (run.id, "it", "sandboxed", "tester")
    assert facts["ok"] is run.ok
    assert "private" not in json.dumps(facts)


async def test_a_run_is_recorded_with_its_mode_level_trigger_and_actor(workshop: Workshop):
    run = await workshop.run("true", ExecutionMode.SANDBOXED, args=["web"])
    assert run.params == {
        "mode": "sandboxed",
        "args": ["web"],
        "sha256": digest_of(workshop.folder / "skills/it"),
        "sandbox": str((await workshop.skills.sandbox_state()).level),
    }
    assert (run.kind, run.subject_name, run.trigger, run.actor) == ("skill", "it", RunTrigger.MANUAL, "tester")


async def test_lines_are_seen_while_it_runs(workshop: Workshop):
    workshop.write("it", "echo out; echo err >&2")
    lines: list[tuple[str, str]] = []
    await workshop.skills.run("it", call(), watch=lambda line: lines.append((line.stream, line.text)))
    assert sorted(lines) == [("stderr", "err"), ("stdout", "out")]


async def test_the_record_of_a_skill_has_its_dependencies_and_its_last_run(workshop: Workshop):
    run = await workshop.run("true", more="dependencies: [cat, no-such]\npermissions: [network]")
    record = to_json(await record_of(workshop.skills, workshop.skills.get("it")))
    assert record == json.loads(json.dumps(record))
    assert [(d["name"], d["found"]) for d in record["dependencies"]] == [("cat", True), ("no-such", False)]
    assert (record["kind"], record["runnable"], record["permissions"]) == ("runnable", True, ["network"])
    assert record["last_run"]["id"] == run.id
    assert record["runs_30d"] == 1


async def test_the_record_of_a_broken_skill_has_its_mistakes(workshop: Workshop):
    workshop.put("bad/skill.yaml", "name: bad\ndescription: d\n")
    record = to_json(await record_of(workshop.skills, workshop.skills.get("bad")))
    assert (record["valid"], record["runnable"], record["last_run"]) == (False, False, None)
    file = str(workshop.folder / "skills/bad/skill.yaml")
    missing = {"file": file, "line": 1, "column": 1, "key": "command", "detail": "key 'command' is missing"}
    assert record["errors"] == [missing]


async def test_all_skills_are_listed_by_name(workshop: Workshop):
    for name in ("zebra", "ant"):
        workshop.write(name, "true")
    assert [skill.name for skill in workshop.skills.list()] == ["ant", "zebra"]


async def test_the_level_of_the_sandbox_is_told(workshop: Workshop):
    workshop.sandbox = Sandbox(bwrap="")
    assert (await workshop.skills.sandbox_state()).level is Level.LIMITS


def content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def pid_line(lines: list[str]) -> None:
    await eventually(lambda: lines)
