"""What a program that we start may have of our environment: all but our secrets."""

from pathlib import Path

from tocsin.core.config.core_variables import GATEWAY_TOKEN
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable, text

OURS = Variable("TEAM_TOKEN", text, "", "A token of a channel.", secret=True)


def inheritable(tmp_path: Path, **environ: str) -> dict[str, str]:
    (tmp_path / "no.env").touch()
    given = {"TOCSIN_DATA_DIR": str(tmp_path), **environ}
    found = Settings.load([OURS], environ=given, env_file=tmp_path / "no.env").inheritable()
    assert found.pop("TOCSIN_DATA_DIR") == str(tmp_path)
    return found


def test_what_is_no_secret_is_handed_on(tmp_path: Path):
    given = {"PATH": "/bin", "HOME": "/home/me", "GATEWAY_PORT": "8100", "OTHER_TOKEN": "theirs"}
    assert inheritable(tmp_path, **given) == given


def test_secrets_of_the_core_and_of_channels_are_not(tmp_path: Path):
    assert inheritable(tmp_path, GATEWAY_TOKEN="abcdefgh", TEAM_TOKEN="ijklmnop", PATH="/bin") == {"PATH": "/bin"}


def test_nor_the_names_of_files_that_hold_one(tmp_path: Path):
    (tmp_path / "token").write_text("from-a-file\n")
    found = inheritable(tmp_path, TEAM_TOKEN_FILE=str(tmp_path / "token"), COPY="from-a-file")
    assert found == {}


def test_nor_copies_of_a_secret_under_another_name(tmp_path: Path):
    assert inheritable(tmp_path, GATEWAY_TOKEN="abcdefgh", COPY="abcdefgh") == {}


def test_a_secret_too_short_to_be_one_takes_nothing_else_away(tmp_path: Path):
    assert inheritable(tmp_path, TEAM_TOKEN="1", SHLVL="1") == {"SHLVL": "1"}


def test_nor_addresses_of_ours_with_a_password(tmp_path: Path):
    found = inheritable(tmp_path, REDIS_URL="redis://:hunter22@cache:6379/0", DATABASE_URL="pg://u:theirs@db/x")
    assert found == {"DATABASE_URL": "pg://u:theirs@db/x"}


def test_what_stands_in_an_env_file_alone_is_not_in_it(tmp_path: Path):
    file = tmp_path / "own.env"
    file.write_text(f"{GATEWAY_TOKEN.name}=abcdefgh\nSHELL_SETTING=1\n")
    settings = Settings.load([OURS], environ={"COPY": "abcdefgh", "PATH": "/bin"}, env_file=file)
    assert settings.inheritable() == {"PATH": "/bin"}
