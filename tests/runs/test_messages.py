"""The message about an ended run, and when it has a button that repeats the run."""

import pytest
from tests.runs.conftest import order

from tocsin.runs.engine.run_type import RunMessage
from tocsin.runs.model import RunStatus, new_run


@pytest.mark.parametrize(
    ("text", "has_button"),
    [
        ("x" * 3_800, True),
        ("x" * 3_801, False),
        ("&" * 760, True),  # on Slack, an ampersand takes five characters
        ("&" * 761, False),
        ("🔥" * 1_900, True),  # on Telegram, an emoji counts twice
        ("🔥" * 1_901, False),
    ],
)
def test_a_failure_has_a_retry_button_if_the_whole_text_fits_into_one_message(text: str, *, has_button: bool):
    message = RunMessage.about(new_run(order(), RunStatus.FAILED, 1.0), "oncall", text, "jobs", "")
    assert [each["label"] for each in message.content.get("actions", ())] == (["Retry"] if has_button else [])


def test_a_success_has_no_retry_button():
    message = RunMessage.about(new_run(order(), RunStatus.SUCCEEDED, 1.0), "oncall", "done", "jobs", "")
    assert "actions" not in message.content
