"""The table of the core's own settings. A channel declares its settings in its ChannelSpec.

`.env.example`, the reference page and `tocsin config show` are generated from these tables.
"""

from pathlib import Path
from typing import Any

from tocsin.core.config.addresses import Network, host_names, networks, redis_url
from tocsin.core.config.values import anchor, model_name, pairs, password_hash, people, ratio, time_zone, user_name
from tocsin.core.config.variables import (
    Variable,
    base_url,
    boolean,
    choice,
    directory,
    file_path,
    integer,
    password,
    port,
    text,
    token,
)

DATA_DIR: Variable[Path | None] = Variable(
    "TOCSIN_DATA_DIR",
    directory,
    None,
    "Directory for database, audit log and other state.",
    shown_default="the platform's per-user data directory",
)
ENVIRONMENT = Variable(
    "ENVIRONMENT",
    choice("development", "production"),
    "development",
    "`production` enables HTTPS enforcement.",
)
FORCE_HTTPS: Variable[bool | None] = Variable(
    "FORCE_HTTPS",
    boolean,
    None,
    "Reject plain HTTP requests, unless they come through a trusted proxy that terminates TLS.",
    shown_default="false; true in production",
)
GATEWAY_HOST = Variable("GATEWAY_HOST", text, "127.0.0.1", "Address that the gateway listens on.")
GATEWAY_PORT = Variable("GATEWAY_PORT", port, 8100, "Port that the gateway listens on.")
PUBLIC_URL = Variable(
    "PUBLIC_URL", base_url, "", "Address at which people reach dashboard and gateway, for links in messages."
)
GATEWAY_TOKEN = Variable(
    "GATEWAY_TOKEN",
    token,
    "",
    "Bearer token required to send over HTTP; mandatory unless the gateway listens on loopback.",
    secret=True,
    min_length=16,
)
DASHBOARD_HOST = Variable("DASHBOARD_HOST", text, "127.0.0.1", "Address that the dashboard listens on.")
DASHBOARD_PORT = Variable("DASHBOARD_PORT", port, 8200, "Port that the dashboard listens on.")
DASHBOARD_USER = Variable(
    "DASHBOARD_USER", user_name, "", "User name for the dashboard; there is no default account.", login=True
)
DASHBOARD_PASS = Variable(
    "DASHBOARD_PASS",
    password,
    "",
    "Password for the dashboard.",
    secret=True,
    min_length=8,  # NIST SP 800-63B, because people may have to remember it
)
DASHBOARD_PASS_HASH = Variable(
    "DASHBOARD_PASS_HASH",
    password_hash,
    "",
    "Password hash from `tocsin dashboard hash-password`, instead of DASHBOARD_PASS.",
    secret=True,
)
DASHBOARD_TLS_CERT: Variable[Path | None] = Variable(
    "DASHBOARD_TLS_CERT", file_path, None, "Certificate chain with which the dashboard serves HTTPS."
)
DASHBOARD_TLS_KEY: Variable[Path | None] = Variable(
    "DASHBOARD_TLS_KEY", file_path, None, "Private key of DASHBOARD_TLS_CERT, without a passphrase."
)
FRONT_DOOR_HOST = Variable("FRONT_DOOR_HOST", text, "127.0.0.1", "Address that the front door listens on.")
FRONT_DOOR_PORT = Variable(
    "FRONT_DOOR_PORT", port, 8300, "Port of the front door, which opens once a heartbeat or a door exists."
)
FRONT_DOOR_URL = Variable(
    "FRONT_DOOR_URL",
    base_url,
    "",
    "Address of the front door as other machines reach it, for example that of a proxy.",
    shown_default="http:// or https://, FRONT_DOOR_HOST and FRONT_DOOR_PORT",
)
FRONT_DOOR_TLS_CERT: Variable[Path | None] = Variable(
    "FRONT_DOOR_TLS_CERT", file_path, None, "Certificate chain with which the front door serves HTTPS."
)
FRONT_DOOR_TLS_KEY: Variable[Path | None] = Variable(
    "FRONT_DOOR_TLS_KEY", file_path, None, "Private key of FRONT_DOOR_TLS_CERT, without a passphrase."
)
TRUSTED_PROXIES: Variable[tuple[Network, ...]] = Variable(
    "TRUSTED_PROXIES",
    networks,
    (),
    "Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are trusted.",
    shown_default="none",
)
ALLOWED_HOSTS: Variable[frozenset[str]] = Variable(
    "ALLOWED_HOSTS",
    host_names,
    frozenset(),
    "Host names accepted by services on loopback besides localhost, for example that of a proxy on the same machine.",
    shown_default="none",
)
ALLOW_INSECURE_BIND = Variable(
    "ALLOW_INSECURE_BIND", boolean, False, "Start on a non-loopback address even without the required protection."
)
ALLOW_INSECURE_API_URL = Variable(
    "ALLOW_INSECURE_API_URL", boolean, False, "Allow unencrypted `http://` to a provider on a public address."
)
RATE_LIMIT_PER_IP = Variable(
    "RATE_LIMIT_PER_IP", integer(1, 10**9), 60, "Requests per minute from one address (IPv6: one /64)."
)
RATE_LIMIT_PER_USER = Variable(
    "RATE_LIMIT_PER_USER", integer(1, 10**9), 120, "Requests per minute by one authenticated user."
)
WEBHOOK_RATE_LIMIT = Variable(
    "WEBHOOK_RATE_LIMIT",
    integer(1, 10**9),
    60_000,
    "Verified webhook requests per minute for one channel; unverified ones count against their address.",
)
WEBHOOK_REQUIRE_SIGNATURE = Variable(
    "WEBHOOK_REQUIRE_SIGNATURE", boolean, True, "Reject webhooks without a valid signature; `false` only for debugging."
)
REPLY_BRAKE = Variable(
    "REPLY_BRAKE", integer(1, 10_000), 60, "Replies per minute in one chat; more mute it for 5 minutes: likely a loop."
)
ACTION_PEOPLE: Variable[frozenset[str]] = Variable(
    "ACTION_PEOPLE",
    people,
    frozenset(),
    "People who may start and decide things with buttons, as `channel:ID`; chats that the bot allows may, too.",
)
MAX_PARTS = Variable("MAX_PARTS", integer(1, 10_000), 100, "Maximum parts of a text; longer ones are rejected.")
MAX_FILES_MB = Variable("MAX_FILES_MB", integer(1, 2_000), 50, "Size limit of one message's files, in MiB.")
FILES_QUOTA_MB = Variable("FILES_QUOTA_MB", integer(1, 10**7), 2_000, "Size limit of all files on disk, in MiB.")
FILES_REDIS_MB = Variable("FILES_REDIS_MB", integer(1, 10**6), 256, "Size limit of all files in Redis, in MiB.")
FILES_KEEP_DAYS = Variable("FILES_KEEP_DAYS", integer(0, 3_650), 7, "Days that files are kept after their delivery.")
RUNS_KEEP_FAILED = Variable(
    "RUNS_KEEP_FAILED", integer(0, 100_000), 500, "Failed runs of each subject to keep in addition to the newest 200."
)
AUDIT_REDACT = Variable("AUDIT_REDACT", boolean, True, "Mask known secret values in audit lines.")
AUDIT_KEEP_DAYS = Variable(
    "AUDIT_KEEP_DAYS",
    integer(0, 36500),
    0,
    "Days to keep rotated audit lines; `audit verify` reports younger missing lines. 0 keeps all.",
)
AUDIT_ANCHOR = Variable(
    "AUDIT_ANCHOR",
    anchor,
    "",
    "Where to record the end of the audit chain: a file on another host, or <channel>:<target>.",
)
AUDIT_ANCHOR_EVERY = Variable(
    "AUDIT_ANCHOR_EVERY", integer(10, 10**6), 1000, "Number of audit entries between two anchors."
)
DELIVERY_WORKERS = Variable(
    "DELIVERY_WORKERS",
    integer(0, 1000),
    64,
    "Queued messages per channel that a process sends at the same time; 0 leaves the queue to other processes.",
)
STORE = Variable(
    "STORE",
    choice("sqlite", "redis"),
    "sqlite",
    "Store for messages: `sqlite` for one host, `redis` for several. The former name is `DELIVERY_BACKEND`.",
    former="DELIVERY_BACKEND",
)
DELIVERY_KEEP_DAYS = Variable(
    "DELIVERY_KEEP_DAYS", integer(1, 3650), 30, "Days after which finished deliveries are deleted."
)
REDIS_URL = Variable(
    "REDIS_URL", redis_url, "redis://localhost:6379/0", "URL of Redis, which is used if it responds; `off` disables it."
)
REDIS_WAIT_REPLICAS = Variable(
    "REDIS_WAIT_REPLICAS",
    integer(0, 10),
    0,
    "Number of replicas that must confirm a change; with fewer, new messages are rejected.",
)
CHAT_PROVIDER = Variable(
    "CHAT_PROVIDER",
    choice("anthropic", "openai"),
    "",
    "Provider of the chat model: `anthropic`, or `openai` for services with an OpenAI-compatible API; "
    "empty disables chat.",
)
CHAT_MODEL = Variable("CHAT_MODEL", model_name, "", "Name of the chat model, as spelled by its provider.")
CHAT_FALLBACK_PROVIDER = Variable(
    "CHAT_FALLBACK_PROVIDER",
    choice("anthropic", "openai"),
    "",
    "Provider used when the chat provider fails; it can be the same provider with another model.",
)
CHAT_FALLBACK_MODEL = Variable("CHAT_FALLBACK_MODEL", model_name, "", "Name of the fallback chat model.")
CHAT_MODEL_FAST = Variable(
    "CHAT_MODEL_FAST",
    model_name,
    "",
    "Model used for `vendor-fast-4` in skills.",
    shown_default="CHAT_MODEL",
)
CHAT_MODEL_CAPABLE = Variable(
    "CHAT_MODEL_CAPABLE",
    model_name,
    "",
    "Model used for `vendor-capable-4` in skills.",
    shown_default="CHAT_MODEL",
)
ANTHROPIC_API_KEY = Variable(
    "ANTHROPIC_API_KEY",
    token,
    "",
    "API key of Anthropic.",
    secret=True,
    shape=r"sk-ant-[A-Za-z0-9_-]{20,}",
)
ANTHROPIC_BASE_URL = Variable(
    "ANTHROPIC_BASE_URL", base_url, "https://api.anthropic.com", "Base URL of the Anthropic API, or of a gateway to it."
)
OPENAI_API_KEY = Variable(
    "OPENAI_API_KEY",
    token,
    "",
    "API key of OpenAI, or of the service at OPENAI_BASE_URL if it requires one.",
    secret=True,
    shape=r"sk-[A-Za-z0-9_-]{20,}",
)
OPENAI_BASE_URL = Variable(
    "OPENAI_BASE_URL",
    base_url,
    "https://api.openai.com/v1",
    "Base URL of the OpenAI API or of a compatible service, for example http://localhost:11434/v1.",
)
VOICE_MODEL_URL = Variable(
    "VOICE_MODEL_URL",
    base_url,
    "",
    "URL from which `tocsin voice install` downloads the speech model; the checksum must match.",
    shown_default="the repository of whisper.cpp",
)
TIME_ZONE = Variable(
    "TZ", time_zone, "", "Time zone of schedules without an explicit one.", shown_default="the system's time zone"
)
LOG_LEVEL = Variable("LOG_LEVEL", choice("debug", "info", "warning", "error"), "info", "Minimum severity of log lines.")
LOG_FORMAT = Variable(
    "LOG_FORMAT",
    choice("auto", "text", "json", "logfmt", "journal"),
    "auto",
    "`auto` writes text to a terminal, lines with their priority to systemd's journal, and JSON lines otherwise.",
)
LOG_FILE: Variable[Path | None] = Variable(
    "LOG_FILE", file_path, None, "File for the log of services; SIGHUP reopens it.", shown_default="standard error"
)
# The names and meanings are those of OpenTelemetry; these are given to its SDK, which reads no `.env` file.
OTEL_EXPORTER_OTLP_ENDPOINT = Variable(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    base_url,
    "",
    "Base URL of an OpenTelemetry collector, to which traces are exported by OTLP over HTTP; empty disables traces.",
)
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = Variable(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    base_url,
    "",
    "Whole URL for traces, if it is not `/v1/traces` below OTEL_EXPORTER_OTLP_ENDPOINT.",
)
OTEL_EXPORTER_OTLP_HEADERS = Variable(
    "OTEL_EXPORTER_OTLP_HEADERS", pairs, "", "Headers for the collector: `Authorization=Bearer%20…`.", secret=True
)
OTEL_SERVICE_NAME = Variable("OTEL_SERVICE_NAME", text, "tocsin", "Name of the service in traces.")
OTEL_RESOURCE_ATTRIBUTES = Variable(
    "OTEL_RESOURCE_ATTRIBUTES", pairs, "", "Further attributes of all spans, for example `deployment.environment=test`."
)
_SAMPLERS = [f"{of}{name}" for of in ("", "parentbased_") for name in ("always_on", "always_off", "traceidratio")]
OTEL_TRACES_SAMPLER = Variable(
    "OTEL_TRACES_SAMPLER", choice(*_SAMPLERS), "parentbased_traceidratio", "Which traces are recorded."
)
OTEL_TRACES_SAMPLER_ARG = Variable(
    "OTEL_TRACES_SAMPLER_ARG", ratio, 1.0, "Share of traces that `traceidratio` records, from 0 to 1."
)
OTEL_SDK_DISABLED = Variable("OTEL_SDK_DISABLED", boolean, False, "Disable traces although an endpoint is set.")

# Every setting of this module, in the order of the documentation.
CORE_VARIABLES: tuple[Variable[Any], ...] = tuple(value for value in vars().values() if isinstance(value, Variable))
