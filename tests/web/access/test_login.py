"""The login over HTTP: what lets callers in, what keeps them out, and what is recorded of that."""

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.web.access.accounts import CHEAP

from tocsin.assembly.full.access import open_tokens, sign_in_link
from tocsin.assembly.full.dashboard import create_dashboard
from tocsin.core.audit.log import AuditEntry
from tocsin.features.notifications.feature import FEATURE
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.dashboard import DashboardAnswer, DashboardClient
from tocsin.testing.fakes import FakeClock
from tocsin.testing.features import FeatureBench, open_feature
from tocsin.web.access.passwords import hash_password

PASSWORD = "schöne made-up grüße"
LOGIN = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS_HASH": hash_password(PASSWORD, CHEAP)}
RIGHT = {"username": "anna", "password": PASSWORD}
WRONG = {"username": "anna", "password": "wrong"}
SOMETHING = "/api/notifications"
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard, a stranger who calls it, and its parts."""

    stranger: DashboardClient
    bench: FeatureBench
    clock: FakeClock

    def audit(self) -> list[AuditEntry]:
        return [e for e in self.bench.app.audit.log.tail(1000) if e.action.startswith("dashboard.")][::-1]

    async def token(self, *scopes: str) -> str:
        _, text = await open_tokens(self.bench.app).create("-".join(scopes), scopes, Caller("cli"))
        return text

    def at(self, peer: str) -> DashboardClient:
        return replace(self.stranger, peer=peer)


MakeDashboard = Callable[[Mapping[str, str]], Any]


@pytest.fixture
async def make_dashboard(tmp_path: Path) -> AsyncIterator[MakeDashboard]:
    async with AsyncExitStack() as stack:

        async def make(env: Mapping[str, str]) -> Dashboard:
            clock = FakeClock()
            bench = await stack.enter_async_context(open_feature(FEATURE, tmp_path, env, clock=clock))
            return Dashboard(DashboardClient(create_dashboard(bench.app, lambda: False), ""), bench, clock)

        yield make


@pytest.fixture
async def dashboard(make_dashboard: MakeDashboard) -> Dashboard:
    return await make_dashboard(LOGIN)


def basic(name: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + b64encode(f"{name}:{password}".encode()).decode()}


def cookie_of(answer: DashboardAnswer) -> dict[str, str]:
    """Return the header of a browser that took the cookie."""
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


def check_problem(answer: DashboardAnswer, status: int, code: str) -> str:
    document = answer.json()
    assert (answer.status, document["code"], document["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert document["request_id"]
    return str(document["detail"])


async def signed_in(client: DashboardClient, **more: object) -> dict[str, str]:
    answer = await client.post("/login", {**RIGHT, **more})
    assert answer.status == 200, answer.body
    return cookie_of(answer)


# The page


async def test_the_page_knows_whether_somebody_is_signed_in_before_its_first_call(make_dashboard: MakeDashboard):
    client = (await make_dashboard(LOGIN)).stranger
    session = await signed_in(client)
    pages = [await client.get("/", **headers) for headers in ({}, session, {"cookie": "session=ended"})]
    assert [b'signed-in" content="yes"' in page.body for page in pages] == [False, True, False]
    etag = pages[0].headers["etag"]
    assert (await client.get("/", if_none_match=etag)).status == 304
    assert (await client.get("/", if_none_match=etag, **session)).status == 200
    # Where nobody can sign in, the first call says why.
    unset = (await make_dashboard({})).stranger
    assert b'signed-in" content="yes"' in (await unset.get("/")).body


# Sign in and out


async def test_signing_in_gives_a_cookie_that_opens_the_api_until_signing_out(dashboard: Dashboard):
    client = dashboard.stranger
    answer = await client.post("/login", RIGHT)
    assert answer.json()["user"] == "anna"
    assert answer.json()["expires_at"] == "2023-11-15T10:13:20.000Z", "12 hours from now"
    assert re.fullmatch(r"session=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict", answer.headers["set-cookie"])
    assert answer.headers["cache-control"] == "no-store"
    cookie = cookie_of(answer)
    assert (await client.get(SOMETHING, **cookie)).status == 200
    left = await client.post("/logout", **cookie)
    assert (left.status, left.body) == (204, b"")
    assert left.headers["set-cookie"] == "session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    check_problem(await client.get(SOMETHING, **cookie), 401, "unauthenticated")
    assert (await client.post("/logout", **cookie)).status == 204, "once more is no error"
    assert (await client.post("/logout")).status == 204


async def test_a_form_leads_to_the_page(dashboard: Dashboard):
    form = b"username=anna&password=sch%C3%B6ne+made-up+gr%C3%BC%C3%9Fe&remember=on"
    answer = await dashboard.stranger.call("POST", "/login", form, headers={"content-type": FORM})
    assert (answer.status, answer.headers["location"]) == (303, "/#/home")
    assert answer.headers["set-cookie"].endswith("; Max-Age=2592000")
    assert (await dashboard.stranger.get(SOMETHING, **cookie_of(answer))).status == 200


async def test_over_tls_the_cookie_is_bound_to_the_host_and_another_one_does_not_count(dashboard: Dashboard):
    browser = replace(dashboard.stranger, scheme="https")
    answer = await browser.post("/login", RIGHT)
    assert answer.headers["set-cookie"].startswith("__Host-session=")
    assert answer.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
    cookie = cookie_of(answer)
    assert (await browser.get(SOMETHING, **cookie)).status == 200
    weaker = {"cookie": cookie["cookie"].removeprefix("__Host-")}
    assert (await browser.get(SOMETHING, **weaker)).status == 401
    assert (await dashboard.stranger.get(SOMETHING, **cookie)).status == 401


async def test_the_cookie_of_a_remembered_session_moves_with_its_end(dashboard: Dashboard):
    client = dashboard.stranger
    cookie = await signed_in(client, remember=True)
    assert "set-cookie" not in (await client.get(SOMETHING, **cookie)).headers
    for _ in range(3):
        dashboard.clock.advance(29 * 86400)
        moved = await client.get(SOMETHING, **cookie)
        assert (moved.status, moved.headers["set-cookie"].rpartition("; ")[2]) == (200, "Max-Age=2592000")
    dashboard.clock.advance(30 * 86400)
    assert (await client.get(SOMETHING, **cookie)).status == 401


async def test_a_session_that_ended_says_so_and_signing_in_again_ends_the_one_before(dashboard: Dashboard):
    client = dashboard.stranger
    first = await signed_in(client)
    second = cookie_of(await client.post("/login", RIGHT, **first))
    assert first != second, "nobody can plant a session that somebody then signs in to"
    detail = check_problem(await client.get(SOMETHING, **first), 401, "unauthenticated")
    assert "has ended" in detail
    dashboard.clock.advance(12 * 3600)
    assert (await client.get(SOMETHING, **second)).status == 401


async def test_a_session_is_of_no_use_where_the_password_is_another_one(make_dashboard: MakeDashboard):
    old = await make_dashboard(LOGIN)
    cookie = await signed_in(old.stranger)
    new = await make_dashboard(LOGIN | {"DASHBOARD_PASS_HASH": hash_password("another", CHEAP)})
    assert (await new.stranger.get(SOMETHING, **cookie)).status == 401
    same = await make_dashboard(LOGIN)
    assert (await same.stranger.get(SOMETHING, **cookie)).status == 200, "a restart alone signs nobody out"


# Other credentials


async def test_basic_credentials_open_the_api_with_umlauts_too(dashboard: Dashboard):
    answer = await dashboard.stranger.get(SOMETHING, **basic("anna", PASSWORD))
    assert answer.status == 200
    assert "set-cookie" not in answer.headers
    assert dashboard.audit() == [], "a script is not recorded with each request"


@pytest.mark.parametrize(
    ("headers", "code", "challenge"),
    [
        ({}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"x-requested-with": "dashboard"}, "unauthenticated", "Session"),
        ({"sec-fetch-dest": "empty"}, "unauthenticated", "Session"),
        ({"sec-fetch-dest": "document"}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"cookie": "session=" + "x" * 43}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"cookie": "a=b; session=ü; c"}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        (basic("anna", "wrong"), "invalid-credentials", 'Basic realm="dashboard", charset="UTF-8"'),
        (basic("nobody", PASSWORD), "invalid-credentials", 'Basic realm="dashboard", charset="UTF-8"'),
        (basic("anna", "wrong") | {"x-requested-with": "dashboard"}, "invalid-credentials", "Session"),
        ({"authorization": "Basic"}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"authorization": "Basic !!"}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"authorization": "Basic YW5uYQ=="}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"authorization": "Basic /zr/"}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"authorization": "Digest x"}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"authorization": ""}, "unauthenticated", 'Basic realm="dashboard", charset="UTF-8"'),
        ({"authorization": "Bearer tcs_" + "a" * 43}, "unauthenticated", 'Bearer realm="dashboard", error='),
        ({"authorization": "Bearer é"}, "unauthenticated", 'Bearer realm="dashboard", error='),
    ],
)
async def test_strangers_get_401_and_how_to_prove_who_they_are(
    dashboard: Dashboard, headers: dict[str, str], code: str, challenge: str
):
    for method, path in [("GET", SOMETHING), ("POST", SOMETHING), ("GET", "/api/nowhere"), ("DELETE", "/api/status")]:
        answer = await dashboard.stranger.call(method, path, headers=headers)
        check_problem(answer, 401, code)
        assert answer.headers["www-authenticate"].startswith(challenge)
    assert (await dashboard.stranger.get("/api/health", **headers)).status == 200


async def test_a_broken_credential_is_not_helped_by_a_good_session(dashboard: Dashboard):
    cookie = await signed_in(dashboard.stranger)
    assert (await dashboard.stranger.get(SOMETHING, **cookie, **basic("anna", "wrong"))).status == 401


async def test_a_token_may_what_its_scopes_say_until_it_is_revoked(dashboard: Dashboard):
    client, notice = dashboard.stranger, {"title": "Backup finished"}
    may: dict[str, tuple[int, int]] = {}
    for scope in ("read", "send", "run", "admin"):
        bearer = {"authorization": f"Bearer {await dashboard.token(scope)}"}
        may[scope] = (
            (await client.get(SOMETHING, **bearer)).status,
            (await client.post(SOMETHING, notice, **bearer)).status,
        )
    assert may == {"read": (200, 403), "send": (403, 403), "run": (403, 201), "admin": (200, 201)}
    bearer = {"authorization": f"bearer {await dashboard.token('read', 'send')}"}
    assert (await client.get(SOMETHING, **bearer)).status == 200
    await open_tokens(dashboard.bench.app).revoke("read-send", Caller("cli"))
    assert (await client.get(SOMETHING, **bearer)).status == 401


async def test_a_token_is_the_actor_of_what_it_does(dashboard: Dashboard):
    token = await dashboard.token("run")
    await dashboard.stranger.post(SOMETHING, {"title": "x"}, authorization=f"Bearer {token}", x_request_id="abc")
    (entry,) = dashboard.bench.audit("notification.create")
    assert entry.metadata.items() >= {"actor": "token:run", "ip": "127.0.0.1", "request_id": "abc"}.items()


async def test_an_administrator_makes_lists_and_revokes_tokens(dashboard: Dashboard):
    admin = replace(dashboard.stranger, headers=basic("anna", PASSWORD))
    made = await admin.post("/api/tokens", {"name": "backup", "scopes": ["send", "read"]}, x_request_id="one")
    assert made.status == 201
    record = made.json()
    bearer = {"authorization": f"Bearer {record.pop('token')}"}
    assert (await dashboard.stranger.get(SOMETHING, **bearer)).status == 200
    (listed,) = (await admin.get("/api/tokens")).json()["items"]
    assert listed == {**record, "last_used_at": record["created_at"]}
    check_problem(await admin.post("/api/tokens", {"name": "backup", "scopes": ["run"]}), 409, "name-taken")
    for body in ({"name": "a b", "scopes": ["run"]}, {"name": "x", "scopes": []}, {"name": "x", "scopes": ["all"]}):
        check_problem(await admin.post("/api/tokens", body), 422, "validation-failed")
    check_problem(await dashboard.stranger.get("/api/tokens", **bearer), 403, "forbidden")
    assert (await admin.call("DELETE", made.headers["location"])).status == 204
    check_problem(await admin.call("DELETE", made.headers["location"]), 404, "not-found")
    assert (await dashboard.stranger.get(SOMETHING, **bearer)).status == 401
    (created,) = dashboard.bench.audit("token.create")
    facts = {"token": "backup", "actor": "anna", "ip": "127.0.0.1", "request_id": "one"}
    assert (created.source, created.metadata.items() >= facts.items()) == ("dashboard", True)
    assert len(dashboard.bench.audit("token.revoke")) == 1


# Wrong passwords


async def test_wrong_name_and_wrong_password_get_the_same_answer(dashboard: Dashboard):
    bodies = []
    for body in (WRONG, {"username": "nobody", "password": PASSWORD}, {"username": "", "password": ""}):
        answer = await dashboard.stranger.post("/login", body, x_request_id="same")
        check_problem(answer, 401, "invalid-credentials")
        assert "set-cookie" not in answer.headers
        bodies.append(answer.body)
    assert len(set(bodies)) == 1


async def test_after_five_wrong_passwords_logins_of_that_address_are_answered_429(dashboard: Dashboard):
    cookie = await signed_in(dashboard.stranger)
    token = await dashboard.token("read")
    answers = [await dashboard.stranger.post("/login", WRONG) for _ in range(6)]
    assert [answer.status for answer in answers] == [401] * 5 + [429]
    detail = check_problem(answers[-1], 429, "rate-limited")
    assert answers[-1].headers["retry-after"] == "60"
    assert "passwords" in detail.lower()
    blocked = await dashboard.stranger.get(SOMETHING, **basic("anna", PASSWORD))
    assert (blocked.status, blocked.headers["retry-after"]) == (429, "60")
    assert (await dashboard.stranger.get(SOMETHING, **cookie)).status == 200
    assert (await dashboard.stranger.get(SOMETHING, authorization=f"Bearer {token}")).status == 200
    assert (await dashboard.at("192.0.2.1").post("/login", RIGHT)).status == 200
    dashboard.clock.advance(300)
    assert (await dashboard.stranger.post("/login", RIGHT)).status == 200


async def test_ten_addresses_guessing_at_once_leave_the_api_open_to_others(dashboard: Dashboard):
    cookie = await signed_in(dashboard.stranger)

    async def guess(number: int) -> int:
        body = {"username": "anna", "password": f"guess {number}"}
        return (await dashboard.at(f"192.0.2.{number % 10}").post("/login", body)).status

    guesses = asyncio.gather(*(guess(number) for number in range(200)))
    assert (await dashboard.stranger.get(SOMETHING, **cookie)).status == 200
    statuses = await guesses
    assert (statuses.count(401), statuses.count(429)) == (50, 150)


# Where there is no login


@pytest.mark.parametrize(
    ("env", "missing"),
    [({}, "DASHBOARD_USER and DASHBOARD_PASS"), ({"DASHBOARD_USER": "anna"}, "DASHBOARD_PASS")],
)
async def test_without_a_login_in_the_settings_the_answer_is_503_with_the_setting_to_add(
    make_dashboard: MakeDashboard, env: dict[str, str], missing: str
):
    dashboard = await make_dashboard(env)
    client = dashboard.stranger
    token = await dashboard.token("admin")
    for answer in (
        await client.post("/login", RIGHT),
        await client.get(SOMETHING),
        await client.get(SOMETHING, **basic("", "")),
        await client.get(SOMETHING, cookie="session=" + "x" * 43),
        await client.get(SOMETHING, authorization=f"Bearer {token}"),
        await client.get("/login/link/" + "x" * 43),
    ):
        assert f"Set {missing}," in check_problem(answer, 503, "not-ready").replace("set", "Set")
    assert (await client.get("/api/health")).status == 200


# Bad input


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"", "application/json", 422, "validation-failed"),
        (b"{", "application/json", 400, "invalid-request"),
        (b"[]", "application/json", 422, "validation-failed"),
        (b'{"username": "anna"}', "application/json", 422, "validation-failed"),
        (b'{"username": "anna", "password": 7}', "application/json", 422, "validation-failed"),
        (b'{"username": "anna", "password": "x", "pass": "y"}', "application/json", 422, "validation-failed"),
        (b'{"username": "anna", "password": "x", "remember": "yes"}', "application/json", 422, "validation-failed"),
        (b'{"username": "anna", "password": "x\\u0000"}', "application/json", 422, "validation-failed"),
        (b'{"username": "anna", "password": "' + b"x" * 5000 + b'"}', "application/json", 422, "validation-failed"),
        (b"username=anna", FORM, 422, "validation-failed"),
        (b"username=anna&password=a&password=b", FORM, 400, "invalid-request"),
        (b"username=%ff&password=x", FORM, 400, "invalid-request"),
        (b"username=\xc3\xbc&password=x", FORM, 400, "invalid-request"),
        (b"username", FORM, 400, "invalid-request"),
        (b"a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10&k=11", FORM, 400, "invalid-request"),
        (b"username=anna", "text/plain", 415, "unsupported-media-type"),
        (b" " * (1024 * 1024 + 1), "application/json", 413, "payload-too-large"),
    ],
)
async def test_a_login_that_cannot_be_read_is_refused_without_repeating_it(
    dashboard: Dashboard, body: bytes, kind: str, status: int, code: str
):
    answer = await dashboard.stranger.call("POST", "/login", body, headers={"content-type": kind})
    check_problem(answer, status, code)
    assert b"xxxx" not in answer.body
    assert dashboard.audit() == []


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b'{"usrname": "anna", "password": "x"}', "application/json"), (b"usrname=anna&password=x", FORM)],
)
async def test_a_misspelt_key_of_a_login_is_refused_with_the_likely_one(dashboard: Dashboard, body: bytes, kind: str):
    answer = await dashboard.stranger.call("POST", "/login", body, headers={"content-type": kind})
    check_problem(answer, 422, "validation-failed")
    suggested = {each["pointer"]: each.get("suggestion") for each in answer.json()["errors"]}
    assert suggested == {"#/username": None, "#/usrname": "username"}


# Other sites' pages


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "https://behind.example"}, True),
        ({"origin": "http://127.0.0.1:8200"}, True),
        ({"host": "Dash.localhost", "origin": "https://dash.localhost"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": ""}, False),
        ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8200"}, False),
        ({"origin": "http://127.0.0.1:3000"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "null"}, False),
    ],
)
async def test_no_page_of_another_site_changes_anything(
    dashboard: Dashboard, headers: dict[str, str], *, allowed: bool
):
    client = dashboard.stranger
    cookie, token = await signed_in(client), await dashboard.token("admin")
    changes = [
        ("POST", SOMETHING, {"title": "x"}, cookie),
        ("POST", SOMETHING, {"title": "x"}, basic("anna", PASSWORD)),
        ("POST", "/login", RIGHT, {}),
        ("POST", "/logout", None, cookie),
    ]
    for method, path, body, credentials in changes:
        answer = await client.call(method, path, body, headers={**credentials, **headers})
        if allowed:
            assert answer.status in {200, 201, 204}
        else:
            check_problem(answer, 403, "cross-site-request")
    by_token = {"authorization": f"Bearer {token}", **headers}
    assert (await client.post(SOMETHING, {"title": "x"}, **by_token)).status == 201, "no browser sends it by itself"
    cookie = await signed_in(client)
    assert (await client.get(SOMETHING, **cookie, **headers)).status == 200, "it changes nothing"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_no_page_of_another_site_locks_the_login_or_uses_up_its_limit(make_dashboard: MakeDashboard, site: str):
    dashboard = await make_dashboard({**LOGIN, "RATE_LIMIT_PER_IP": "20"})
    client, page = dashboard.stranger, {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    for number in range(30):  # links such as http://anna:guess@127.0.0.1:8200/api/status
        answer = await client.get(SOMETHING, **basic("anna", f"guess {number}"), **page)
        assert answer.status == (401 if number < 20 else 429)
        assert answer.headers.get("www-authenticate", "Session") == "Session", "no box that asks again and again"
    assert (await client.get(SOMETHING, **basic("anna", PASSWORD))).status == 200
    assert (await client.post("/login", RIGHT)).status == 200
    assert [entry.action for entry in dashboard.audit()] == ["dashboard.login"]


# Foreign names


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8200", "evil", "192.0.2.1:8200", "localhost.evil.example"]
)
async def test_a_page_that_points_its_name_at_this_machine_reaches_nothing_and_locks_nothing(
    dashboard: Dashboard, host: str
):
    client = dashboard.stranger
    for number in range(6):
        check_problem(await client.get(SOMETHING, **basic("anna", f"guess {number}"), host=host), 403, "forbidden")
        check_problem(await client.post("/login", WRONG, host=host), 403, "forbidden")
    for path in ("/", "/api/openapi.json", "/login/link/x", "/static/nothing"):
        check_problem(await client.get(path, host=host), 403, "forbidden")
    assert (await client.get("/health", host=host)).status == 200
    assert (await client.get("/api/health", host=host)).status == 200
    assert (await client.post("/login", RIGHT)).status == 200
    assert [entry.action for entry in dashboard.audit()] == ["dashboard.login"]


@pytest.mark.parametrize(
    ("env", "host"),
    [
        ({}, "localhost:8200"),
        ({}, "127.0.0.1"),
        ({}, "[::1]:8200"),
        ({"ALLOWED_HOSTS": "Dash.example.org, 192.0.2.1"}, "dash.example.ORG:443"),
        ({"ALLOWED_HOSTS": "Dash.example.org, 192.0.2.1"}, "192.0.2.1"),
        ({"DASHBOARD_HOST": "0.0.0.0", "ALLOW_INSECURE_BIND": "true"}, "dash.example.org"),
    ],
)
async def test_the_dashboard_answers_under_local_and_configured_names(
    make_dashboard: MakeDashboard, env: dict[str, str], host: str
):
    dashboard = await make_dashboard({**LOGIN, **env})
    assert (await dashboard.stranger.post("/login", RIGHT, host=host)).status == 200


# Links


async def test_to_ask_whether_a_link_is_there_does_not_use_it_up(dashboard: Dashboard):
    path = (await sign_in_link(dashboard.bench.app, "http://127.0.0.1:8200")).removeprefix("http://127.0.0.1:8200")
    for asked in (path, "/login/link/no-such-code"):
        answer = await dashboard.stranger.call("HEAD", asked)
        assert (answer.status, answer.body, "set-cookie" in answer.headers) == (200, b"", False)
    assert dashboard.audit() == []
    assert (await dashboard.stranger.get(path)).status == 303


async def test_a_link_signs_in_once(dashboard: Dashboard):
    link = await sign_in_link(dashboard.bench.app, "http://127.0.0.1:8200/")
    path = link.removeprefix("http://127.0.0.1:8200")
    answer = await dashboard.stranger.get(path)
    assert (answer.status, answer.headers["location"]) == (303, "/#/home")
    assert (await dashboard.stranger.get(SOMETHING, **cookie_of(answer))).status == 200
    check_problem(await dashboard.stranger.get(path), 401, "invalid-credentials")
    assert [(e.action, e.metadata["means"]) for e in dashboard.audit()] == [
        ("dashboard.login", "link"),
        ("dashboard.login_failed", "link"),
    ]
    assert path.rpartition("/")[2] not in str(dashboard.audit())


async def test_a_link_is_of_no_use_after_ten_minutes_and_elsewhere(dashboard: Dashboard):
    app, client = dashboard.bench.app, dashboard.stranger
    late = await sign_in_link(app, "")
    dashboard.clock.advance(600)
    assert (await client.get(late)).status == 401
    elsewhere = await sign_in_link(app, "")
    check_problem(await client.get(elsewhere, host="dash.example.org"), 403, "forbidden")
    assert (await dashboard.at("192.0.2.1").get(elsewhere)).status == 401
    assert (await client.get(elsewhere)).status == 401, "somebody else has seen it"


# Audit


async def test_each_login_failed_login_and_logout_is_recorded_once_with_who_where_and_how_it_ended(
    dashboard: Dashboard,
):
    client = dashboard.stranger
    cookie = cookie_of(await client.post("/login", RIGHT, x_request_id="one"))
    await client.post("/login", WRONG, x_request_id="two")
    await client.post("/login", {"username": PASSWORD, "password": "anna"}, x_request_id="three")
    await client.get(SOMETHING, **basic("anna", "old"), x_request_id="four")
    await client.get(SOMETHING, **basic("anna", "old"))
    await client.post("/logout", **cookie, x_request_id="five")
    await client.post("/logout", **cookie)
    entries = dashboard.audit()
    told = [
        (e.action.partition(".")[2], e.metadata.get("actor"), e.metadata["outcome"], e.metadata["request_id"])
        for e in entries
    ]
    assert told[:4] == [
        ("login", "anna", "ok", "one"),
        ("login_failed", "anna", "denied", "two"),
        ("login_failed", None, "denied", "three"),
        ("login_failed", "anna", "denied", "four"),
    ]
    assert told[-1] == ("logout", "anna", "ok", "five")
    assert {e.source for e in entries} == {"dashboard"}
    assert {e.metadata["ip"] for e in entries} == {"127.0.0.1"}
    text = json.dumps([e.metadata for e in entries], ensure_ascii=False) + "".join(e.detail for e in entries)
    assert PASSWORD not in text, "a password that was typed as the name stays out of the log"


async def test_a_script_that_repeats_an_old_password_does_not_flood_the_audit_log(dashboard: Dashboard):
    for _ in range(50):
        await dashboard.stranger.get(SOMETHING, **basic("anna", "old"))
    assert len(dashboard.audit()) == 2, "the first, and that it goes on"
    dashboard.clock.advance(60)
    for _ in range(50):
        await dashboard.stranger.get(SOMETHING, **basic("anna", "old"))
    assert len(dashboard.audit()) == 3
