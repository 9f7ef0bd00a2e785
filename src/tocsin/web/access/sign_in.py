"""Signing in and out, and authentication by session or password; attempts are recorded in the audit log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.security import is_loopback
from tocsin.core.errors import TocsinError
from tocsin.web.access.account import DashboardAccount, LoginMissingError, TooManyLoginsError, WrongLoginError
from tocsin.web.access.audit_actions import DASHBOARD_LOGIN, DASHBOARD_LOGIN_FAILED, DASHBOARD_LOGOUT
from tocsin.web.access.first_steps import SIGN_IN, FirstStepMarks
from tocsin.web.access.links import SignInLinks
from tocsin.web.access.sessions import LoginSession, LoginSessions
from tocsin.web.http.refusals import RefusalLog

SOURCE = "dashboard"


class Visitor(NamedTuple):
    """The origin of a request."""

    address: str
    request_id: str


class SpentLinkError(TocsinError):
    """The link was used, has expired, never existed, or was opened on another machine."""

    code = "invalid-credentials"


class SignIns:
    """Signs people in and out of the dashboard, and authenticates scripts that send name and password per request."""

    def __init__(
        self,
        account: DashboardAccount,
        sessions: LoginSessions,
        links: SignInLinks,
        steps: FirstStepMarks,
        audit: AuditTrail,
        monotonic: Callable[[], float],
    ) -> None:
        self._account = account
        self._sessions = sessions
        self._links = links
        self._steps = steps
        self._audit = audit
        self._unseen = RefusalLog(monotonic)

    def require_configured(self) -> None:
        """Raise LoginMissingError, with the settings to add, if there is no login."""
        self._account.require_configured()

    @property
    def user(self) -> str:
        """The user name of the account; empty if there is none."""
        return self._account.user

    async def is_kept(self) -> bool:
        """Return True if the present name and password were entered in the login form at least once.

        Until then, only the settings contain them: a link signs in without them.
        """
        try:
            self._account.require_configured()
        except LoginMissingError:
            return False
        return await self._steps.get(SIGN_IN) == await self._account.credential()

    async def by_password(
        self, name: str, password: str, visitor: Visitor, *, remember: bool = False, replacing: str = ""
    ) -> LoginSession:
        """Start a session that replaces the browser's present one.

        Raises WrongLoginError, TooManyLoginsError and LoginMissingError.
        """
        with self._recorded("password", name, visitor):
            await self._account.check(name, password, visitor.address)
        await self._steps.put(SIGN_IN, await self._account.credential())
        return await self._begin("password", visitor, remember=remember, replacing=replacing)

    async def by_link(self, code: str, visitor: Visitor, *, replacing: str = "") -> LoginSession:
        """Start a session with a link, which is used up. Raises SpentLinkError and LoginMissingError."""
        self.require_configured()
        with self._recorded("link", "", visitor):
            # A link opened on another machine is used up as well: it was disclosed there.
            if not await self._links.take(code) or not is_loopback(visitor.address):
                raise SpentLinkError(
                    "this sign-in link is no longer valid",
                    hint="a link works once, within 10 minutes, on its own machine",
                )
        return await self._begin("link", visitor, remember=False, replacing=replacing)

    async def by_basic(self, name: str, password: str, visitor: Visitor) -> str:
        """Return the user of Basic credentials; raises the errors of `by_password`."""
        with self._recorded("basic", name, visitor):
            await self._account.check_basic(name, password, visitor.address)
        return self._account.user

    async def find(self, session_id: str) -> LoginSession | None:
        """Return the session of a cookie; `None` if it has ended. Raises LoginMissingError."""
        self.require_configured()
        return await self._sessions.find(session_id, await self._account.credential())

    async def is_open(self, session_id: str) -> bool:
        """Return True if a session has not ended, without extending it."""
        return await self._sessions.find(session_id, await self._account.credential(), use=False) is not None

    async def sign_out(self, session_id: str, visitor: Visitor) -> None:
        """End a session; a session that has ended already is ignored."""
        if user := await self._sessions.end(session_id):
            self._record(DASHBOARD_LOGOUT, f"{user} signed out", visitor, actor=user, outcome="ok")

    async def _begin(self, means: str, visitor: Visitor, *, remember: bool, replacing: str) -> LoginSession:
        user = self._account.user
        session = await self._sessions.start(
            user, await self._account.credential(), remember=remember, replacing=replacing
        )
        self._record(DASHBOARD_LOGIN, f"{user} signed in", visitor, actor=user, outcome="ok", means=means)
        return session

    @contextmanager
    def _recorded(self, means: str, name: str, visitor: Visitor) -> Iterator[None]:
        """Record rejections within the block."""
        try:
            yield
        except (WrongLoginError, TooManyLoginsError, SpentLinkError) as error:
            unseen = isinstance(error, TooManyLoginsError) or (isinstance(error, WrongLoginError) and error.repeated)
            if not unseen or self._unseen.admits(visitor.address, error.code):
                facts = {"outcome": "denied", "means": means, "reason": str(error)}
                actor = {"actor": name} if name and name == self._account.user else {}
                self._record(DASHBOARD_LOGIN_FAILED, "a login failed", visitor, **actor, **facts)
            raise

    def _record(self, action: AuditAction, detail: str, visitor: Visitor, **facts: str) -> None:
        origin = {"ip": visitor.address, "request_id": visitor.request_id}
        self._audit.record(action, detail, source=SOURCE, metadata={**origin, **facts})
