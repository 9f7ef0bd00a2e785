"""What git gets to see of a repository that a stranger made."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.hostile_repositories import GIT_ENV, Form, HostileRepository, groups, make_base, run_git

from tocsin.core.process.git import GitCommands, GitFailedError, GitProgram, find_repository


@pytest.fixture
def site(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path / "repos", Form.PLAIN).make(make_base(tmp_path / "base" / "site"))


async def opened(repository: HostileRepository, *, trusted: bool = False) -> GitCommands:
    place = find_repository(repository.folder)
    assert place is not None
    directories = repository.place.parent / "data" / "git"
    return await GitProgram(lambda: GIT_ENV, directories, trusted=trusted).open(place)


async def seen(repository: HostileRepository) -> dict[str, str]:
    """Return the configuration that git reads, but for what we write into every one."""
    listed = (await (await opened(repository)).text("config", "--null", "--list")).split("\0")
    pairs = dict(entry.partition("\n")[::2] for entry in listed if entry)
    assert pairs.pop("core.hookspath") == "/dev/null"
    return {
        key: value
        for key, value in pairs.items()
        if not key.startswith(("protocol.", "submodule.", "maintenance.", "diff."))
    }


async def test_git_sees_how_files_are_stored_and_who_pushes_where_and_nothing_else(site: HostileRepository):
    usual = {
        "core.autocrlf": "input", "user.name": "Ana O'Hara", "user.email": "ana+x@example.org",
        "remote.origin.url": "ssh://git@example.org:2222/~ana/site.git", "branch.feature/x.merge": "refs/heads/x",
    }  # fmt: skip
    site.arm(groups(1)[0] | {"remote.origin.promisor": "true", "core.worktree": "/"} | usual)
    mine = {"core.repositoryformatversion": "0", "core.filemode": "true", "core.fsmonitor": "false"}
    assert await seen(site) == usual | mine


@pytest.mark.parametrize(
    "settings",
    [
        {"user.name": "x\\n[core]\\n\\tfsmonitor = evil"},
        {"user.name": "$(touch x); `y` | z"},
        {'remote.a\\"]\\n[core.url': "x"},
        {"remote.origin.url": 'x\\" # '},
    ],
)
async def test_a_value_that_could_be_code_elsewhere_is_left_out(site: HostileRepository, settings: Mapping[str, str]):
    before = await seen(site)
    site.arm(settings)
    assert await seen(site) == before


async def test_what_changes_after_the_configuration_was_read_starts_nothing(site: HostileRepository, tmp_path: Path):
    commands = await opened(site)
    site.arm(groups(1)[0])
    assert "changed" in await commands.text("diff", "HEAD", work_tree=site.folder)
    await commands.add_work_tree(tmp_path / "made", "topic")
    for words in (("status",), ("diff", "HEAD"), ("commit", "-q", "--allow-empty", "-m", "x"), ("fetch",)):
        run_git(tmp_path / "made", *words, check=False)
    assert (site.ran(), (tmp_path / "made" / "readme").read_text()) == ("", "two\n")
    assert str(tmp_path / "made") in run_git(site.folder, "worktree", "list")


async def test_a_work_tree_that_was_added_is_read_as_its_repository_is(site: HostileRepository, tmp_path: Path):
    commands = await opened(site)
    await commands.add_work_tree(tmp_path / "made", "topic")
    run_git(tmp_path / "made", "config", "core.fsmonitor", str(tmp_path / "evil"))
    (tmp_path / "made" / "readme").write_text("three\n")
    place = find_repository(tmp_path / "made" / "lib", above=True)
    assert place is not None
    again = await commands.program.open(place)
    assert "+three" in await again.text("diff", "HEAD", work_tree=place.top)
    assert (site.ran(), again.common) == ("", commands.common)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[include]\n\tpath = other\n", "includes other files"),
        ("[INCLUDEIF \"hasconfig:remote.*.url:**\"]\n\tpath = other\n", "includes other files"),
        (f'[a "{"x" * 1000}"]\n' + "\tb\n" * 2000, "is too long"),
        ("# " + "x" * 1024 * 1024, "is larger than"),
        ("[core", "bad config line"),
    ],
)  # fmt: skip
async def test_a_configuration_that_includes_or_is_not_read_whole_is_refused(
    site: HostileRepository, text: str, reason: str
):
    for name in ("config.worktree", "config"):
        (site.folder / ".git" / name).write_text(text)
        with pytest.raises(GitFailedError, match=reason):
            await opened(site)
        (site.folder / ".git" / name).unlink()
    os.mkfifo(site.folder / ".git" / "config")
    with pytest.raises(GitFailedError):
        await opened(site)


async def test_a_trusted_repository_is_used_with_its_own_configuration(site: HostileRepository, tmp_path: Path):
    (tmp_path / "repos" / "more").write_text(f"[core]\n\thooksPath = {tmp_path}/hooks\n")
    site.arm({"include.path": str(tmp_path / "repos" / "more")})
    with pytest.raises(GitFailedError, match="failed"):  # as each hook does
        await (await opened(site, trusted=True)).add_work_tree(tmp_path / "made", "topic")
    assert f"{tmp_path}/hooks/" in site.ran()
