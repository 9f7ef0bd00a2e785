"""Providers that misbehave, in the small size; `make chaos` runs the full one."""

from pathlib import Path

import pytest
from tests.chaos.faults import (
    honour_retry_after,
    survive_mail_faults,
    survive_provider_faults,
    survive_real_providers,
)
from tests.chaos.figures import must_be_met

pytestmark = pytest.mark.timeout(1_200)  # on a machine five times as slow, with others beside it


def test_whatever_a_provider_does_to_a_message_ends_as_documented(tmp_path: Path):
    must_be_met(survive_provider_faults(tmp_path, read_s=5.0))


def test_retry_after_is_never_undercut(tmp_path: Path):
    must_be_met(honour_retry_after(tmp_path, messages=20))


def test_the_three_http_providers_may_throttle_break_and_hang_up(tmp_path: Path):
    must_be_met(survive_real_providers(tmp_path))


def test_a_mail_session_may_break_at_every_step_and_untrusted_servers_get_nothing(tmp_path: Path):
    must_be_met(survive_mail_faults(tmp_path))
