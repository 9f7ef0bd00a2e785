"""A small run of what `python -m tools.api_fuzz` does at full size."""


def test_no_request_gets_an_answer_that_is_not_documented(tmp_path):
    from tests.web.dashboard.contract.fuzz import fuzz  # not when tests are collected: every worker does that

    report = fuzz(tmp_path, calls=60, first_seed=7)
    assert not report.findings, "\n".join(f"{what}: {request}" for what, request in report.findings.items())
    assert report.calls == 60
