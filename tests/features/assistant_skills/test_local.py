"""The three skills that work without a model."""

import json

import pytest
from tests.facts import mentions

from tocsin.features.assistant_skills.local.commit_message import ChangedFile, GitChange, message_of, propose_message
from tocsin.features.assistant_skills.local.dependencies import audit_dependencies
from tocsin.features.assistant_skills.local.secrets import scan_secrets
from tocsin.features.skill_records import Severity

# Put together here, so that no scanner of this repository takes them for real ones.
AWS = "AK" + "IAQ7XJ3LPWZ5NMBV2R"
RANDOM = "q9Zt4Lw" + "X2vKp8RmB7nYc3JdH6sTfG1aE5"
SECRETS = {
    "an AWS access key": AWS,
    "a GitHub token": "gh" + "p_" + "a8Kd92mZq1Lw7Xv3Rt5Yb4Nc6Jf0HgPsEuTi",
    "a GitLab token": "gl" + "pat-" + "Zq1Lw7Xv3Rt5Yb4Nc6Jf",
    "a Slack token": "xo" + "xb-" + "2839471829-Zq1Lw7Xv3Rt5Yb4",
    "a Telegram bot token": "73829" + "10465:AA" + "Zq1Lw7Xv3Rt5Yb4Nc6Jf8HgPsEuTi29mK",
    "an Anthropic key": "sk-" + "ant-" + "Zq1Lw7Xv3Rt5Yb4Nc6JfHgPs",
    "a Google API key": "AI" + "za" + "Zq1Lw7Xv3Rt5Yb4Nc6JfHgPsEuTi29mKd8a",
    "a Stripe key": "sk" + "_live_" + "Zq1Lw7Xv3Rt5Yb4Nc6JfHgPs",
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a JSON web token": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0Mjk4In0.Zq1Lw7Xv3Rt5Yb4Nc6Jf",
}


@pytest.mark.parametrize(("label", "secret"), SECRETS.items(), ids=SECRETS)
def test_a_credential_of_a_provider_is_found_in_its_line_and_never_repeated(label: str, secret: str):
    found = scan_secrets("a.py", f"import os\n\nKEY = '{secret}'\n".encode())
    assert [(each.line, each.severity) for each in found] == [(3, Severity.CRITICAL)]
    assert label in found[0].message
    assert secret not in f"{found[0]}{found[0].suggestion}"


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("password = 'hunter2-Correct'", Severity.ERROR),
        ('"db_password": "x9Kq-11zz"', Severity.ERROR),
        ("API_TOKEN=x9Kq11zzLw7Xv3Rt", Severity.ERROR),
        ("url = 'postgres://app:hunter22@db/app'", Severity.ERROR),
        (f"salt = '{RANDOM}'", Severity.WARNING),
    ],
)
def test_a_password_or_a_random_value_is_found(line: str, severity: Severity):
    assert [each.severity for each in scan_secrets("a", line.encode())] == [severity]


@pytest.mark.parametrize(
    "line",
    [
        "password = os.environ['PASSWORD']",
        "password = settings.password",
        "token = get_token(user)",
        "PASSWORD=changeme",
        "api_key: ${API_KEY}",
        "api_key = '<your api key>'",
        "token = 'example-token-123'",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'",
        "id = '123e4567-e89b-12d3-a456-426614174000'",
        f"key = '{AWS}'  # allowlist secret",
        "secret_name = 'database-credentials'",
        "class TokenBucketRateLimiterForRequests:",
        "https://example.org/a/very/long/path/with/Many/Parts1",
    ],
)
def test_what_is_not_a_credential_is_left_alone(line: str):
    assert scan_secrets("a", line.encode()) == []


def test_a_binary_file_has_no_findings():
    assert scan_secrets("a", b"\0" + AWS.encode()) == []


def audit(path: str, text: str, **others: str) -> list[str]:
    files = {name.replace("__", "-").replace("_", "."): content for name, content in others.items()}

    def read(name: str) -> bytes | None:
        return files[name].encode() if name in files else None

    return [f"{each.line} {each.severity} {each.message}" for each in audit_dependencies(path, text.encode(), read)]


def found_at(found: list[str]) -> list[str]:
    """Return lines and severities of what was found."""
    return [" ".join(each.split()[:2]) for each in found]


def test_requirements_without_a_version_twice_or_from_odd_places_are_told():
    text = (
        "requests\n# a comment\nflask==1.0\nFlask==2.0  # newer\nnumpy>=1.20\ngit+https://host/x.git@main\n"
        "--extra-index-url https://host\nold @ http://host/old.tar.gz\nfine==1.0\n"
    )
    found = audit("requirements.txt", text)
    assert found_at(found) == ["1 warning", "4 error", "5 warning", "6 warning", "7 warning", "8 error"]
    assert mentions(found[0], "requests")
    assert mentions(found[1], "==2.0", "line 3", "==1.0")
    assert mentions(found[2], "numpy", ">=1.20")
    assert mentions(found[5], "http")


def test_a_requirement_without_a_hash_among_others_is_told():
    text = "a==1 \\\n  --hash=sha256:00\nb==2\n"
    assert found_at(audit("requirements.txt", text)) == ["3 error"]


