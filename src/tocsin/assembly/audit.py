"""The audit trail of a data directory."""

from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.config.core_variables import AUDIT_REDACT
from tocsin.core.config.settings import Settings


def audit_trail(settings: Settings) -> AuditTrail:
    """Return the audit trail of the data directory; nothing is opened."""
    path = settings.data_dir / "audit.log"
    if not settings[AUDIT_REDACT]:
        return AuditTrail(AuditLog(path))
    return AuditTrail(AuditLog(path, redact=settings.redact, masks_all=settings.masks_all))
