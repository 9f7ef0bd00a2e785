"""The start-up check warns of what is weak and refuses what is open."""

from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.channels.registry import discover
from tocsin.core.config.core_variables import DASHBOARD_PASS_HASH
from tocsin.core.config.security import check_dashboard_bind, check_gateway_bind, is_loopback, validate_security
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import Variable, text
from tocsin.core.errors import ConfigError

# Of the password "x", with almost no work.
HASH = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$9EVnGUVDVxOZ0tZsXo6yyA"
GOOD = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "a long made-up password", "TOCSIN_DATA_DIR": "/nonexistent"}
CHANNEL_VARIABLES = [variable for channel in discover().classes for variable in channel.spec.variables]


def settings(**env: str) -> Settings:
    return Settings.load(CHANNEL_VARIABLES, environ={**GOOD, **env})


def warnings(**env: str) -> list[str]:
    return validate_security(settings(**env))


def test_a_well_configured_installation_has_no_warning():
    assert warnings() == []
    assert warnings(ENVIRONMENT="production", FORCE_HTTPS="true") == []


@pytest.mark.parametrize("name", ["DASHBOARD_USER", "DASHBOARD_PASS"])
def test_half_a_login_of_the_dashboard_is_warned_of(name: str):
    assert [mentions(warning, name, "/nonexistent/.env") for warning in warnings(**{name: ""})] == [True]


def test_no_login_at_all_means_no_dashboard_and_is_no_warning():
    assert warnings(DASHBOARD_USER="", DASHBOARD_PASS="") == []


def test_a_hash_takes_the_place_of_the_password_and_does_not_stand_beside_it():
    assert warnings(DASHBOARD_PASS="", DASHBOARD_PASS_HASH=HASH) == []
    (warning,) = warnings(DASHBOARD_PASS_HASH=HASH)
    assert mentions(warning, "DASHBOARD_PASS ", "DASHBOARD_PASS_HASH")


@pytest.mark.parametrize("quote", ["'", '"', ""])
def test_a_hash_is_taken_with_the_quotes_that_some_readers_of_env_files_keep(quote: str):
    assert settings(DASHBOARD_PASS_HASH=f"{quote}{HASH}{quote}")[DASHBOARD_PASS_HASH] == HASH


@pytest.mark.parametrize(
    "value", ["my own word", "$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2hoYXNo", "$2b$12$abc", HASH[:-30]]
)
def test_what_is_no_argon2id_hash_is_refused_without_being_shown(value: str):
    with pytest.raises(ConfigError) as raised:
        settings(DASHBOARD_PASS_HASH=value)
    assert "tocsin dashboard hash-password" in raised.value.hint
    assert value not in raised.value.sentence()


@pytest.mark.parametrize("value", ["admin", "password", "changeme", "ChangeMe", " ADMIN "])
@pytest.mark.parametrize(
    "name", ["DASHBOARD_USER", "DASHBOARD_PASS", "GATEWAY_TOKEN", "SMTP_USER", "SMTP_PASS", "BOTCHAT_WEBHOOK_SECRET"]
)
def test_a_value_that_everybody_tries_first_is_warned_of_once_without_showing_it(name: str, value: str):
    (warning,) = warnings(**{name: value})
    assert warning.startswith(f"{name} ")
    assert value.strip() not in warning


@pytest.mark.parametrize(
    ("name", "shortest"), [("GATEWAY_TOKEN", 16), ("DASHBOARD_PASS", 8), ("BOTCHAT_WEBHOOK_SECRET", 16)]
)
def test_a_secret_that_is_too_short_is_warned_of_without_showing_it(name: str, shortest: int):
    (warning,) = warnings(**{name: "q" * (shortest - 1)})
    assert mentions(warning, f"{name} ", str(shortest))
    assert "qq" not in warning
    assert warnings(**{name: "q" * shortest}) == []


def test_a_setting_declares_the_least_length_of_its_values_and_shorter_ones_are_warned_of():
    code = Variable("BELL_CODE", text, "", "Code.", min_length=6)
    short, long = (Settings.load([code], environ={**GOOD, "BELL_CODE": value}) for value in ("zebra", "zebras"))
    assert validate_security(short) == ["BELL_CODE has fewer than 6 characters; choose a longer, random one"]
    assert validate_security(long) == []


def test_every_secret_that_takes_such_a_value_is_looked_at():
    secrets = [v.name for v in settings().variables if v.secret]
    unguarded = []
    for name in secrets:
        try:
            found = warnings(**{name: "changeme"})
        except ConfigError:
            continue  # its form refuses it
        if not any(warning.startswith(f"{name} ") for warning in found):
            unguarded.append(name)
    assert unguarded == []


def test_a_password_in_the_address_of_redis_is_looked_at_too():
    (warning,) = warnings(REDIS_URL="redis://:changeme@redis.example:6379/0")
    assert warning.startswith("REDIS_URL ")
    assert "changeme" not in warning
    assert warnings(REDIS_URL="redis://:admin%40home@redis.example:6379/0") == []
    assert warnings(REDIS_URL="redis://[::1") == []  # connecting tells that it is no address


def test_a_login_name_may_be_the_name_of_the_program():
    assert warnings(SMTP_USER="tocsin", DASHBOARD_USER="test") == []


def test_production_without_https_written_down_is_warned_of():
    (warning,) = warnings(ENVIRONMENT="production")
    assert "FORCE_HTTPS=true" in warning


def test_production_with_https_switched_off_is_warned_of_louder():
    (warning,) = warnings(ENVIRONMENT="production", FORCE_HTTPS="false")
    assert warning.startswith("DANGER: FORCE_HTTPS=false")


def test_development_without_https_is_no_warning():
    assert warnings(FORCE_HTTPS="false") == []


