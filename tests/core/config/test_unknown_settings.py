"""Names that look like a setting and are none are told with their place; those of other programs are not."""

from pathlib import Path

import pytest
from tests.facts import mentions

from tocsin.assembly.light import load_settings
from tocsin.core.config.core_variables import STORE
from tocsin.core.config.unknown_settings import UnknownSetting, unknown_settings

# What shells, sessions, CI, containers, orchestrators and other people's programs set.
ORDINARY = """
PATH HOME USER LOGNAME SHELL LANG LC_ALL TERM TERM_PROGRAM TERM_PROGRAM_VERSION PWD OLDPWD SHLVL EDITOR PAGER _
HOSTNAME HOSTTYPE OSTYPE TMPDIR TZ MAIL DISPLAY WAYLAND_DISPLAY XAUTHORITY COLORTERM COLORFGBG LS_COLORS LINES COLUMNS
XDG_RUNTIME_DIR XDG_DATA_HOME XDG_DATA_DIRS XDG_CONFIG_DIRS XDG_SESSION_ID DBUS_SESSION_BUS_ADDRESS DESKTOP_SESSION
SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY GPG_AGENT_INFO SUDO_USER SUDO_UID SUDO_COMMAND
INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID NOTIFY_SOCKET LISTEN_FDS CREDENTIALS_DIRECTORY STATE_DIRECTORY
VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONUNBUFFERED PIP_INDEX_URL UV_CACHE_DIR POETRY_HOME PYENV_ROOT
NODE_ENV NODE_OPTIONS NPM_TOKEN npm_config_registry NVM_DIR JAVA_HOME GOPATH GOPROXY CARGO_HOME RUST_LOG
HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy ALL_PROXY SSL_CERT_FILE REQUESTS_CA_BUNDLE
FORCE_COLOR NO_COLOR CLICOLOR CLICOLOR_FORCE PY_COLORS DEBIAN_FRONTEND LESSOPEN HISTFILE HISTSIZE PS1 IFS
CI GITHUB_TOKEN GITHUB_ACTIONS GITHUB_ENV GITLAB_CI CI_JOB_TOKEN RUNNER_OS RUNNER_TEMP BUILD_NUMBER JENKINS_URL
AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AZURE_CLIENT_ID GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG
DOCKER_HOST COMPOSE_PROJECT_NAME KUBECONFIG KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP_ADDR
GATEWAY_SERVICE_HOST GATEWAY_SERVICE_PORT GATEWAY_SERVICE_PORT_HTTP GATEWAY_PORT_8100_TCP GATEWAY_PORT_8100_TCP_ADDR
DASHBOARD_PORT_8200_TCP_PROTO REDIS_PORT_6379_TCP REDIS_SERVICE_HOST REDIS_MASTER_SERVICE_PORT
DATABASE_URL DATABASE_HOST POSTGRES_USER POSTGRES_PASSWORD POSTGRES_HOST PGHOST PGPASSWORD MYSQL_ROOT_PASSWORD
REDIS_HOST REDIS_PORT REDIS_PASSWORD REDIS_DB REDIS_TLS REDIS_USERNAME MEMCACHED_SERVERS ALLOW_EMPTY_PASSWORD
DJANGO_SETTINGS_MODULE ALLOWED_HOSTS SECRET_KEY DEBUG FLASK_APP FLASK_ENV APP_ENV RAILS_ENV APP_ENVIRONMENT
LOG_DIR LOG_FILE LOG_PATH LOGLEVEL_ROOT LOG_COLORS SENTRY_DSN DD_AGENT_HOST OTEL_EXPORTER_OTLP_PROTOCOL
SLACK_BOT_TOKEN SLACK_WEBHOOK_URL TELEGRAM_BOT_TOKEN DISCORD_TOKEN WEBHOOK_URL WEBHOOK_PORT MAIL_HOST MAIL_PORT
OPENAI_ORG_ID OPENAI_ORGANIZATION OPENAI_PROJECT OPENAI_MODEL OPENAI_API_BASE OPENAI_API_BASE_URL OPENAI_API_TYPE
OPENAI_API_VERSION ANTHROPIC_MODEL ANTHROPIC_AUTH_TOKEN ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_LOG OLLAMA_HOST
VAULT_ADDR VAULT_TOKEN VOICE_MODEL TRUSTED_HOSTS TRUSTED_PROXY RATE_LIMIT AUDIT_LOG ENVIRONMENT_NAME
GATEWAY_INTERFACE SERVER_SOFTWARE REQUEST_METHOD QUERY_STRING SERVER_PORT REMOTE_ADDR HOST PORT TOKEN USERNAME
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def look(env_text: str = "", **environ: str) -> list[UnknownSetting]:
        (tmp_path / ".env").write_text(env_text)
        settings, _ = load_settings(environ={"TOCSIN_DATA_DIR": str(tmp_path), **environ})
        return list(unknown_settings(settings))

    return look


def test_an_older_name_still_counts_and_is_told_with_the_name_of_today(found, tmp_path: Path):
    (unknown,) = found("\nDELIVERY_BACKEND=redis\n")
    assert mentions(str(unknown), f"{tmp_path}/.env:2: DELIVERY_BACKEND", "STORE")
    assert "STORE" in unknown.hint
    settings, _ = load_settings(environ={"TOCSIN_DATA_DIR": str(tmp_path)})
    assert settings[STORE] == "redis"
    assert settings.sources[STORE.name] == f"{tmp_path}/.env (DELIVERY_BACKEND)"
    settings, _ = load_settings(environ={"TOCSIN_DATA_DIR": str(tmp_path), "STORE": "sqlite"})
    assert settings[STORE] == "sqlite"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("GATEWAY_PROT", "GATEWAY_PORT"),
        ("GATWAY_PORT", "GATEWAY_PORT"),
        ("TEAMCHAT_BOT_TOKNE", "TEAMCHAT_BOT_TOKEN"),
        ("TEMCHAT_BOT_TOKEN", "TEAMCHAT_BOT_TOKEN"),
        ("TEAMCHAT_TOKEN", "TEAMCHAT_BOT_TOKEN"),
        ("BOTCHAT_BOT_TOKEN_FIEL", "BOTCHAT_BOT_TOKEN_FILE"),
        ("GUILDCHAT_PUBLICKEY", "GUILDCHAT_PUBLIC_KEY"),
        ("DASHBOARD_PASSWORD", "DASHBOARD_PASS"),
        ("SMTP_PASSWORD", "SMTP_PASS"),
        ("DELIVERY_WORKER", "DELIVERY_WORKERS"),
        ("DEVICEMSG_SERVCE", "DEVICEMSG_SERVICE"),
        ("CHAT_PROVIDR", "CHAT_PROVIDER"),
        ("TOCSIN_DATADIR", "TOCSIN_DATA_DIR"),
        ("ALOWED_CHAT_IDS", "ALLOWED_CHAT_IDS"),
        ("ENVIROMENT", "ENVIRONMENT"),
        ("REDIS_ULR", "REDIS_URL"),
        ("LOG_LEVLE", "LOG_LEVEL"),
        ("gateway_port", "GATEWAY_PORT"),
        ("GATEWAY-PORT", "GATEWAY_PORT"),
        ("GATEWAY_PORT_FILE", "GATEWAY_PORT"),
        ("TOCSIN_HOME", "TOCSIN_DATA_DIR"),
        ("TOCSIN_XYZZY", ""),
    ],
)
def test_a_name_that_looks_like_a_setting_is_told_with_the_one_that_was_meant(found, name: str, meant: str):
    (unknown,) = found(**{name: "8101"})
    assert (unknown.name, unknown.meant) == (name, meant)
    assert mentions(str(unknown), "environment: ", name)
    assert unknown.hint == (f"did you mean {meant}?" if meant else "`tocsin config show --all` lists all settings")


def test_names_of_other_programs_are_not_told(found):
    names = ORDINARY.split()
    assert found(**dict.fromkeys(names, "1")) == []
    assert found("".join(f"{name}=1\n" for name in names)) == []


def test_every_setting_and_every_file_of_a_secret_is_known(found, tmp_path: Path):
    settings, _ = load_settings(environ={"TOCSIN_DATA_DIR": str(tmp_path)})
    names = [v.name for v in settings.variables] + [f"{v.name}_FILE" for v in settings.variables if v.secret]
    # Empty ones are not set, and so are no mistake either.
    assert found(**dict.fromkeys(names, ""), GATEWAY_PROT="") == []
    (tmp_path / "secret").write_text("made-up")
    assert found(GATEWAY_TOKEN_FILE=str(tmp_path / "secret"), GATEWAY_PORT="8101") == []


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_name_of_a_dotenv_has_its_line(found, tmp_path: Path, line_end: str):
    lines = ["# first", "", "  ", "SMTP_USER='two", "lines'", "", "GATEWAY_PROT=8101", "export REDIS_ULR=off"]
    unknown = found(line_end.join(lines))
    assert [
        mentions(str(one), place, name)
        for one, (place, name) in zip(
            unknown,
            [
                (f"{tmp_path}/.env:7: ", "GATEWAY_PROT"),
                (f"{tmp_path}/.env:8: ", "REDIS_ULR"),
            ],
            strict=True,
        )
    ] == [True, True]


def test_a_near_name_is_told_only_while_the_setting_is_missing(found):
    assert [one.meant for one in found(REDIS_URI="redis://elsewhere")] == ["REDIS_URL"]
    assert found(REDIS_URI="redis://elsewhere", REDIS_URL="redis://here") == []
    assert [one.meant for one in found(GATEWAY_PROT="8101", GATEWAY_PORT="8100")] == ["GATEWAY_PORT"]
