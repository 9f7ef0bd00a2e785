"""The image is built from what the repository pins."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
IGNORED = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()


def pip_calls() -> Iterator[list[str]]:
    """Yield the arguments of every call of pip."""
    for line in DOCKERFILE.replace("\\\n", " ").splitlines():
        for command in re.split(r"&&|;", line.removeprefix("RUN ")) if line.startswith("RUN ") else ():
            words = shlex.split(command)
            if words and words[0].endswith("pip"):
                yield words[1:]


def test_what_pip_fetches_is_checked_against_a_hash_and_the_rest_comes_from_the_checkout():
    calls = list(pip_calls())
    assert {words[0] for words in calls} == {"install", "wheel"}
    for words in calls:
        if words[0] == "install":
            assert "--require-hashes" in words or {"--no-deps", "--no-index"} <= set(words), words
        else:
            # Without isolation the wheel is built by the hatchling that is pinned.
            assert {"--no-deps", "--no-index", "--no-build-isolation"} <= set(words), words


def test_every_lock_that_the_image_uses_reaches_the_build():
    locks = set(re.findall(r"requirements/\w+\.txt", DOCKERFILE))
    assert locks == {f"requirements/{name}.txt" for name in ("build", "core", "chat", "voice")}
    assert {f"!{lock}" for lock in locks} <= set(IGNORED)


def test_the_base_image_is_an_argument_and_one_without_a_digest_is_remarked():
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE_IMAGE}"] * 2
    assert "*@sha256:*)" in DOCKERFILE
