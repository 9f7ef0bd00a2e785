"""The start-up check warns of what is weak and refuses what is open."""

import pytest

from tocsin.channels.registry import discover
from tocsin.core.config.security import check_gateway_bind, is_loopback, validate_security
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError

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
def test_a_missing_login_is_no_warning_while_there_is_no_dashboard(name: str):
    assert warnings(**{name: ""}) == []


@pytest.mark.parametrize("value", ["admin", "password", "changeme", "ChangeMe", " ADMIN "])
@pytest.mark.parametrize(
    "name", ["DASHBOARD_USER", "DASHBOARD_PASS", "GATEWAY_TOKEN", "SMTP_USER", "SMTP_PASS", "BOTCHAT_WEBHOOK_SECRET"]
)
def test_a_value_that_everybody_tries_first_is_warned_of_once_without_showing_it(name: str, value: str):
    (warning,) = warnings(**{name: value})
    assert warning.startswith(f"{name} has a value that everybody tries first")
    assert value.strip() not in warning


def test_every_secret_that_takes_such_a_value_is_looked_at():
    secrets = [v.name for v in settings().variables if v.secret]
    unguarded = []
    for name in secrets:
        try:
            found = warnings(**{name: "changeme"})
        except ConfigError:
            continue  # its form refuses it
        if not any(warning.startswith(f"{name} has a value that everybody tries first") for warning in found):
            unguarded.append(name)
    assert unguarded == []


def test_a_password_in_the_address_of_redis_is_looked_at_too():
    (warning,) = warnings(REDIS_URL="redis://:changeme@redis.example:6379/0")
    assert warning.startswith("REDIS_URL has a password that everybody tries first")
    assert "changeme" not in warning
    assert warnings(REDIS_URL="redis://:admin%40home@redis.example:6379/0") == []
    assert warnings(REDIS_URL="redis://[::1") == []  # connecting tells that it is no address


def test_a_login_name_may_be_the_name_of_the_program():
    assert warnings(SMTP_USER="tocsin", DASHBOARD_USER="test") == []


def test_production_without_https_written_down_is_warned_of():
    (warning,) = warnings(ENVIRONMENT="production")
    assert "FORCE_HTTPS=true is not written down" in warning


def test_production_with_https_switched_off_is_warned_of_louder():
    (warning,) = warnings(ENVIRONMENT="production", FORCE_HTTPS="false")
    assert warning.startswith("DANGER: FORCE_HTTPS=false in production")


def test_development_without_https_is_no_warning():
    assert warnings(FORCE_HTTPS="false") == []


def test_unsigned_webhooks_are_warned_of():
    (warning,) = warnings(WEBHOOK_REQUIRE_SIGNATURE="false")
    assert warning.startswith("DANGER: WEBHOOK_REQUIRE_SIGNATURE=false")


def test_an_admin_chat_that_is_a_group_is_warned_of_because_everybody_in_it_decides():
    (warning,) = warnings(BOTCHAT_ADMIN_CHAT_ID="-1001234567890")
    assert warning.startswith("BOTCHAT_ADMIN_CHAT_ID is a group, and everybody in it may approve")
    assert warnings(BOTCHAT_ADMIN_CHAT_ID="1001") == []


def test_a_short_webhook_secret_is_warned_of_without_showing_it():
    (warning,) = warnings(BOTCHAT_WEBHOOK_SECRET="fifteen-chars-x")
    assert warning.startswith("BOTCHAT_WEBHOOK_SECRET has less than 16 characters; ")
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
    assert "would listen on 0.0.0.0 without a token" in str(raised.value)
    assert "GATEWAY_TOKEN" in raised.value.hint


def test_the_refusal_can_be_overridden_and_then_is_a_warning():
    (warning,) = check_gateway_bind(settings(ALLOW_INSECURE_BIND="true"), "0.0.0.0")
    assert warning.startswith("DANGER: the gateway would listen on 0.0.0.0 without a token")
