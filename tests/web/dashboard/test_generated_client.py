"""A typed client that is generated from the OpenAPI document works against a real dashboard.

Here it has the operations that it calls; `make api-proof` generates and imports all.
"""

from tools.api_clients import main


def test_a_generated_client_signs_in_makes_and_runs_a_job_and_understands_a_problem():
    assert main(["--used"]) == 0
