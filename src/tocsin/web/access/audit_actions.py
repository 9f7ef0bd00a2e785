"""The audit actions of access to the dashboard and the gateway."""

from tocsin.core.audit.actions import ACTOR, IP, OUTCOME, REASON, REQUEST_ID, AuditAction, AuditField

TOKEN = AuditField("token", "name of the token")
TOKEN_SCOPES = AuditField("scopes", "scopes of the token")
TOKEN_PROFILES = AuditField("profiles", "the only profiles that the token may send to")
MEANS = AuditField("means", "credentials: `password`, `basic` (in the request of a script) or `link`")

TOKEN_CREATE = AuditAction(
    "token.create",
    "An API token was created.",
    (TOKEN, TOKEN_SCOPES),
    (TOKEN_PROFILES,),
    note="The token itself is not recorded.",
)
TOKEN_REVOKE = AuditAction("token.revoke", "An API token was revoked.", (TOKEN,))

DASHBOARD_LOGIN = AuditAction(
    "dashboard.login", "A person signed in, and a session started.", (ACTOR, IP, REQUEST_ID, OUTCOME, MEANS)
)
DASHBOARD_LOGIN_FAILED = AuditAction(
    "dashboard.login_failed",
    "A login failed. Attempts that are rejected unchecked, after too many wrong passwords or because a "
    "script repeats itself, are recorded once a minute per address, and at most 60 times a minute in "
    "total.",
    (IP, REQUEST_ID, OUTCOME, MEANS, REASON),
    optional=(ACTOR,),
    note="`actor` is set only for the existing user name, because people type passwords into this field by mistake.",
)
DASHBOARD_LOGOUT = AuditAction("dashboard.logout", "A person signed out.", (ACTOR, IP, REQUEST_ID, OUTCOME))
