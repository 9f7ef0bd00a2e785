"""A scripted chat model works with the tools of a skill in a real folder."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.facts import mentions
from tests.features.assistant_skills.broken_front_matter import PURPOSE
from tests.features.assistant_skills.escapes import SECRET, Escape, escapes

from tocsin.core.records.as_json import to_json
from tocsin.core.watching.ignored_files import IgnoreRules
from tocsin.features.ability_records import AssistantRequest, AssistantRun
from tocsin.features.assistant_skills.feature import FEATURE
from tocsin.features.assistant_skills.folder.confined import ConfinedFolder
from tocsin.features.assistant_skills.folder.overlay import FolderOverlay, PatchError
from tocsin.features.assistant_skills.folder.tools import FolderTools
from tocsin.features.assistant_skills.model import AssistantUnusableError
from tocsin.features.skill_records import SkillFinding
from tocsin.runs.model import RunStatus, RunTrigger
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import FeatureBench, open_feature
from tocsin_standins.chatmodel.server import CAPABLE, FAST, MODEL, ChatModel
from tocsin_standins.chatmodel.wire import ToolCall

FINDING = {"path": "a.py", "line": 2, "severity": "error", "message": "It is wrong.", "suggestion": "x = 2"}
NOTHING: dict[str, Any] = {"findings": []}
Open = Callable[..., AbstractAsyncContextManager[FeatureBench]]


@pytest.fixture
async def model() -> AsyncIterator[ChatModel]:
    async with ChatModel() as model:
        yield model


@pytest.fixture
def opened(model: ChatModel, tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(**more: str) -> AsyncIterator[FeatureBench]:
        env = {
            "CHAT_PROVIDER": "openai",
            "CHAT_MODEL": MODEL,
            "CHAT_MODEL_FAST": FAST,
            "CHAT_MODEL_CAPABLE": CAPABLE,
            "OPENAI_API_KEY": model.key,
            "OPENAI_BASE_URL": model.openai_url,
        }
        async with open_feature(FEATURE, tmp_path / "data", env | more, clock=FakeClock()) as bench:
            yield bench

    return opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("y = 0\nx = 1\n")
    return folder


def put(bench: FeatureBench, name: str, tools: str, *coordination: tuple[str, str]) -> None:
    path = bench.app.settings.data_dir / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, mode=0o700)
    lines = [f"name: {name}", f"description: {PURPOSE}", f"tools: [{tools}]"]
    lines += ["coordination:", "  invoke_agents:"] if coordination else []
    for agent, priority in coordination:
        lines.append(f"    - {{agent: {agent}, when: it is called for, priority: {priority}}}")
    path.write_text("\n".join(("---", *lines, "---", "Look at it.", "")))


async def ran(bench: FeatureBench, name: str, folder: Path, cause: str = RunTrigger.MANUAL) -> AssistantRun:
    request = AssistantRequest(source="cli", cause=cause, folder=folder, files=["a.py"])
    ended: AssistantRun = await bench.service.runner().run(name, request)
    return ended


def questions(model: ChatModel) -> list[Any]:
    return list(model.recorder.of(kind="question"))


async def test_a_model_reads_the_file_and_reports(opened: Open, model: ChatModel, folder: Path):
    model.will_answer(ToolCall("Read", {"path": "a.py"}), {"findings": [FINDING]})
    async with opened() as bench:
        ended = await ran(bench, "code-reviewer", folder)
    assert (ended.run.status, to_json(ended.findings, list[SkillFinding]), ended.patch) == (
        RunStatus.SUCCEEDED,
        [FINDING],
        "",
    )
    first, second = questions(model)
    assert "Review one changed file" in first.body["system"]
    assert "- a.py" in str(first.body["turns"])
    assert "2: x = 1" in str(second.body["turns"])


@pytest.mark.parametrize(("name", "used"), [("code-reviewer", FAST), ("security-auditor", CAPABLE)])
async def test_the_model_of_a_skill_is_the_one_of_the_settings(
    opened: Open, model: ChatModel, folder: Path, name: str, used: str
):
    model.will_answer(NOTHING)
    async with opened() as bench:
        await ran(bench, name, folder)
    assert [question.target for question in questions(model)] == [used]


async def test_a_tool_that_the_skill_does_not_list_is_not_there(opened: Open, model: ChatModel, folder: Path):
    model.will_answer(ToolCall("Write", {"path": "a.py", "text": "gone"}), NOTHING)
    async with opened() as bench:
        ended = await ran(bench, "code-reviewer", folder)
    assert (ended.run.status, ended.patch, (folder / "a.py").read_text()) == (RunStatus.SUCCEEDED, "", "y = 0\nx = 1\n")


async def test_changes_are_kept_as_a_patch_and_written_when_somebody_says_so(
    opened: Open, model: ChatModel, folder: Path
):
    model.will_answer(
        ToolCall("Edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}),
        ToolCall("Write", {"path": "tests/test_a.py", "text": "assert True\n"}),
        NOTHING,
    )
    async with opened() as bench:
        put(bench, "fixer", "Read, Write, Edit")
        ended = await ran(bench, "fixer", folder)
        assert "-x = 1\n+x = 2\n" in ended.patch
        assert ((folder / "a.py").read_text(), (folder / "tests").exists()) == ("y = 0\nx = 1\n", False)
        await bench.service.runner().apply(ended.run.id, source="cli")
        assert (folder / "a.py").read_text() == "y = 0\nx = 2\n"
        assert (folder / "tests" / "test_a.py").read_text() == "assert True\n"
        with pytest.raises(PatchError, match="already been written"):
            await bench.service.runner().apply(ended.run.id, source="cli")
        assert [entry.action for entry in bench.audit()] == ["skill.assist", "skill.apply"]


@pytest.mark.parametrize("what", ["changed", "deleted", "a link", "a new file in the way"])
async def test_a_patch_that_does_not_fit_any_more_writes_nothing(
    opened: Open, model: ChatModel, folder: Path, tmp_path: Path, what: str
):
    model.will_answer(
        ToolCall("Write", {"path": "new.py", "text": "1\n"}),
        ToolCall("Edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}),
        NOTHING,
    )
    async with opened() as bench:
        put(bench, "fixer", "Read, Write, Edit")
        ended = await ran(bench, "fixer", folder)
        if what == "changed":
            (folder / "a.py").write_text("x = 1\n")
        elif what == "a new file in the way":
            (folder / "new.py").write_text("mine\n")
        else:
            (folder / "a.py").unlink()
        if what == "a link":
            (tmp_path / "target").write_text("y = 0\nx = 1\n")
            (folder / "a.py").symlink_to(tmp_path / "target")
        before = {path.name: path.is_symlink() or path.read_text() for path in folder.iterdir()}
        with pytest.raises(PatchError, match="not"):
            await bench.service.runner().apply(ended.run.id, source="cli")
        assert {path.name: path.is_symlink() or path.read_text() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("places", "line"), [("", "x = 1"), ("{}/other", "x = 1"), ("{}/other,{}", "x = 2")])
async def test_changes_are_written_at_once_where_the_setting_says_so_not_where_the_folder_does(
    opened: Open, model: ChatModel, folder: Path, tmp_path: Path, places: str, line: str
):
    (folder / ".tocsin.yaml").write_text("skills:\n  auto_apply: true\n")
    async with opened(SKILLS_AUTO_APPLY=places.format(tmp_path, tmp_path)) as bench:
        put(bench, "fixer", "Edit")
        model.will_answer(ToolCall("Edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}), NOTHING)
        ended = await ran(bench, "fixer", folder)
        applied_at = (await bench.service.results.get(ended.run.id)).applied_at
        assert ((folder / "a.py").read_text(), applied_at is not None) == (f"y = 0\n{line}\n", line == "x = 2")


async def test_a_model_without_end_and_one_that_answers_nonsense_end_as_failed_runs(
    opened: Open, model: ChatModel, folder: Path
):
    async with opened() as bench:
        model.will_answer(*[ToolCall("Read", {"path": "a.py"})] * 30)
        ended = await ran(bench, "code-reviewer", folder)
        assert ended.run.status is RunStatus.FAILED
        assert "20 questions" in (ended.run.reason or "")
        assert len(questions(model)) == 20
        model.forget()
        model.will_answer(*[{"findings": "none"}] * 9)
        ended = await ran(bench, "code-reviewer", folder)
        assert (ended.run.status, len(questions(model))) == (RunStatus.FAILED, 23)
        assert [entry.metadata["ok"] for entry in bench.audit("skill.assist")] == [False, False]


async def test_changes_of_files_ask_the_model_so_often_an_hour_and_people_always(
    opened: Open, model: ChatModel, folder: Path
):
    async with opened(SKILLS_CALLS_PER_HOUR="2") as bench:
        model.will_answer(ToolCall("Read", {"path": "a.py"}), NOTHING)
        assert (await ran(bench, "code-reviewer", folder, "watcher")).run.ok
        refused = await ran(bench, "code-reviewer", folder, "watcher")
        assert mentions(refused.run.reason or "", "2 questions", "SKILLS_CALLS_PER_HOUR")
        model.will_answer(NOTHING, NOTHING)
        assert (await ran(bench, "code-reviewer", folder)).run.ok
        bench.app.clock.advance(3601)  # type: ignore[attr-defined]
        assert (await ran(bench, "code-reviewer", folder, "watcher")).run.ok


async def test_without_a_model_it_is_told_what_to_set(opened: Open, folder: Path):
    async with opened(CHAT_PROVIDER="") as bench:
        with pytest.raises(AssistantUnusableError) as told:
            await ran(bench, "code-reviewer", folder)
    assert "CHAT_PROVIDER" in told.value.hint


async def test_a_skill_invokes_others_now_later_or_by_a_suggestion_and_cycles_end(
    opened: Open, model: ChatModel, folder: Path
):
    async with opened() as bench:
        others = (("second", "background"), ("third", "deferred"), ("fourth", "immediate"), ("fifth", "immediate"))
        put(bench, "first", "Read", *others)
        put(bench, "second", "Read", ("first", "immediate"), ("second", "immediate"))
        for name in ("third", "fourth", "fifth"):
            put(bench, name, "Read")
        model.will_answer({"conditions": [1, 2, 3, 9]}, NOTHING, {"conditions": [1, 2]})
        ended = await ran(bench, "first", folder)
        runs = (await bench.app.runs().search()).items
    assert [run.subject_name for run in reversed(runs)] == ["first", "fourth", "second"]
    assert [run.parent_run_id for run in reversed(runs)] == [None, ended.run.id, ended.run.id]
    assert [each.suggestion for each in ended.findings] == ["tocsin skills run third a.py"]


async def test_the_shipped_scanner_of_secrets_shows_no_file_to_the_model(opened: Open, model: ChatModel, folder: Path):
    async with opened() as bench:
        await ran(bench, "secret-scanner", folder)
    assert questions(model) == []


async def test_what_fixed_rules_found_is_judged_by_the_model(opened: Open, model: ChatModel, folder: Path):
    (folder / "a.py").rename(folder / "requirements.txt")
    (folder / "requirements.txt").write_text("requests\n")
    (folder / "a.py").symlink_to("requirements.txt")
    model.will_answer(NOTHING)
    async with opened() as bench:
        request = AssistantRequest(source="cli", cause=RunTrigger.MANUAL, folder=folder, files=["requirements.txt"])
        ended = await bench.service.runner().run("dependency-auditor", request)
    assert "requests" in str(questions(model)[0].body["turns"])
    assert ended.findings == ()


ESCAPES = [escape.title for escape in escapes(Path("/outside"))]


@pytest.mark.parametrize("title", ESCAPES)
async def test_no_tool_leads_out_of_the_folder(tmp_path: Path, folder: Path, title: str):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text(SECRET)
    (folder / "fine").write_text("fine")
    escape: Escape = next(each for each in escapes(tmp_path / "outside") if each.title == title)
    escape.prepare(folder)
    with ConfinedFolder(folder) as confined:
        overlay = FolderOverlay(confined)
        tools = FolderTools(overlay, IgnoreRules(folder), str).named(["Read", "Write", "Edit", "Grep", "Glob"])
        by_name = {tool.name: tool.call for tool in tools}
        assert (await by_name["Read"]({"path": escape.path})).startswith("refused: ")
        assert (await by_name["Edit"]({"path": escape.path, "old": "kept", "new": "x"})).startswith("refused: ")
        await by_name["Write"]({"path": escape.path, "text": "changed"})
        assert SECRET not in await by_name["Grep"]({"pattern": "kept|root:", "glob": escape.path})
        assert SECRET not in await by_name["Grep"]({"pattern": "kept|root:"})
        listed = await by_name["Glob"]({"pattern": escape.path})
        inside = {*confined.files(), *(change.path for change in overlay.changes())}
        assert listed == "no file" or listed.startswith("refused: ") or set(listed.splitlines()) <= inside
    assert (tmp_path / "outside" / "secret").read_text() == SECRET
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret"]


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("Read", {"path": "a.py", "line": 2, "count": 1}, "2: x = 1"),
        ("Read", {}, "refused: the argument path is missing"),
        ("Read", {"path": 7}, "refused: the argument path must be a string"),
        ("Read", {"path": "a.py", "mode": "x"}, "refused: there is no argument mode; there are: path, line, count"),
        ("Read", {"path": "binary"}, "refused: binary is not UTF-8 text"),
        ("Edit", {"path": "a.py", "old": "=", "new": ""}, "refused: a.py: the old text occurs 2 times; "),
        ("Edit", {"path": "a.py", "old": "z", "new": ""}, "refused: a.py: the old text does not occur; "),
        ("Edit", {"path": "a.py", "old": "", "new": ""}, "refused: a.py: the old text is empty; "),
        ("Write", {"path": "a.py", "text": "x" * 2**20 + "y"}, "refused: a.py would be larger than 1,048,576 bytes"),
        ("Grep", {"pattern": "x ="}, "a.py:2: x = 1"),
        ("Grep", {"pattern": "("}, "refused: not a pattern of RE2"),
        ("Grep", {"pattern": "none"}, "no match"),
        ("Glob", {"pattern": "*.py"}, "a.py"),
        ("Glob", {"pattern": "../*"}, "refused: '../*' leads out of the folder"),
        ("Glob", {"pattern": "!"}, "refused: '!' is not a pattern"),
        ("Glob", {"pattern": "[z-a]"}, "refused: '[z-a]' is not a pattern"),
        ("Glob", {"pattern": "*.rs"}, "no file"),
    ],
)
async def test_a_tool_answers_or_says_why_it_refuses(folder: Path, tool: str, arguments: dict[str, Any], answer: str):
    (folder / "binary").write_bytes(b"\xff\xfe")
    with ConfinedFolder(folder) as confined:
        (found,) = FolderTools(FolderOverlay(confined), IgnoreRules(folder), str).named([tool])
        assert (await found.call(arguments)).startswith(answer)


async def test_the_dashboard_shows_and_writes_a_patch_unless_it_does_not_fit(
    opened: Open, model: ChatModel, folder: Path
):
    for _ in range(2):
        model.will_answer(ToolCall("Edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}), NOTHING)
    async with opened() as bench, open_dashboard(bench.app) as client:
        put(bench, "fixer", "Read, Write, Edit")
        first, second = (await ran(bench, "fixer", folder)).run, (await ran(bench, "fixer", folder)).run
        shown = (await client.post(f"/api/runs/{first.id}/apply", {"dry_run": True})).json()
        assert ("-x = 1\n+x = 2\n" in shown["patch"], shown["written"], shown["applied_at"]) == (True, [], None)
        assert (folder / "a.py").read_text() == "y = 0\nx = 1\n"
        applied = await client.post(f"/api/runs/{first.id}/apply")
        assert (applied.status, applied.json()["written"], bool(applied.json()["applied_at"])) == (200, ["a.py"], True)
        assert (folder / "a.py").read_text() == "y = 0\nx = 2\n"
        for run in (first, second):
            refused = await client.post(f"/api/runs/{run.id}/apply")
            assert (refused.status, refused.json()["code"]) == (409, "conflict")
        assert (await client.post("/api/runs/absent/apply")).json()["code"] == "not-found"
        assert [(entry.action, entry.source) for entry in bench.audit("skill.apply")] == [("skill.apply", "dashboard")]
