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
from tests.chaos.limits import keep_the_pace

pytestmark = pytest.mark.timeout(240)


def test_whatever_a_provider_does_to_a_message_ends_as_documented(tmp_path: Path):
    must_be_met(survive_provider_faults(tmp_path))


def test_retry_after_is_never_undercut_and_exceeded_by_a_second_at_most(tmp_path: Path):
    must_be_met(honour_retry_after(tmp_path, messages=100))


def test_the_three_http_providers_may_throttle_break_and_hang_up(tmp_path: Path):
    must_be_met(survive_real_providers(tmp_path))


def test_a_mail_session_may_break_at_every_step_and_untrusted_servers_get_nothing(tmp_path: Path):
    must_be_met(survive_mail_faults(tmp_path))


def test_a_provider_that_enforces_its_rates_has_no_reason_to_refuse(tmp_path: Path):
    # A busy machine delivers some requests late, and the next one then seems early to the provider.
    must_be_met(keep_the_pace(tmp_path, seconds=6, refused_share=0.03, used_share=0.5))
