"""tokens: create, list and revoke the tokens of scripts and agents."""

import argparse

from tocsin.assembly.program import App
from tocsin.cli.opening import with_app
from tocsin.core.audit.actions import CLI
from tocsin.core.errors import ConfigError
from tocsin.core.records.as_json import to_json
from tocsin.core.scopes import SCOPES
from tocsin.core.time.timestamps import timestamp
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.options import Options, add_subcommands
from tocsin.terminal.output import DONE, FAILED, Console, OutputError
from tocsin.terminal.text import readable
from tocsin.web.access.tokens import ApiToken, ApiTokens, InvalidTokenError

CALLER = Caller(CLI.name)
_SCOPES_HELP = (
    "read: see everything; send: send messages; run: start and change what runs; answer: approve and reject waiting "
    "steps, except of runs that this token started; admin: all of it but answer. May be repeated."
)


def configure_tokens(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `tocsin tokens`."""
    commands = add_subcommands(
        parser,
        {
            "create": "make a token and print it, this once",
            "list": "list the tokens: what each may be used for, and when it last was",
            "revoke": "make a token useless at once",
        },
    )
    parser.epilog = "example: tocsin tokens create backup-script --scope send"
    create, revoke = commands["create"], commands["revoke"]
    create.epilog = "example: tocsin tokens create backup-script --scope send --scope read"
    create.add_argument("name", type=readable, help="how it is called, such as backup-script")
    create.add_argument(
        "--scope", action="append", choices=SCOPES, required=True, metavar="SCOPE", dest="scopes", help=_SCOPES_HELP
    )
    create.set_defaults(run=_create)
    commands["list"].epilog = "example: tocsin tokens list --json"
    commands["list"].set_defaults(run=_list)
    revoke.epilog = "example: tocsin tokens revoke backup-script"
    revoke.add_argument("name", type=readable, help="the name of the token, or its id")
    revoke.add_argument("-y", "--yes", action="store_true", help="do not ask")
    revoke.set_defaults(run=_revoke)


def _create(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> None:
        tokens = _tokens(app)
        token, text = await tokens.create(arguments.name, arguments.scopes, CALLER)
        try:
            out.secret({**to_json(token), "token": text}, "token", only_here=True)
        except OutputError as error:  # the token could not be shown
            await tokens.revoke(token.name, CALLER)
            raise OutputError(f"{error}: the token is revoked, because it cannot be shown again") from None

    try:
        with_app(options, out, work, writes=True)
    except InvalidTokenError as error:
        raise ConfigError(str(error), hint=error.hint) from None
    out.note("This is the only time it is shown. Send it as the header `Authorization: Bearer <token>`.")
    return DONE


def _list(_: argparse.Namespace, options: Options, out: Console) -> int:
    tokens = with_app(options, out, lambda app: _tokens(app).list())
    return out.listing(
        tokens,
        ("name", "scopes", "created", "last used"),
        (_row(token) for token in tokens),
        empty="there is no token; `tocsin tokens create NAME --scope SCOPE` makes one",
    )


def _revoke(arguments: argparse.Namespace, options: Options, out: Console) -> int:
    async def work(app: App) -> ApiToken | None:
        question = f"Revoke the token {arguments.name}? What uses it is refused at once."
        if not arguments.yes and not await out.agreed(question):
            return None
        return await _tokens(app).revoke(arguments.name, CALLER)

    token = with_app(options, out, work, writes=True)
    if token is None:
        out.note("nothing was changed")
        return FAILED
    out.effect_done("the token is revoked")
    return out.answer(token, f"revoked {token.name}")


def _tokens(app: App) -> ApiTokens:
    return ApiTokens(app.database, app.clock, app.audit)


def _row(token: ApiToken) -> tuple[str, ...]:
    used = _day(token.last_used_at) if token.last_used_at else "never"
    return token.name, " ".join(token.scopes), _day(token.created_at), used


def _day(at: float) -> str:
    return (timestamp(at) or "")[:16].replace("T", " ")
