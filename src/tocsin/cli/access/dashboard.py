"""dashboard: hash the password with which people sign in."""

import argparse

from tocsin.core.errors import ConfigError
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console

MAX_PASSWORD_BYTES = 1024


def configure_dashboard(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin dashboard`."""
    commands = add_subcommands(parser, {"hash-password": "print the hash of a password, for DASHBOARD_PASS_HASH"})
    parser.epilog = "example: tocsin dashboard hash-password"
    hashing = commands["hash-password"]
    hashing.description = (
        "Ask for a password twice, or read it from standard input, and print the line for a .env file with its hash.\n"
        "DASHBOARD_PASS must not be set beside it."
    )
    hashing.epilog = (
        "examples:\n  tocsin dashboard hash-password\n  pass show dashboard | tocsin dashboard hash-password"
    )
    hashing.set_defaults(run=_hash_password)


def _hash_password(_: argparse.Namespace, __: Options, out: Console) -> int:
    from tocsin.terminal.secret_input import secret_input
    from tocsin.web.access.passwords import hash_password

    password = secret_input("Password", MAX_PASSWORD_BYTES)
    if not password:
        raise ConfigError("the password is empty", hint="enter one that nobody guesses")
    hashed = hash_password(password)
    if out.as_json:
        out.document({"name": "DASHBOARD_PASS_HASH", "value": hashed})
    out.line(f"DASHBOARD_PASS_HASH='{hashed}'")  # quoted: some readers of env files expand what begins with $
    return DONE
