"""Settings: environment, NAME_FILE, `.env`; malformed values stop the start (decisions, item 5)."""

import dataclasses
import os
from ipaddress import ip_network
from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.core.config.addresses import networks
from tocsin.core.config.core_variables import (
    CORE_VARIABLES,
    DASHBOARD_PASS,
    DASHBOARD_USER,
    DATA_DIR,
    GATEWAY_PORT,
    GATEWAY_TOKEN,
    TRUSTED_PROXIES,
)
from tocsin.core.config.settings import LateLayer, Settings, Values, default_data_dir, read_env_file
from tocsin.core.config.variables import (
    Variable,
    base_url,
    boolean,
    choice,
    directory,
    integer,
    password,
    text,
    token,
)
from tocsin.core.errors import ConfigError, TocsinError

API_URL = Variable("SAMPLE_API_URL", base_url, "https://api.example", "Where the sample lives.")
API_TOKEN = Variable("SAMPLE_TOKEN", token, "", "The sample's token.", secret=True, required=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory `here` and a data directory `data`, both empty."""
    for name in ("here", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def load(place: Path, **env: str) -> Settings:
    return Settings.load([API_URL, API_TOKEN], environ={"TOCSIN_DATA_DIR": str(place / "data"), **env})


def load_with(place: Path, content: str | bytes, **env: str) -> Settings:
    (place / "here" / ".env").write_bytes(content.encode() if isinstance(content, str) else content)
    return load(place, **env)


# Order of the places


def test_the_environment_wins_over_file_and_dotenv_and_each_lower_place_stands_in(place: Path):
    (place / "secret").write_text("from-file\n")
    (place / "data" / ".env").write_text("GATEWAY_TOKEN=from-data-dir\n")
    expected = []

    def check(value: str, source: str, **env: str) -> None:
        settings = load(place, **env)
        expected.append((settings[GATEWAY_TOKEN] == value, settings.sources["GATEWAY_TOKEN"] == source))

    check("from-data-dir", str(place / "data" / ".env"))
    (place / "here" / ".env").write_text("GATEWAY_TOKEN=from-here\n")
    check("from-here", str(place / "here" / ".env"))
    file = str(place / "secret")
    check("from-file", f"{file} (GATEWAY_TOKEN_FILE)", GATEWAY_TOKEN_FILE=file)
    check("from-env", "environment", GATEWAY_TOKEN_FILE=file, GATEWAY_TOKEN="from-env")
    assert expected == [(True, True)] * 4


def test_the_data_directory_may_be_named_in_the_working_directorys_dotenv(place: Path):
    (place / "here" / ".env").write_text(f"TOCSIN_DATA_DIR={place}/data\n")
    assert Settings.load(environ={}).data_dir == place / "data"


NAMED, HERE, DATA = "other.env", "here/.env", "data/.env"


@pytest.mark.parametrize(
    ("existing", "named", "read", "unread"),
    [
        ((), "", None, None),
        ((DATA,), "", DATA, None),
        ((HERE,), "", HERE, None),
        ((HERE, DATA), "", HERE, DATA),
        ((NAMED, HERE, DATA), NAMED, NAMED, None),
    ],
)
def test_of_the_dotenv_files_only_the_first_that_exists_is_read(
    place: Path, existing: tuple[str, ...], named: str, read: str | None, unread: str | None
):
    names = {NAMED: "GATEWAY_HOST", HERE: "DASHBOARD_USER", DATA: "GATEWAY_TOKEN"}
    for file in existing:
        (place / file).write_text(f"{names[file]}=made-up\n")
    environ = {"TOCSIN_DATA_DIR": str(place / "data")}
    settings = Settings.load(environ=environ, env_file=place / named if named else None)
    assert settings.env_file == (place / read if read else None)
    assert settings.unread_env_file == (place / unread if unread else None)
    assert settings.sources.keys() - environ.keys() == ({names[read]} if read else set())
    assert settings.own_file == place / (read or DATA)
    assert all(str(place / file) in settings.read_from for file in (read, unread) if file)


def test_the_option_for_the_data_directory_wins_over_every_place(place: Path):
    settings = Settings.load(environ={"TOCSIN_DATA_DIR": "/elsewhere"}, data_dir=place / "data")
    assert settings.data_dir == settings[DATA_DIR] == place / "data"
    assert settings.sources["TOCSIN_DATA_DIR"] == "--data-dir"


def test_a_dotenv_whose_link_leads_nowhere_is_told_and_a_folder_of_that_name_is_none(place: Path):
    (place / "data" / ".env").mkdir()
    load(place)
    (place / "here" / ".env").write_text("GATEWAY_PORT=9000\n")
    assert load(place).unread_env_file is None
    (place / "here" / ".env").unlink()
    (place / "here" / ".env").symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"\.env.*No such file"):
        load(place)


def test_a_dotenv_in_a_directory_that_is_both_is_read_once(place: Path):
    (place / "here" / ".env").write_text("GATEWAY_PORT=9000\n")
    settings = load(place, TOCSIN_DATA_DIR=str(place / "here"))
    assert [layer.name for layer in settings.layers] == ["environment", str(place / "here" / ".env")]
    assert settings.unread_env_file is None


def test_without_any_setting_the_defaults_and_the_users_data_directory_hold(place: Path):
    settings = Settings.load(environ={})
    assert settings[GATEWAY_PORT] == 8100
    assert settings.sources == {}
    assert settings.data_dir == default_data_dir()
    assert settings.data_dir.is_absolute()


@pytest.mark.parametrize("empty", ["", "   "])
def test_an_empty_value_counts_as_not_set(place: Path, empty: str):
    settings = load_with(place, "GATEWAY_PORT=9000\nGATEWAY_TOKEN=abc\n", GATEWAY_PORT=empty, GATEWAY_TOKEN=empty)
    assert (settings[GATEWAY_PORT], settings[GATEWAY_TOKEN]) == (9000, "abc")


def test_the_real_environment_is_read_when_no_other_is_given(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GATEWAY_PORT", "9001")
    assert Settings.load()[GATEWAY_PORT] == 9001


def test_a_deleted_working_directory_is_no_obstacle(place: Path):
    (place / "here").rmdir()
    assert load(place, GATEWAY_PORT="9000")[GATEWAY_PORT] == 9000


# NAME_FILE


def test_a_secret_file_loses_its_line_end_and_its_byte_order_mark_only(place: Path):
    (place / "secret").write_bytes(b"\xef\xbb\xbf pass word \r\n")
    assert load(place, DASHBOARD_PASS_FILE=str(place / "secret"))[DASHBOARD_PASS] == " pass word "


def test_a_secret_file_may_lie_below_the_home_directory(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(place))
    (place / "secret").write_text("abc")
    assert load(place, GATEWAY_TOKEN_FILE="~/secret")[GATEWAY_TOKEN] == "abc"


def test_a_secret_file_may_be_named_in_a_dotenv(place: Path):
    (place / "secret").write_text("abc")
    settings = load_with(place, f"GATEWAY_TOKEN_FILE={place}/secret\n")
    assert settings[GATEWAY_TOKEN] == "abc"


def test_only_secrets_may_come_from_a_file(place: Path):
    (place / "port").write_text("9000")
    assert load(place, GATEWAY_PORT_FILE=str(place / "port"))[GATEWAY_PORT] == 8100


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"", "empty file"),
        (b"\n", "empty file"),
    ],
)
def test_a_secret_file_that_cannot_be_read_stops_the_start(place: Path, content: bytes | None, reason: str):
    if content is not None:
        (place / "secret").write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        load(place, GATEWAY_TOKEN_FILE=str(place / "secret"))
    assert mentions(str(raised.value), "GATEWAY_TOKEN_FILE", f"{place}/secret", reason)


def test_a_home_directory_that_does_not_exist_stops_the_start_in_one_sentence(place: Path):
    with pytest.raises(ConfigError, match="GATEWAY_TOKEN_FILE"):
        load(place, GATEWAY_TOKEN_FILE="~no-such-user/secret")
    with pytest.raises(ConfigError, match=r"TOCSIN_DATA_DIR.*'~no-such-user/x'"):
        load(place, TOCSIN_DATA_DIR="~no-such-user/x")


# .env


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("DASHBOARD_PASS=plain", "plain"),
        ("export DASHBOARD_PASS=plain", "plain"),
        ("  DASHBOARD_PASS = plain  ", "plain"),
        ("DASHBOARD_PASS='single # quotes'", "single # quotes"),
        ('DASHBOARD_PASS="double \\" quotes\\n"', 'double " quotes'),
        ("DASHBOARD_PASS=a#b # comment", "a#b"),
        ("DASHBOARD_PASS=$HOME${USER}`id`", "$HOME${USER}`id`"),
        ("DASHBOARD_PASS=p=q", "p=q"),
        ("DASHBOARD_PASS=grün", "grün"),
        ("DASHBOARD_PASS=old\nDASHBOARD_PASS=new", "new"),
    ],
)
def test_a_dotenv_line_is_read_as_a_shell_would_write_it_without_expanding_anything(place: Path, line: str, value: str):
    assert load_with(place, f"# comment\n\n{line}\nGATEWAY_PORT=9000\n")[DASHBOARD_PASS] == value
    assert load(place)[GATEWAY_PORT] == 9000


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(place: Path, start: str, end: str):
    settings = load_with(place, f"{start}GATEWAY_TOKEN=abc{end}GATEWAY_PORT='9000'{end}")
    assert (settings[GATEWAY_TOKEN], settings[GATEWAY_PORT]) == ("abc", 9000)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("hello world\n", 1),
        ("A=1\n\n# c\n\nB 2\nC=3\n", 5),
        ("A=1\nGATEWAY_PORT\n", 2),
        ("A=1\r\n\r\nB: 2\r\n", 3),
        ('A=1\nB="open\nC=2\n', 2),
        ("A='x' y\n", 1),
        ("=x\n", 1),
    ],
)
def test_a_broken_dotenv_line_stops_the_start_with_its_number_and_not_its_content(place: Path, content: str, line: int):
    with pytest.raises(ConfigError) as raised:
        load_with(place, content)
    assert str(raised.value).startswith(f"{place}/here/.env:{line}: ")


def test_a_dotenv_that_is_not_utf8_or_not_there_stops_the_start(place: Path):
    with pytest.raises(ConfigError, match=r"\.env.*UTF-8"):
        load_with(place, b"A=\xff\n")
    with pytest.raises(ConfigError, match=r"missing.*No such file"):
        Settings.load(environ={}, env_file=place / "missing")
    with pytest.raises(ConfigError, match=r"data.*Is a directory"):
        read_env_file(place / "data")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_dotenv_stops_the_start(place: Path):
    (place / "here" / ".env").touch(0o000)
    with pytest.raises(ConfigError, match="Permission denied"):
        load(place)


# Values


def test_a_malformed_value_is_named_with_what_was_found_where_and_what_is_accepted(place: Path):
    with pytest.raises(ConfigError) as raised:
        load(place, GATEWAY_PORT="80a")
    assert mentions(str(raised.value), "GATEWAY_PORT", "'80a'", "environment")
    assert mentions(raised.value.hint, "1", "65535")


def test_a_malformed_value_of_a_dotenv_names_that_file(place: Path):
    with pytest.raises(ConfigError, match=r"LOG_LEVEL.*'loud'.*/here/\.env"):
        load_with(place, "LOG_LEVEL=loud\n")


def test_a_malformed_secret_is_not_shown(place: Path):
    (place / "secret").write_text("made up")
    for env in ({"GATEWAY_TOKEN": "made up"}, {"GATEWAY_TOKEN_FILE": str(place / "secret")}):
        with pytest.raises(ConfigError, match="GATEWAY_TOKEN ") as raised:
            load(place, **env)
        assert "made up" not in raised.value.sentence()


def test_a_long_malformed_value_is_cut_and_a_password_in_an_address_masked(place: Path):
    with pytest.raises(ConfigError) as raised:
        load(place, GATEWAY_PORT="9" * 10_000)
    assert len(str(raised.value)) < 120
    with pytest.raises(ConfigError) as raised:
        load(place, SAMPLE_API_URL="https://anna:made-up@api.example")
    assert "made-up" not in raised.value.sentence()


@pytest.mark.parametrize(
    ("parse", "raw", "value"),
    [
        (text, " a b ", "a b"),
        (password, " a b \r\n", " a b "),
        (token, " abc ", "abc"),
        (integer(0, 10), " 007 ", 7),
        (boolean, " YES ", True),
        (boolean, "1", True),
        (boolean, "off", False),
        (choice("a", "b"), " B ", "b"),
        (networks, "10.0.0.1, fd00::/8,,", (ip_network("10.0.0.1/32"), ip_network("fd00::/8"))),
        (networks, "10.1.2.3/16", (ip_network("10.1.0.0/16"),)),
        (base_url, " https://api.example/v1/ ", "https://api.example/v1"),
        (base_url, "http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_values_are_read(parse, raw: str, value: object):
    assert parse(raw) == value


@pytest.mark.parametrize(
    ("parse", "raw"),
    [
        (password, "two\nlines\n"),
        (token, "a b"),
        (token, "ä"),
        (token, "a\x07b"),
        (integer(0, 10), "11"),
        (integer(0, 10), "-1"),
        (integer(0, 10), "1.5"),
        (integer(0, 10), "²"),
        (integer(0, 10), "1_0"),
        (integer(0, 10**9), "0" * 20 + "9999999999"),
        (integer(0, 10), "1" * 5000),
        (boolean, "maybe"),
        (boolean, "2"),
        (choice("a", "b"), "c"),
        (networks, "10.0.0.0/33"),
        (networks, "example.org"),
        (base_url, "ftp://api.example"),
        (base_url, "api.example"),
        (base_url, "https://"),
        (base_url, "https://api.example:99999"),
        (base_url, "https://[::1"),
        (base_url, "https://user@api.example"),
        (base_url, "https://api.example?a=b"),
        (base_url, "https://api.example/v1?"),
        (base_url, "https://api.example/v1#"),
        (base_url, "https://api.example/ v1"),
        (base_url, "https://api example/v1"),
        (base_url, "https://api.example/v\n1"),
        (directory, "~no-such-user"),
    ],
)
def test_malformed_values_are_refused(parse, raw: str):
    with pytest.raises(ValueError, match=r"\w"):
        parse(raw)


def test_a_relative_data_directory_starts_at_the_working_directory(place: Path):
    assert load(place, TOCSIN_DATA_DIR="sub/dir").data_dir == place / "here" / "sub" / "dir"


# What settings are for the rest of the program


def test_settings_are_frozen(place: Path):
    environ = {"TOCSIN_DATA_DIR": str(place), "GATEWAY_PORT": "9000"}
    settings = Settings.load(environ=environ)
    with pytest.raises(TypeError):
        settings[GATEWAY_PORT] = 1  # type: ignore[index]
    for name in ("data_dir", "sources", "variables", "anything"):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(settings, name, None)
    environ["GATEWAY_PORT"] = "1"
    assert settings[GATEWAY_PORT] == 9000
    assert settings.layers[0].values["GATEWAY_PORT"] == "9000"


def test_settings_do_not_show_secrets_when_they_are_printed(place: Path):
    settings = load(place, GATEWAY_TOKEN="made-up-token")
    assert "made-up-token" not in f"{settings!r} {settings} {settings.only([GATEWAY_TOKEN])!r}"


def test_an_adapter_sees_its_own_variables_only(place: Path):
    settings = load(place, SAMPLE_TOKEN="abc", GATEWAY_TOKEN="def")
    values = settings.only([API_TOKEN])
    assert values[API_TOKEN] == "abc"
    assert values[GATEWAY_TOKEN] == ""
    assert list(values.secrets()) == ["abc"]


def test_required_variables_without_a_value_are_missing(place: Path):
    assert load(place).missing() == ["SAMPLE_TOKEN"]
    assert load(place, SAMPLE_TOKEN="abc").missing() == []


def test_all_secret_values_that_are_set_are_known(place: Path):
    settings = load(place, SAMPLE_TOKEN="abc", DASHBOARD_PASS="def", DASHBOARD_USER="anna")
    assert sorted(settings.secrets()) == ["abc", "def"]
    assert settings[DASHBOARD_USER] == "anna"


def test_every_core_variable_is_in_the_table_once_with_a_default_its_parser_accepts():
    names = [variable.name for variable in CORE_VARIABLES]
    assert len(names) == len(set(names))
    for variable in CORE_VARIABLES:
        assert variable.doc.endswith(".")
        if isinstance(variable.default, int | str) and variable.default != "":
            assert variable.parse(str(variable.default)) == variable.default
    assert TRUSTED_PROXIES.default == ()


class Late:
    """A store that counts how often it is asked."""

    def __init__(self, values: dict[str, str] | TocsinError) -> None:
        self.values = values
        self.asked = 0

    def open(self, data_dir: Path, settings: Values) -> "Late":
        return self

    def further(self) -> tuple[str, ...]:
        return () if isinstance(self.values, TocsinError) else tuple(self.values.values())

    def unreadable(self) -> bool:
        return isinstance(self.values, TocsinError)

    def by_name(self) -> dict[str, str]:
        self.asked += 1
        if isinstance(self.values, TocsinError):
            raise self.values
        return self.values


# Of the password "x", with almost no work.
HASH = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$9EVnGUVDVxOZ0tZsXo6yyA"


def load_late(place: Path, late: Late, **environ: str) -> Settings:
    return Settings.load([API_TOKEN], environ=environ, data_dir=place, late=[LateLayer("safe", late.open)])


def test_a_late_layer_sets_secrets_that_no_other_place_sets_and_nothing_else(place: Path):
    late = Late({"SAMPLE_TOKEN": "late", "GATEWAY_TOKEN": "later", "GATEWAY_PORT": "1", "OTHER": "x"})
    settings = load_late(place, late, SAMPLE_TOKEN="early")
    assert (settings[API_TOKEN], settings[GATEWAY_TOKEN], settings[GATEWAY_PORT]) == ("early", "later", 8100)
    assert settings.sources["GATEWAY_TOKEN"] == "safe"
    assert settings.redact("later 8100") == "[secret] 8100"
    late.values["NEW"] = "of no setting, and set meanwhile"
    assert settings.redact(late.values["NEW"]) == "[secret]"
    assert settings.masks_all()


def test_a_late_layer_is_not_asked_where_every_secret_is_set(place: Path):
    late = Late({})
    names = [variable.name for variable in (*CORE_VARIABLES, API_TOKEN) if variable.secret]
    values = dict.fromkeys(names, "a-token-of-ours") | {
        "DASHBOARD_PASS_HASH": HASH,
        "OTEL_EXPORTER_OTLP_HEADERS": "a=b",
    }
    load_late(place, late, **values)
    assert late.asked == 0


def test_a_late_layer_that_cannot_be_read_is_a_problem_and_stops_nothing(place: Path):
    settings = load_late(place, Late(TocsinError("it is locked", hint="open it")), SAMPLE_TOKEN="early")
    assert settings[API_TOKEN] == "early"
    assert [problem.sentence() for problem in settings.problems] == ["it is locked: open it"]
    assert not settings.masks_all()


def test_a_malformed_value_of_a_late_layer_names_the_layer_and_not_the_value(place: Path):
    with pytest.raises(ConfigError, match=r"GATEWAY_TOKEN.* safe") as told:
        load_late(place, Late({"GATEWAY_TOKEN": "two words"}))
    assert "two words" not in told.value.sentence()
