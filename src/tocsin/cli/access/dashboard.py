"""dashboard: run it, hash its password, or print a link that signs in once."""

import argparse

from tocsin.assembly.full.access import sign_in_link
from tocsin.assembly.program import App
from tocsin.cli.running import serve, with_app
from tocsin.core.config.core_variables import DASHBOARD_HOST, DASHBOARD_PORT
from tocsin.core.config.security import dashboard_tls, is_loopback, missing_dashboard_login
from tocsin.core.errors import ConfigError, MissingSettingError
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console
from tocsin.terminal.secret_input import secret_input
from tocsin.web.access.passwords import hash_password

MAX_PASSWORD_BYTES = 1024


def configure_dashboard(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin dashboard`; without a subcommand it runs the dashboard."""
    parser.set_defaults(run=serve, parts=frozenset({"dashboard", "scheduler"}))
    commands = add_subcommands(
        parser,
        {
            "hash-password": "print the hash of a password for DASHBOARD_PASS_HASH",
            "link": "print a link that signs in once, on this machine, within 10 minutes",
        },
        required=False,
    )
    parser.epilog = "examples:\n  tocsin dashboard\n  tocsin dashboard hash-password"
    hashing = commands["hash-password"]
    hashing.set_defaults(asks_for_secret=True)
    hashing.description = (
        "Ask twice for a password, or read one line from standard input, and print its hash as a line for a .env\n"
        "file. Remove DASHBOARD_PASS when you use it."
    )
    hashing.epilog = (
        "examples:\n  tocsin dashboard hash-password\n  pass show dashboard | tocsin dashboard hash-password"
    )
    hashing.set_defaults(run=_hash_password)
    commands["link"].epilog = "example: tocsin dashboard link"
    commands["link"].set_defaults(run=_link)


def _hash_password(_: argparse.Namespace, __: Options, out: Console) -> int:
    password = secret_input("Password", MAX_PASSWORD_BYTES)
    if not password:
        raise ConfigError("the password is empty", hint="enter a password that is hard to guess")
    if len(password.splitlines()) > 1:
        raise ConfigError("a password must be one line; standard input has several", hint="remove the extra lines")
    hashed = hash_password(password)
    # Quoted, because some readers of env files expand words that start with $.
    return out.answer({"name": "DASHBOARD_PASS_HASH", "value": hashed}, f"DASHBOARD_PASS_HASH='{hashed}'")


def _link(_: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> str:
        settings = app.settings
        if missing := missing_dashboard_login(settings):
            raise MissingSettingError(
                "no sign-in is configured for the dashboard", hint=f"set {missing}, then start the dashboard again"
            )
        host = settings[DASHBOARD_HOST] if is_loopback(settings[DASHBOARD_HOST]) else "127.0.0.1"
        authority = f"[{host.strip('[]')}]" if ":" in host else host
        scheme = "https" if dashboard_tls(settings) else "http"
        return await sign_in_link(app, f"{scheme}://{authority}:{settings[DASHBOARD_PORT]}")

    out.secret({"name": "link", "value": with_app(options, out, work, writes=True)}, "value", only_here=True)
    out.note("The link works once, on this machine, within 10 minutes.")
    return DONE
