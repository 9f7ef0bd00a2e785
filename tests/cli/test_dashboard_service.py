"""`tocsin dashboard` as a process of its own."""

import base64
import json
import signal

from tests.cli.conftest import Cli, wait_until_it_listens
from tests.http_calls import http_call
from tests.ports import free_port
from tests.waiting import PATIENCE_S

LOGIN = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "a-long-random-password"}


def ask(url: str, user: str = "", password: str = "") -> tuple[int, bytes]:
    pair = base64.b64encode(f"{user}:{password}".encode()).decode()
    answer = http_call(url, **({"Authorization": f"Basic {pair}"} if user else {}))
    return answer.status, answer.body


def test_it_serves_pages_and_api_to_who_signs_in_and_ends_at_sigterm(cli: Cli):
    port = str(free_port())
    with cli.running("dashboard", env={**LOGIN, "DASHBOARD_PORT": port}) as child:
        wait_until_it_listens(child)
        base = f"http://127.0.0.1:{port}"
        assert b"<html" in ask(base)[1]
        assert ask(f"{base}/api/status")[0] == 401
        status, body = ask(f"{base}/api/status", "anna", LOGIN["DASHBOARD_PASS"])
        assert (status, len(json.loads(body)["subsystems"])) == (200, 10)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=PATIENCE_S)
        assert child.returncode == 0


def test_without_a_login_it_says_which_settings_to_add(cli: Cli):
    port = str(free_port())
    with cli.running("dashboard", env={"DASHBOARD_PORT": port}) as child:
        wait_until_it_listens(child)
        status, body = ask(f"http://127.0.0.1:{port}/api/status")
        assert (status, json.loads(body)["code"]) == (503, "not-ready")
        assert "DASHBOARD_USER" in json.loads(body)["detail"]
        assert ask(f"http://127.0.0.1:{port}/health")[0] == 200