def test_a_pyproject_is_compared_with_its_lock_file():
    text = '[project]\nname = "x"\ndependencies = [\n  "a==1.0",\n  "b>=2",\n  "c",\n]\n'
    lock = '[[package]]\nname = "a"\nversion = "1.1"\n[[package]]\nname = "c"\nversion = "3"\n'
    found = audit("pyproject.toml", text, uv_lock=lock)
    assert found_at(found) == ["4 error", "5 error", "6 warning"]
    assert mentions(found[0], "uv.lock", "1.1", "1.0")
    assert mentions(found[1], "uv.lock", " b")


def test_a_package_json_is_compared_with_its_lock_file():
    text = '{\n "dependencies": {\n  "a": "^1.0.0",\n  "b": "*",\n  "c": "github:x/c"\n },\n'
    text += ' "devDependencies": {"a": "1"}\n}'
    lock = json.dumps(
        {
            "packages": {
                "": {"dependencies": {"a": "^0.9.0", "b": "*", "c": "github:x/c"}, "devDependencies": {"a": "1"}}
            }
        }
    )
    found = audit("package.json", text, package__lock_json=lock)
    assert found_at(found) == ["3 error", "4 warning", "5 warning", "7 warning"]
    assert mentions(found[0], "package-lock.json", "^0.9.0", "^1.0.0")
    assert mentions(found[3], "devDependencies")


def test_a_go_module_needs_its_sum():
    text = "module x\n\nrequire (\n\tgithub.com/a/b v1.2.3\n\tgithub.com/c/d v0.1.0\n)\n"
    assert audit("go.mod", text, go_sum="github.com/a/b v1.2.3 h1:x\n") == [
        "5 error go.sum does not contain github.com/c/d v0.1.0"
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [("pyproject.toml", "[project\n"), ("package.json", "{"), ("package.json", "[]"), ("Cargo.toml", "=")],
)
def test_a_manifest_that_cannot_be_read_is_one_finding(path: str, text: str):
    (told,) = audit(path, text)
    assert "read" in told


@pytest.mark.parametrize("path", ["README.md", "src/app.py", "package.json.bak"])
def test_a_file_of_another_kind_has_no_findings(path: str):
    assert audit(path, "requests\n") == []


def change(*files: ChangedFile, diff: str = "", message: str = "", subjects: tuple[str, ...] = ()) -> GitChange:
    return GitChange(files, diff, message, subjects)


@pytest.mark.parametrize(
    ("files", "subject"),
    [
        ([ChangedFile("src/app.py", "A", 10, 0)], "Add app.py"),
        ([ChangedFile("src/app.py", "D", 0, 10)], "Remove app.py"),
        ([ChangedFile("src/new.py", "R", 0, 0, "src/old.py")], "Rename old.py to new.py"),
        ([ChangedFile("guide/a.md", "M", 3, 1), ChangedFile("guide/b.md", "M", 3, 1)], "Document a.md and b.md"),
        (
            [ChangedFile("tests/test_a.py", "M", 3, 1), ChangedFile("tests/test_b.py", "A", 3, 0)],
            "Test test_a.py and test_b.py",
        ),
        (
            [ChangedFile("package.json", "M", 1, 1), ChangedFile("package-lock.json", "M", 9, 9)],
            "Change the dependencies of package.json and package-lock.json",
        ),
        ([ChangedFile(f"src/core/{n}.py", "A", 1, 0) for n in range(9)], "Add src/core"),
    ],
)  # fmt: skip
def test_a_message_says_what_the_shape_of_the_diff_tells(files: list[ChangedFile], subject: str):
    assert message_of(change(*files)).partition("\n")[0] == subject


def test_a_message_names_what_was_added():
    diff = "+++ b/src/app.py\n@@ -1 +1,4 @@\n+def parse_date(text):\n+    return text\n+class Calendar:\n"
    assert message_of(change(ChangedFile("src/app.py", "M", 3, 0), diff=diff)) == "Add parse_date and 1 more to app.py"


def test_a_message_keeps_the_prefixes_of_the_project():
    subjects = ("fix: a", "feat(api): b", "Merge c")
    assert message_of(change(ChangedFile("guide/a.md", "M", 1, 1), subjects=subjects)) == "docs: Change a.md"


def test_a_good_message_is_left_alone_and_a_poor_one_gets_another():
    file = ChangedFile("src/app.py", "A", 1, 0)
    assert propose_message(change(file, message="Read dates of all calendars\n")) == []
    for poor in ("wip", "fix", "Update.", "fix: stuff", "x" * 73, "Add it."):
        (told,) = propose_message(change(file, message=poor))
        assert told.suggestion == "Add app.py"


def test_what_is_rarely_meant_to_be_committed_is_told_with_its_line():
    diff = "+++ b/src/app.py\n@@ -1,2 +7,3 @@\n same\n+    breakpoint()\n+<<<<<<< HEAD\n"
    found = propose_message(
        change(ChangedFile("src/app.py", "M", 2, 0), ChangedFile("uv.lock", "M", 1, 1), diff=diff, message="Do it well")
    )
    assert [(each.path, each.line, each.severity) for each in found] == [
        ("src/app.py", 8, Severity.WARNING),
        ("src/app.py", 9, Severity.ERROR),
        ("uv.lock", 0, Severity.WARNING),
    ]
