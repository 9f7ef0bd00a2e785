"""The installation that the guide describes can be executed by a service, and takes only what is pinned."""

from tests.docs.pages import blocks, commands


def install_commands() -> list[list[str]]:
    (block,) = [b for b in blocks("sh") if b.page == "docs/guide.md" and "-m venv /opt" in b.text]
    return list(commands(block))


def test_the_environment_is_made_by_the_system_s_python():
    # One in a home is out of reach of a unit with ProtectHome=yes: the environment links to its interpreter.
    (make,) = [words for words in install_commands() if "venv" in words]
    assert make[0] == "/usr/bin/python3"


def test_every_package_is_pinned_by_hash_and_built_by_what_is_pinned():
    installs = [words for words in install_commands() if words[0].endswith("/pip")]
    assert len(installs) == 2
    for words in installs:
        assert "--require-hashes" in words or {"--no-deps", "--no-build-isolation"} <= set(words)


def test_the_command_is_linked_and_typed_by_its_name_on_every_page():
    assert ["ln", "-sf", "/opt/tocsin/bin/tocsin", "/usr/local/bin/tocsin"] in install_commands()
    typed = [(block.page, words) for block in blocks("sh") for words in commands(block) if words]
    assert [page for page, words in typed if words[0] == "/opt/tocsin/bin/tocsin"] == []
