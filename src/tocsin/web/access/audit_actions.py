"""The audit actions of access to the dashboard and the gateway."""

from tocsin.core.audit.actions import ACTOR, IP, OUTCOME, REASON, REQUEST_ID, AuditAction, AuditField

TOKEN = AuditField("token", "the name of the token")
TOKEN_SCOPES = AuditField("scopes", "what the token may be used for")
MEANS = AuditField("means", "what was shown: `password`, `basic` (with a request of a script) or `link`")

TOKEN_CREATE = AuditAction("token.create", "A token was made.", (TOKEN, TOKEN_SCOPES), note="never the token itself")
TOKEN_REVOKE = AuditAction("token.revoke", "A token was made useless.", (TOKEN,))

DASHBOARD_LOGIN = AuditAction(
    "dashboard.login", "A person signed in, and a session began.", (ACTOR, IP, REQUEST_ID, OUTCOME, MEANS)
)
DASHBOARD_LOGIN_FAILED = AuditAction(
    "dashboard.login_failed",
    "A login was refused. What is refused unchecked, after too many wrong passwords or because a script repeats"
    " itself, is recorded once a minute for an address, 60 lines in all.",
    (IP, REQUEST_ID, OUTCOME, MEANS, REASON),
    optional=(ACTOR,),
    note="`actor` only for the name that exists, because people type passwords there, too",
)
DASHBOARD_LOGOUT = AuditAction("dashboard.logout", "A person signed out.", (ACTOR, IP, REQUEST_ID, OUTCOME))
