"""Assistant skills in a data directory: listed, asked about, and run."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions
from tests.features.assistant_skills.broken_front_matter import file_of

from tocsin.assembly.runs import open_run_control
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.records.as_json import to_json
from tocsin.features.ability_records import AssistantRequest
from tocsin.features.assistant_skills.feature import FEATURE
from tocsin.features.assistant_skills.model import UnknownAssistantError
from tocsin.features.skills.feature import FEATURE as RUNNABLE
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import NotRetriedError, StartRequest
from tocsin.runs.model import RunStatus, RunTrigger
from tocsin.testing.features import FeatureBench, open_feature

AWS = "AK" + "IAQ7XJ3LPWZ5NMBV2R"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[FeatureBench]:
    async with open_feature(FEATURE, tmp_path / "data") as bench:
        yield bench


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "a.py").write_text(f"KEY = '{AWS}'\n")
    return folder


def put(bench: FeatureBench, name: str, text: str) -> Path:
    path = bench.app.settings.data_dir / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(text)
    return path


def asked(folder: Path, *files: str) -> AssistantRequest:
    return AssistantRequest(source="cli", cause=RunTrigger.MANUAL, folder=folder, files=files)


def test_a_folder_of_the_same_name_takes_the_place_of_a_shipped_skill(bench: FeatureBench):
    put(bench, "code-reviewer", file_of().replace("name: reviewer", "name: code-reviewer"))
    found = {skill.name: skill for skill in bench.service.list()}
    assert len(found) == 8
    assert not found["code-reviewer"].built_in
    assert found["code-reviewer"].body == "# How"


def test_a_file_of_the_public_convention_loads_and_may_only_read(bench: FeatureBench):
    put(bench, "pdf", "---\nname: pdf\ndescription: Reads PDF files.\nversion: 1\n---\nDo it.\n")
    skill = bench.service.get("pdf")
    assert (skill.errors, skill.definition.tools) == ((), ("Read", "Grep", "Glob"))
    assert [hint.line for hint in skill.definition.hints] == [3, 4, 2]


async def test_a_broken_skill_is_listed_with_its_line_told_by_doctor_and_answers_why(bench: FeatureBench):
    file = put(bench, "reviewer", file_of().replace("priority: high", "priority: urgent"))
    (record,) = [to_json(record) for record in await bench.service.records() if record.name == "reviewer"]
    assert (record["valid"], record["runnable"], [error["line"] for error in record["errors"]]) == (False, False, [8])
    assert f"{file}:8:11" in next(found.detail for found in await bench.findings() if found.state == "error")
    checks = bench.service.why("reviewer", "a.py")
    assert [check.ok for check in checks] == [False, None, None, None]
    assert f"{file}:8:11" in checks[0].reason


@pytest.mark.parametrize(
    ("changes", "path", "answers"),
    [
        ({}, "src/a.py", [True, True, True, True]),
        ({"enabled: true": "enabled: false"}, "src/a.py", [True, False, True, True]),
        ({}, "src/a.md", [True, True, False, True]),
        ({}, "src/test_a.py", [True, True, True, False]),
        ({"enabled: true": "enabled: false"}, "test_a.md", [True, False, False, False]),
    ],
)
def test_the_four_questions_are_answered_each_for_itself(
    bench: FeatureBench, changes: dict[str, str], path: str, answers: list[bool]
):
    text = file_of()
    for old, new in changes.items():
        text = text.replace(old, new)
    put(bench, "reviewer", text)
    assert [check.ok for check in bench.service.why("reviewer", path)] == answers
    assert ("reviewer" in [skill.name for skill in bench.service.which(path)]) == all(answers)


async def test_a_run_finds_is_recorded_and_leaves_one_audit_entry_without_paths(bench: FeatureBench, folder: Path):
    ended = await bench.service.runner().run("secret-scanner", asked(folder, "a.py"))
    assert ended.run.status is RunStatus.SUCCEEDED
    assert [(each.path, each.line, each.severity) for each in ended.findings] == [("a.py", 1, "critical")]
    (entry,) = bench.audit()
    assert (entry.action, entry.metadata["findings"], entry.metadata["run"]) == ("skill.assist", 1, ended.run.id)
    assert "a.py" not in json.dumps(entry.metadata)
    kept = await bench.service.results.get(ended.run.id[:13])
    assert (kept.run_id, kept.skill, kept.folder) == (ended.run.id, "secret-scanner", str(folder))
    assert AWS not in await bench.app.runs().text(ended.run.id, 10_000)


async def test_a_folder_is_looked_at_without_what_git_ignores(bench: FeatureBench, folder: Path):
    (folder / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    for name in ("build/b.py", "x.log", "keep.log", "a.py~", "sub/c.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"KEY = '{AWS}'\n")
    (folder / "link.py").symlink_to("/etc/passwd")
    ended = await bench.service.runner().run("secret-scanner", asked(folder))
    assert [each.path for each in ended.findings] == ["a.py", "keep.log", "sub/c.py"]


async def test_the_files_of_a_run_are_in_one_folder(bench: FeatureBench, folder: Path, tmp_path: Path):
    (tmp_path / "elsewhere").write_text("x")
    with pytest.raises(ConfigError, match="below"):
        await bench.service.runner().run("secret-scanner", asked(folder, "a.py", "../elsewhere"))
    with pytest.raises(ConfigError, match="file"):
        await bench.service.runner().run("secret-scanner", asked(folder, "none.py"))
    (folder / "link.py").symlink_to(tmp_path / "elsewhere")
    ended = await bench.service.runner().run("secret-scanner", asked(folder, "link.py"))
    assert "link.py" in await bench.app.runs().text(ended.run.id, 1000)


async def test_a_commit_message_is_proposed_for_what_is_staged_and_for_a_poor_commit(bench: FeatureBench, folder: Path):
    git = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "add", "a.py"], check=True)
    ended = await bench.service.runner().run("git-commit-helper", asked(folder))
    assert [each.suggestion for each in ended.findings] == ["Add a.py"]
    subprocess.run([*git, "commit", "-q", "-m", "wip"], check=True)
    ended = await bench.service.runner().run("git-commit-helper", asked(folder))
    assert [each.suggestion for each in ended.findings] == ["Add a.py"]
    subprocess.run([*git, "commit", "-q", "--amend", "-m", "Keep the key of the billing service"], check=True)
    assert (await bench.service.runner().run("git-commit-helper", asked(folder))).findings == ()


@pytest.mark.parametrize("name", ["nope", "../x", "secret-scaner"])
async def test_a_skill_that_is_not_there_is_told_with_those_that_are(bench: FeatureBench, folder: Path, name: str):
    with pytest.raises(UnknownAssistantError) as told:
        await bench.service.runner().run(name, asked(folder))
    assert "secret-scanner" in told.value.hint


async def test_a_skill_that_is_switched_off_is_not_run(bench: FeatureBench, folder: Path):
    text = file_of().replace("name: reviewer", "name: secret-scanner").replace("enabled: true", "enabled: false")
    put(bench, "secret-scanner", text)
    with pytest.raises(TocsinError, match="is disabled"):
        await bench.service.runner().run("secret-scanner", asked(folder))


async def test_chats_run_assistant_skills_in_the_watched_folder_alone(tmp_path: Path, folder: Path):
    (tmp_path / "elsewhere").write_text("x")
    env = {"SKILLS_WATCH": str(folder)}
    async with open_feature(FEATURE, tmp_path / "data", env, others=[RUNNABLE]) as bench:
        abilities = bench.features.abilities
        assert "secret-scanner" in {skill.name for skill in await abilities.skills.list()}
        asked = {"source": "bot", "cause": RunTrigger.BOT, "actor": "chat:7", "input": "look for secrets"}
        run = await abilities.skills.run("secret-scanner", **asked)
        assert (run.status, "a.py:1: critical" in await bench.app.runs().text(run.id, 1000)) == ("succeeded", True)
        assert [(entry.source, entry.metadata["actor"]) for entry in bench.audit()] == [("bot", "chat:7")]
        for path in ("../elsewhere", str(tmp_path / "elsewhere"), "/etc/passwd"):
            with pytest.raises(TocsinError):
                await abilities.skills.run("secret-scanner", args=(path,), **asked)


async def test_a_run_is_retried_on_the_files_it_was_about(tmp_path: Path, folder: Path):
    (folder / "b.py").write_text(f"KEY = '{AWS}'\n")
    async with open_feature(FEATURE, tmp_path / "data", others=[RUNNABLE]) as bench:
        first = (await bench.service.runner().run("secret-scanner", asked(folder, "b.py"))).run
        control = open_run_control(bench.app)
        again = await (await control.retry(first.id, Caller("dashboard", {"actor": "anna"}))).task
        assert (again.retry_of, again.attempt, again.trigger, again.actor) == (first.id, 2, "retry", "anna")
        assert again.params == first.params
        assert await bench.app.runs().text(again.id, 1000) == await bench.app.runs().text(first.id, 1000)
        rmtree(folder)
        with pytest.raises(NotRetriedError, match="folder"):
            await control.retry(again.id, Caller("dashboard"))


async def test_a_run_whose_files_are_not_kept_is_not_retried(tmp_path: Path, folder: Path):
    async with open_feature(FEATURE, tmp_path / "data", others=[RUNNABLE]) as bench:
        request = replace(asked(folder), input="x" * 30_000)
        run = (await bench.service.runner().run("secret-scanner", request)).run
        with pytest.raises(NotRetriedError, match="not stored"):
            await open_run_control(bench.app).retry(run.id, Caller("dashboard"))


async def test_whatever_starts_skills_starts_those_for_the_assistant_too(tmp_path: Path, folder: Path):
    env = {"SKILLS_WATCH": str(folder)}
    async with open_feature(FEATURE, tmp_path / "data", env, others=[RUNNABLE]) as bench:
        request = StartRequest(source="scheduler", cause=RunTrigger.SCHEDULE, params={"args": ["a.py"]})
        running = await bench.features.abilities.run_starter.start("skill", "secret-scanner", request)
        run = await running.task
        assert (run.status, run.params["files"]) == ("succeeded", ["a.py"])


async def test_without_a_watched_folder_chats_list_assistant_skills_and_cannot_run_them(tmp_path: Path):
    async with open_feature(FEATURE, tmp_path / "data", others=[RUNNABLE]) as bench:
        put(bench, "broken", file_of().replace("priority: high", "priority: urgent"))
        assert await bench.features.abilities.skills.list() == []
        every = {skill.name: skill.reason for skill in await bench.features.abilities.skills.list(every=True)}
        assert len(every) == 9
        assert "SKILLS_WATCH" in every["secret-scanner"]
        assert "model" in every["code-reviewer"]
        assert "error" in every["broken"]


@pytest.mark.parametrize(
    ("typed", "files", "asked_for"),
    [
        ("", [""], ""),
        ("a.py", ["a.py"], ""),
        ("a.py sub look for  tokens", ["a.py", "sub"], "look for tokens"),
        ("look at a.py", [""], "look at a.py"),
    ],
)
async def test_what_a_person_types_are_files_and_then_what_to_do(
    tmp_path: Path, folder: Path, typed: str, files: list[str], asked_for: str
):
    (folder / "sub").mkdir()
    env = {"SKILLS_WATCH": str(folder)}
    async with open_feature(FEATURE, tmp_path / "data", env, others=[RUNNABLE]) as bench:
        run = await bench.features.abilities.skills.run(
            "secret-scanner", source="bot", cause=RunTrigger.BOT, args=typed.split(), input=typed
        )
        assert run.snapshot == {"folder": str(folder), "files": files, "input": asked_for}


async def test_a_person_in_a_chat_cannot_name_files_outside_the_watched_folder(tmp_path: Path, folder: Path):
    env = {"SKILLS_WATCH": str(folder)}
    (tmp_path / "data").mkdir(mode=0o700)
    async with open_feature(FEATURE, tmp_path / "data", env, others=[RUNNABLE]) as bench:
        with pytest.raises(ConfigError, match="below"):
            await bench.features.abilities.skills.run(
                "secret-scanner", source="bot", cause=RunTrigger.BOT, args=["../data"]
            )


@pytest.fixture
def command(tmp_path: Path):
    def call(*words: str, watch: Path | None = None) -> tuple[int, str]:
        cli = Cli(tmp_path, {"REDIS_URL": "off", **({"SKILLS_WATCH": str(watch)} if watch else {})})
        done = cli(*words)
        return done.code, done.out

    return call


def test_the_command_lists_both_kinds_of_skills_together(command, tmp_path: Path):
    backup = tmp_path / "data" / "skills" / "backup"
    backup.mkdir(parents=True, mode=0o700)
    (backup / "skill.yaml").write_text("name: backup\ndescription: Makes one.\ncommand: echo done\n")
    code, out = command("--json", "skills", "list")
    kinds = {record["name"]: record["kind"] for record in json.loads(out)}
    assert (code, len(kinds), kinds["backup"], kinds["secret-scanner"]) == (0, 9, "runnable", "assistant")
    assert command("skills", "run", "backup")[1] == "done\n"


def test_the_command_runs_an_assistant_skill_on_files_and_prints_its_findings(command, folder: Path):
    code, out = command("--json", "skills", "run", "secret-scanner", str(folder / "a.py"))
    document = json.loads(out)
    assert (code, document["status"], [each["line"] for each in document["findings"]]) == (0, "succeeded", [1])
    code, out = command("skills", "run", "secret-scanner", str(folder))
    assert (code, out.splitlines()[0][:18]) == (0, "a.py:1: critical: ")


def test_findings_of_warnings_and_above_end_the_command_with_1_on_request(command, folder: Path):
    finding = ("skills", "run", "secret-scanner", "--exit-code", str(folder / "a.py"))
    assert command(*finding)[0] == 1
    code, out = command("--json", *finding)
    assert (code, json.loads(out)["status"]) == (1, "succeeded")
    (folder / "a.py").write_text("KEY = None\n")
    assert command(*finding)[0] == 0
    assert command("skills", "run", "--exit-code", "git-commit-helper", str(folder))[0] == 0  # it only suggests


def test_the_four_questions_decide_and_a_file_that_services_skip_is_told_beside_them(command, folder: Path):
    file = str(folder / "go.mod")
    code, out = command("--json", "skills", "why", "dependency-auditor", file)
    document = json.loads(out)
    assert (code, document["acts"], document["watched"]) == (0, True, False)
    assert [check["ok"] for check in document["checks"]] == [True, True, True, True]
    assert "SKILLS_WATCH is empty" in document["reason"]
    assert "SKILLS_WATCH is empty" in command("skills", "why", "dependency-auditor", file)[1].splitlines()[0]
    document = json.loads(command("--json", "skills", "which", file)[1])
    assert (document["watched"], len(document["skills"])) == (False, 3)
    assert "SKILLS_WATCH is empty" in document["reason"]
    assert "SKILLS_WATCH is empty" in command("skills", "which", file)[1].splitlines()[0]


def test_a_file_outside_the_watched_folders_is_told_as_unwatched(command, folder: Path, tmp_path: Path):
    document = json.loads(command("--json", "skills", "why", "dependency-auditor", "go.mod", watch=folder)[1])
    assert mentions(document["reason"], "SKILLS_WATCH", folder)


@pytest.mark.parametrize("is_repository", [True, False])
async def test_patterns_start_where_runs_look(bench: FeatureBench, tmp_path: Path, is_repository: bool):
    base = tmp_path / "base"
    (base / "src").mkdir(parents=True)
    (base / "src" / "a.py").touch()
    if is_repository:
        subprocess.run(["git", "init", "-q", base / "src"], check=True)
    runner = bench.service.runner()
    for file in ("src/a.py", "src"):
        place = await runner.locate(base, [file])
        assert await runner.top_of(base, base / file) == place.root == (base / "src" if is_repository else base)
    assert await runner.top_of(base, base / "src" / "new" / "b.py") == (base / "src" if is_repository else base)


def test_the_command_says_why_and_which(command, folder: Path):
    code, out = command("skills", "why", "dependency-auditor", str(folder / "new" / "go.mod"), watch=folder)
    assert (code, out.splitlines()[-1]) == (0, "dependency-auditor is active for new/go.mod")
    assert command("skills", "why", "dependency-auditor", str(folder / "a.py"), watch=folder)[0] == 1
    code, out = command("--json", "skills", "which", str(folder / "go.mod"), "--folder", str(folder))
    assert [each["name"] for each in json.loads(out)["skills"]] == [
        "dependency-auditor",
        "secret-scanner",
        "readme-updater",
    ]


def test_the_documented_example_of_intake_needs_no_model(command):
    page = (Path(__file__).parents[3] / "docs" / "assistant_skills.md").read_text()
    (text,) = re.findall(r'^tocsin intake "(.+)"$', page, re.MULTILINE)
    code, out = command("--json", "intake", "--yes", text)
    assert [(step["skill"], step["ok"]) for step in json.loads(out)["steps"]] == [
        ("secret-scanner", True),
        ("dependency-auditor", True),
    ]
    assert code == 0


def test_the_command_lints_a_skill_by_name_folder_and_file(command, tmp_path: Path):
    broken = tmp_path / "team" / "reviewer" / "SKILL.md"
    broken.parent.mkdir(parents=True)
    broken.write_text(file_of().replace("priority: high", "priority: hihg"))
    for path in (broken, broken.parent, broken.parent.parent):
        code, out = command("--json", "skills", "lint", str(path))
        assert (code, [(error["line"], error["column"]) for error in json.loads(out)[0]["errors"]]) == (1, [(8, 11)])
    assert command("skills", "lint", "code-reviewer") == (0, "1 skill: 0 errors, 0 warnings, 0 hints\n")
    assert command("skills", "lint", str(tmp_path))[0] == 1


def test_intake_maps_a_text_to_skills_runs_them_and_is_audited(
    command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    (folder / "requirements.txt").write_text("requests\n")
    code, out = command(
        "--json", "intake", "--yes", "Find leaked credentials and tokens; audit the manifest entries; sing"
    )
    steps = json.loads(out)["steps"]
    assert [(step["skill"], step["ok"]) for step in steps] == [
        ("secret-scanner", True), ("dependency-auditor", True), ("", None)
    ]  # fmt: skip
    assert (code, "a.py:1: critical" in steps[0]["result"]) == (1, True), "nothing sings"
    entries = [json.loads(line) for line in (tmp_path / "data" / "audit.log").read_text().splitlines()]
    assert [entry["action"] for entry in entries] == ["intake.confirmed", *["intake.task_completed"] * 2]
    assert {entry["source"] for entry in entries} == {"cli"}
    assert command("intake", "sing")[0] == 1
    assert command("intake", " ")[0] == 2
