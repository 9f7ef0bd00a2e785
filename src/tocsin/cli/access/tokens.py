"""tokens: create, list and revoke the tokens of scripts and agents."""

import argparse

from tocsin.assembly.profiles import checked_profiles
from tocsin.assembly.program import App
from tocsin.cli.running import with_app
from tocsin.core.audit.actions import CLI
from tocsin.core.errors import ConfigError
from tocsin.core.records.as_json import to_json
from tocsin.core.records.table import short_time
from tocsin.core.scopes import SCOPES
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, Console, OutputError
from tocsin.terminal.text import readable
from tocsin.web.access.tokens import ApiToken, ApiTokens, InvalidTokenError

CALLER = Caller(CLI.name)
_SCOPES_HELP = (
    "permission of the token; may be repeated. read: read everything; send: send messages; run: start and "
    "change runs; answer: approve and reject waiting steps, except those of runs that this token started; "
    "admin: everything except answer"
)


def configure_tokens(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin tokens`."""
    commands = add_subcommands(
        parser,
        {
            "create": "create a token and print it once",
            "list": "list the tokens with their scopes and last use",
            "revoke": "revoke a token",
        },
    )
    parser.epilog = "example: tocsin tokens create backup-script --scope send"
    create, revoke = commands["create"], commands["revoke"]
    create.epilog = "example: tocsin tokens create backup-script --scope send --scope read"
    create.add_argument("name", type=readable, help="name of the token, for example backup-script")
    create.add_argument(
        "--scope", action="append", choices=SCOPES, required=True, metavar="SCOPE", dest="scopes", help=_SCOPES_HELP
    )
    create.add_argument(
        "--profiles",
        type=readable,
        default="",
        metavar="NAMES",
        help="the only profiles that the token may send to, divided by commas (default: it may send to every target)",
    )
    create.set_defaults(run=_create)
    commands["list"].epilog = "example: tocsin tokens list --json"
    commands["list"].set_defaults(run=_list)
    revoke.epilog = "example: tocsin tokens revoke backup-script"
    revoke.add_argument("name", type=readable, help="name or ID of the token")
    revoke.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    revoke.set_defaults(run=_revoke)


def _create(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    only = _split(arguments.profiles)

    async def work(app: App) -> set[str]:
        tokens = _tokens(app)
        token, text = await tokens.create(arguments.name, arguments.scopes, CALLER, only)
        try:
            out.secret({**to_json(token), "token": text}, "token", only_here=True)
        except OutputError as error:  # the token could not be shown
            await tokens.revoke(token.name, CALLER)
            raise OutputError(f"{error}: the token was revoked, because it cannot be shown again") from None
        return {profile.name for profile in checked_profiles(app)} if only else set()

    try:
        known = with_app(options, out, work, writes=True)
    except InvalidTokenError as error:
        raise ConfigError(str(error), hint=error.hint) from None
    if unknown := [name for name in only if name not in known]:
        out.note(f"No profile has this name yet: {', '.join(unknown)}. `tocsin profiles` shows those that exist.")
    if {"read", "send"} <= {*arguments.scopes} and not only:
        out.note("An agent with this token can send what it reads to any target. `--profiles` limits where it sends.")
    out.note("The token is shown only now. Send it in the header `Authorization: Bearer <token>`.")
    return DONE


def _list(_: argparse.Namespace, options: Options, out: Console) -> int:
    tokens = with_app(options, out, lambda app: _tokens(app).list())
    return out.listing(
        tokens,
        ("name", "scopes", "created", "last used"),
        (_row(token) for token in tokens),
        empty="no tokens exist; create one with `tocsin tokens create NAME --scope SCOPE`",
    )


def _revoke(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> ApiToken:
        question = f"Revoke the token {arguments.name}? Its requests will be rejected immediately."
        await out.confirm(question, yes=arguments.yes)
        return await _tokens(app).revoke(arguments.name, CALLER)

    token = with_app(options, out, work, writes=True)
    out.effect_done("the token was revoked")
    return out.answer(token, f"revoked {token.name}")


def _split(names: str) -> list[str]:
    return [each.strip() for each in names.split(",") if each.strip()]


def _tokens(app: App) -> ApiTokens:
    return ApiTokens(app.database, app.clock, app.audit)


def _row(token: ApiToken) -> tuple[str, ...]:
    used = short_time(token.last_used_at) if token.last_used_at else "never"
    return token.name, " ".join(token.scopes), short_time(token.created_at), used