def test_unsigned_webhooks_are_warned_of():
    (warning,) = warnings(WEBHOOK_REQUIRE_SIGNATURE="false")
    assert warning.startswith("DANGER: WEBHOOK_REQUIRE_SIGNATURE=false")


def test_an_admin_chat_that_is_a_group_is_warned_of_because_everybody_in_it_decides():
    (warning,) = warnings(BOTCHAT_ADMIN_CHAT_ID="-1001234567890")
    assert warning.startswith("BOTCHAT_ADMIN_CHAT_ID ")
    assert warnings(BOTCHAT_ADMIN_CHAT_ID="1001") == []


def test_a_short_webhook_secret_is_warned_of_without_showing_it():
    (warning,) = warnings(BOTCHAT_WEBHOOK_SECRET="fifteen-chars-x")
    assert mentions(warning, "BOTCHAT_WEBHOOK_SECRET ", "16")
    assert "fifteen" not in warning
    assert warnings(BOTCHAT_WEBHOOK_SECRET="sixteen-chars-xy") == []


def test_production_enforces_https_unless_it_is_switched_off():
    assert not settings().https_enforced
    assert settings(ENVIRONMENT="production").https_enforced
    assert settings(FORCE_HTTPS="true").https_enforced
    assert not settings(ENVIRONMENT="production", FORCE_HTTPS="false").https_enforced


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", " LocalHost "])
def test_loopback_addresses_are_recognised(host: str):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.1", "192.168.1.1", "example.org", "localhost.example.org", "127.0.0.1.nip.io"]
)
def test_everything_else_can_be_reached_from_outside(host: str):
    assert not is_loopback(host)


def test_a_gateway_on_loopback_needs_no_token():
    assert check_gateway_bind(settings(), "127.0.0.1") == []


def test_a_gateway_off_loopback_starts_with_a_token():
    assert check_gateway_bind(settings(GATEWAY_TOKEN="made-up-token-123"), "0.0.0.0") == []


def test_a_gateway_off_loopback_without_a_token_is_refused_with_the_setting_to_add():
    with pytest.raises(ConfigError) as raised:
        check_gateway_bind(settings(), "0.0.0.0")
    assert "0.0.0.0" in str(raised.value)
    assert "GATEWAY_TOKEN" in raised.value.hint


def test_the_refusal_can_be_overridden_and_then_is_a_warning():
    (warning,) = check_gateway_bind(settings(ALLOW_INSECURE_BIND="true"), "0.0.0.0")
    assert mentions(warning, "DANGER: ", "0.0.0.0")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
@pytest.mark.parametrize("env", [{}, {"DASHBOARD_PASS": ""}, {"DASHBOARD_USER": "", "DASHBOARD_PASS": ""}])
def test_a_dashboard_on_loopback_starts_with_or_without_a_login(host: str, env: dict[str, str]):
    assert check_dashboard_bind(settings(**env), host) == []


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, str]:
    """Files that can be read; what is in them is looked at when they are used."""
    files = {"DASHBOARD_TLS_CERT": tmp_path / "cert.pem", "DASHBOARD_TLS_KEY": tmp_path / "key.pem"}
    for path in files.values():
        path.write_text("made up")
    return {name: str(path) for name, path in files.items()}


def test_a_dashboard_off_loopback_starts_with_a_login_and_tls_or_a_trusted_proxy(tls: dict[str, str]):
    assert check_dashboard_bind(settings(**tls), "0.0.0.0") == []
    assert check_dashboard_bind(settings(TRUSTED_PROXIES="10.0.0.1"), "0.0.0.0") == []
    by_hash = {"DASHBOARD_PASS": "", "DASHBOARD_PASS_HASH": HASH, **tls}
    assert check_dashboard_bind(settings(**by_hash), "0.0.0.0") == []


@pytest.mark.parametrize(
    ("env", "problem", "to_set"),
    [
        ({}, "without TLS", ["DASHBOARD_TLS_CERT and DASHBOARD_TLS_KEY", "TRUSTED_PROXIES"]),
        ({"DASHBOARD_PASS": "", "TRUSTED_PROXIES": "10.0.0.1"}, "without a login", ["DASHBOARD_PASS"]),
        ({"DASHBOARD_USER": "", "TRUSTED_PROXIES": "10.0.0.1"}, "without a login", ["DASHBOARD_USER"]),
        ({"DASHBOARD_PASS": ""}, "without a login and without TLS", ["DASHBOARD_PASS", "DASHBOARD_TLS_CERT"]),
    ],
)
def test_a_dashboard_off_loopback_that_is_open_is_refused_with_the_settings_to_add(
    env: dict[str, str], problem: str, to_set: list[str]
):
    with pytest.raises(ConfigError) as raised:
        check_dashboard_bind(settings(**env), "0.0.0.0")
    assert f"the dashboard would listen on 0.0.0.0 {problem}" in str(raised.value)
    assert [name for name in to_set if name not in raised.value.hint] == []
    (warning,) = check_dashboard_bind(settings(ALLOW_INSECURE_BIND="true", **env), "0.0.0.0")
    assert mentions(warning, "DANGER: ", "0.0.0.0")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_settings_of_the_dashboard_that_contradict_each_other_are_refused_everywhere(host: str, tls: dict[str, str]):
    halves = [{name: path} for name, path in tls.items()]
    for env in ({"DASHBOARD_PASS_HASH": HASH}, *halves, {**tls, "DASHBOARD_TLS_KEY": "/nonexistent/key.pem"}):
        with pytest.raises(ConfigError) as raised:
            check_dashboard_bind(settings(ALLOW_INSECURE_BIND="true", **env), host)
        assert raised.value.hint
