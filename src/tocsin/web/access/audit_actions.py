"""The audit entries about who may use the dashboard and the gateway."""

from tocsin.core.audit.actions import AuditAction, AuditField

TOKEN = AuditField("token", "the name of the token")
TOKEN_SCOPES = AuditField("scopes", "what the token may be used for")

TOKEN_CREATE = AuditAction("token.create", "A token was made.", (TOKEN, TOKEN_SCOPES), note="never the token itself")
TOKEN_REVOKE = AuditAction("token.revoke", "A token was made useless.", (TOKEN,))
