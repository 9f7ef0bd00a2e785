"""What lies in the repository is clean text that works on any machine."""

import re
import subprocess
from pathlib import Path

import pytest
import re2

ROOT = Path(__file__).parents[2]

# Each pattern is written so that it does not match itself.
REGISTRY_HOST = re.compile(
    r"\b(py"
    + r"pi\.org|pythonho"
    + r"sted\.org|npm"
    + r"js\.(org|com)|yarn"
    + r"pkg\.com|\w+\.deb"
    + r"ian\.org/debian)"
)
MACHINE_PATH = re.compile(
    r"(?<![\w.~}-])/(wo" + r"rk|ro" + r"ot|fa" + r"rm|tmp/l" + r"ab|opt/py" + r"pi)(/|\b(?=['\"\s]))"
)
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME)\b")
UNEXPLAINED = re.compile(r"# (noqa|type: ig" + r"nore)\b(?!.*\S  # \S).*$", re.MULTILINE)
# RE2 searches for all of them in one pass, a hundred times as fast as `re`.
SECRET = re2.compile(
    "|".join(
        (
            r"\bxox[abeoprs]-\d{9,}-[\w-]{20,}",  # teamchat: bot and user tokens
            r"\bxapp-\d-[A-Z0-9]{9,}-\d{9,}-[0-9a-f]{32,}",  # teamchat: app tokens
            r"\b\d{8,10}:AA[\w-]{33}\b",  # botchat: bot tokens
            r"\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,}",  # guildchat: bot tokens
            r"\bsk-(ant-|proj-)?[A-Za-z0-9_-]{24,}",  # chat providers
            r"\bAGE-SECRET-KEY-1[A-Z0-9]{40,}",
            r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
            r"\b(gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{40,})",
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40,}",
        )
    )
)


# A made-up value says so in itself.
MADE_UP = re.compile(r"stand-?in|example|demo|fake|sample|test|x{6}|0{6}", re.IGNORECASE)


def repository_files() -> list[Path]:
    """List what git tracks and what it would track next."""
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.fixture(scope="module")
def texts() -> dict[Path, str]:
    """Read every text file of the repository; a file with a null byte is no text."""
    contents = {path.relative_to(ROOT): path.read_bytes() for path in repository_files()}
    assert contents, "git lists no files"
    return {path: content.decode("utf-8") for path, content in contents.items() if b"\0" not in content}


def matches(texts: dict[Path, str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0][:40]}"
        for path, text in texts.items()
        for match in pattern.finditer(text)
    ]


def test_no_file_names_a_package_registry(texts: dict[Path, str]):
    assert matches(texts, REGISTRY_HOST) == []


def test_no_file_names_a_path_of_one_machine(texts: dict[Path, str]):
    assert matches(texts, MACHINE_PATH) == []


def test_no_file_holds_what_looks_like_a_secret(texts: dict[Path, str]):
    found = [
        f"{path}: {match[0][:8]}…"
        for path, text in texts.items()
        for match in SECRET.finditer(text)
        if not MADE_UP.search(match[0])
    ]
    assert found == []


def test_no_file_is_marked_as_unfinished(texts: dict[Path, str]):
    assert matches(texts, UNFINISHED) == []


def test_every_text_file_ends_with_a_newline(texts: dict[Path, str]):
    assert [str(path) for path, text in texts.items() if text and not text.endswith("\n")] == []


def test_no_text_file_has_carriage_returns(texts: dict[Path, str]):
    assert [str(path) for path, text in texts.items() if "\r" in text] == []


def test_the_licence_is_there():
    assert "MIT License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_continuous_integration_runs_what_a_person_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in script if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["exec make test"]


def test_every_silenced_finding_has_its_reason_beside_it(texts: dict[Path, str]):
    shipped = {
        path: text
        for path, text in texts.items()
        if path.suffix == ".py" and path.parts[0] in {"src", "tools", "examples"}
    }
    assert shipped
    assert matches(shipped, UNEXPLAINED) == []
