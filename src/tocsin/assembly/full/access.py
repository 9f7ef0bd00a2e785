"""The authentication of the dashboard and the gateway."""

from typing import Any

from tocsin.assembly.program import App
from tocsin.web.access.account import DashboardAccount
from tocsin.web.access.first_steps import FirstStepMarks
from tocsin.web.access.layers import Authentication
from tocsin.web.access.links import SignInLinks
from tocsin.web.access.passwords import PasswordChecks
from tocsin.web.access.sessions import LoginSessions
from tocsin.web.access.sign_in import SignIns
from tocsin.web.access.throttle import LoginThrottle
from tocsin.web.access.tokens import ApiTokens


def open_tokens(app: App) -> ApiTokens:
    """Return the tokens of scripts and agents."""
    return ApiTokens(app.database, app.clock, app.audit)


def open_sign_ins(app: App) -> SignIns:
    throttle = LoginThrottle(app.clock.monotonic)
    return SignIns(
        DashboardAccount(app.settings, app.database, PasswordChecks(), throttle),
        LoginSessions(app.database, app.clock),
        SignInLinks(app.database, app.clock),
        FirstStepMarks(app.database),
        app.audit,
        app.clock.monotonic,
    )


def make_guard(app: App, sign_ins: SignIns) -> Any:
    """Return the authentication layer of the dashboard: a function that wraps an ASGI application."""
    return lambda inner: Authentication(inner, sign_ins, open_tokens(app))


async def sign_in_link(app: App, address: str) -> str:
    """Return a link to the dashboard at `address` that signs in once, within 10 minutes and on this machine."""
    return address.rstrip("/") + await SignInLinks(app.database, app.clock).make()
