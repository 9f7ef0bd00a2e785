"""The maximum age of secrets: the policies file, and its result for one secret."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tocsin.core.reading.fields import Field, IntegerType, MappingType, RecordType
from tocsin.core.records.marks import Private, Time, after
from tocsin.features.vault.model import MAX_NAME, Secret

FILE_NAME = "rotation_policies.yaml"
DEFAULT_MAX_AGE_DAYS = 90
WARN_SHARE = 0.8  # of the maximum age
MAX_DAYS = 36_500
_DAY_S = 86_400.0


class RotationState(StrEnum):
    """Whether a secret is due for rotation."""

    OK = "ok"
    WARNING = "warning"  # at 80 % of its maximum age
    EXPIRED = "expired"  # at 100 %


class RotationPolicies(NamedTuple):
    """The maximum age of secrets in days: the default, and overrides by name."""

    default_max_age_days: int = DEFAULT_MAX_AGE_DAYS
    by_name: Mapping[str, int] = MappingProxyType({})

    def max_age_days(self, name: str) -> int:
        """Return the maximum age of a secret."""
        return self.by_name.get(name, self.default_max_age_days)


class SecretAgeRecord(NamedTuple):
    """Age of a secret."""

    name: str
    status: RotationState
    age_days: int  # whole days
    max_age_days: int
    created_at: Private[Time]
    rotated_at: Private[Time]

    @property
    @after("max_age_days")
    def warn_at(self) -> Time:
        """The time at which it becomes a warning."""
        return self.rotated_at + self.max_age_days * _DAY_S * WARN_SHARE

    @property
    @after("max_age_days")
    def expires_at(self) -> Time:
        """The time at which it expires."""
        return self.rotated_at + self.max_age_days * _DAY_S


class RotationRecord(NamedTuple):
    """Number of secrets by state, and the age of each secret."""

    ok: int
    warning: int
    expired: int
    items: Sequence[SecretAgeRecord]


def compute_age(name: str, secret: Secret, policies: RotationPolicies, now: float) -> SecretAgeRecord:
    """Return the age of a secret under the policies; a time in the future counts as now."""
    age_s, limit = max(0.0, now - secret.rotated_at), policies.max_age_days(name)
    share = age_s / (limit * _DAY_S)
    state = RotationState.EXPIRED if share >= 1 else RotationState.WARNING if share >= WARN_SHARE else RotationState.OK
    return SecretAgeRecord(name, state, int(age_s // _DAY_S), limit, secret.created_at, secret.rotated_at)


def count_by_state(ages: Sequence[SecretAgeRecord]) -> RotationRecord:
    """Return how many of these secrets are in each state."""
    ok, warning, expired = (sum(age.status is state for age in ages) for state in RotationState)
    return RotationRecord(ok, warning, expired, ages)


def policies_type() -> RecordType:
    """Return the type that reads the policies file."""
    days = IntegerType(1, MAX_DAYS)
    secret = RecordType((Field("max_age_days", days, required=True, doc="Days after which the secret expires"),))
    names = MappingType(
        secret, rf"[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}", "not a valid secret name: use letters, digits and _"
    )
    return RecordType(
        (
            Field("default_max_age_days", days, default=DEFAULT_MAX_AGE_DAYS, doc="Policy for all other secrets"),
            Field("secrets", names, default={}, doc="By name"),
        )
    )


def parse_policies(content: bytes, path: Path) -> RotationPolicies:
    """Parse the policies file; raise ConfigError with all its errors."""
    from tocsin.core.reading.yaml_file import parse_yaml

    read = parse_yaml(content, path, policies_type().read)
    by_name = {name: each["max_age_days"] for name, each in read["secrets"].items() if each}
    return RotationPolicies(read["default_max_age_days"], by_name)
