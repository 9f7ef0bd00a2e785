"""Who may ask, how often, and over what."""

import pytest
from tests.web.asgi_client import Answer, Client
from tests.web.conftest import BEARER, GOOD, TOKEN, Gateway, MakeGateway
from tests.web.test_send import check_problem

from tocsin.web.http.clients import bucket_key, is_local_host


async def drain(client: Client, times: int, *headers: tuple[str, str], peer: str = "") -> list[int]:
    return [(await client.get("/channels", *headers, peer=peer)).status for _ in range(times)]


# Rate limits


async def test_one_address_may_ask_60_times_a_minute(gateway: Gateway):
    assert await drain(gateway.client, 61) == [200] * 60 + [429]
    answer = await gateway.client.get("/channels")
    check_problem(answer, 429, "rate-limited")
    assert answer.header("retry-after") == "60"
    assert answer.json()["detail"].endswith("raise RATE_LIMIT_PER_IP.")
    assert (await gateway.client.get("/channels", peer="127.0.0.2")).status == 200


async def test_the_bucket_refills_continuously(gateway: Gateway):
    await drain(gateway.client, 60)
    gateway.clock.advance(1)
    assert await drain(gateway.client, 2) == [200, 429]


async def test_every_route_counts_also_those_that_do_not_exist(gateway: Gateway):
    for _ in range(30):
        await gateway.client.get("/nowhere")
        await gateway.client.send(b"{")
    assert (await gateway.client.send(GOOD)).status == 429
    assert gateway.transport.sent == []


async def test_health_is_exempt_from_the_limits(gateway: Gateway):
    await drain(gateway.client, 61)
    for path, status in [("/health", 200), ("/api/health", 200), ("/health/", 429), ("//health", 429)]:
        assert (await gateway.client.get(path)).status == status


async def test_the_limits_are_settings(make_gateway: MakeGateway):
    client = make_gateway({"RATE_LIMIT_PER_IP": "2", "RATE_LIMIT_PER_USER": "3", "GATEWAY_TOKEN": TOKEN}).client
    assert await drain(client, 3) == [200, 200, 429]
    assert await drain(client, 4, BEARER) == [200, 200, 200, 429]


async def test_the_addresses_of_one_ipv6_network_share_a_bucket(gateway: Gateway):
    for number in range(60):
        assert (await gateway.client.get("/channels", peer=f"2001:db8:1:2::{number:x}")).status == 200
    assert (await gateway.client.get("/channels", peer="2001:db8:1:2:ffff:ffff:ffff:ffff")).status == 429
    assert (await gateway.client.get("/channels", peer="2001:db8:1:3::1")).status == 200


async def test_a_mapped_ipv4_address_counts_as_that_address(gateway: Gateway):
    await drain(gateway.client, 60, peer="192.0.2.1")
    assert await drain(gateway.client, 1, peer="::ffff:192.0.2.1") == [429]
    assert await drain(gateway.client, 1, peer="::ffff:192.0.2.2") == [200]


@pytest.mark.parametrize(
    ("address", "bucket"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::1", "0000:0000:0000:0000"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:DB8::1", "2001:0db8:0000:0000"),
        ("unknown", "unknown"),
        ("a:b:c", "a:b:c"),
    ],
)
def test_an_address_has_one_bucket_however_it_is_written(address: str, bucket: str):
    assert bucket_key(address) == bucket


async def test_a_token_counts_for_itself_wherever_it_comes_from(make_gateway: MakeGateway):
    client = make_gateway({"GATEWAY_TOKEN": TOKEN}).client
    for number in range(120):
        assert (await client.get("/channels", BEARER, peer=f"192.0.2.{number}")).status == 200
    answer = await client.get("/channels", BEARER, peer="192.0.2.250")
    check_problem(answer, 429, "rate-limited")
    assert answer.header("retry-after") == "60"
    assert answer.json()["detail"].endswith("raise RATE_LIMIT_PER_USER.")
    assert (await client.get("/channels", peer="192.0.2.1")).status == 200


async def test_failed_tokens_count_against_the_address(make_gateway: MakeGateway):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    guesses = [await gateway.client.send(GOOD, ("Authorization", f"Bearer guess{n}")) for n in range(61)]
    assert [answer.status for answer in guesses] == [401] * 60 + [429]
    assert (await gateway.client.send(GOOD, BEARER)).status == 200, "the owner is not locked out"


# Trusted proxies

PROXY = {"TRUSTED_PROXIES": "10.0.0.0/8, fd00::/8"}


def forwarded(*values: str) -> list[tuple[str, str]]:
    return [("X-Forwarded-For", value) for value in values]


async def address_seen(gateway: Gateway, *headers: tuple[str, str], peer: str) -> object:
    await gateway.client.send(GOOD, *headers, peer=peer)
    return gateway.audit()[0].metadata["ip"]


@pytest.mark.parametrize("peer", ["192.0.2.9", "2001:db8::9"])
async def test_a_forwarded_address_from_an_untrusted_peer_is_ignored(make_gateway: MakeGateway, peer: str):
    assert await address_seen(make_gateway(PROXY), *forwarded("198.51.100.1"), peer=peer) == peer
    assert await address_seen(make_gateway(), *forwarded("198.51.100.1"), peer="10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize(
    ("values", "client"),
    [
        (["198.51.100.1"], "198.51.100.1"),
        (["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
        (["1.1.1.1, 198.51.100.1, 10.9.9.9,fd00::5"], "198.51.100.1"),
        (["1.1.1.1", "198.51.100.1"], "198.51.100.1"),
        (["198.51.100.1:51234"], "198.51.100.1"),
        (["[2001:db8::7]:443"], "2001:db8::7"),
        (["2001:db8::7"], "2001:db8::7"),
        (["::ffff:198.51.100.1"], "198.51.100.1"),
        (["198.51.100.1, ::ffff:10.0.0.7"], "198.51.100.1"),
        (["10.1.1.1"], "10.0.0.1"),
        ([], "10.0.0.1"),
        ([""], "10.0.0.1"),
        (["unknown"], "10.0.0.1"),
        (["198.51.100.1, _hidden"], "10.0.0.1"),
        (["x" * 10_000], "10.0.0.1"),
    ],
)
async def test_behind_a_trusted_proxy_the_rightmost_untrusted_address_counts(
    make_gateway: MakeGateway, values: list[str], client: str
):
    assert await address_seen(make_gateway(PROXY), *forwarded(*values), peer="10.0.0.1") == client


async def test_a_proxy_is_known_by_its_mapped_address_too(make_gateway: MakeGateway):
    peer = "::ffff:10.0.0.1"
    assert await address_seen(make_gateway(PROXY), *forwarded("198.51.100.1"), peer=peer) == "198.51.100.1"


async def test_a_client_cannot_get_fresh_buckets_by_inventing_addresses(make_gateway: MakeGateway):
    client = make_gateway(PROXY).client
    spoofed = [
        (await client.get("/channels", *forwarded(f"1.1.1.{n}, 198.51.100.1:{40000 + n}"), peer="10.0.0.1")).status
        for n in range(61)
    ]
    assert spoofed == [200] * 60 + [429]


# Token


MISSING, UNREADABLE, WRONG = "The token is missing", "not a bearer token,", "The token is wrong"


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([], MISSING),
        ([("Authorization", "")], UNREADABLE),
        ([("Authorization", "Bearer")], UNREADABLE),
        ([("Authorization", "Bearer  ")], UNREADABLE),
        ([("Authorization", f"Basic {TOKEN}")], UNREADABLE),
        ([("Authorization", f"Bearer {TOKEN}x")], WRONG),
        ([("Authorization", f"Bearer {TOKEN[:-1]}")], WRONG),
        ([("Authorization", f"Bearer {TOKEN.upper()}")], WRONG),
        ([("Authorization", f"Bearer\t{TOKEN}")], UNREADABLE),
        ([("Authorization", "Bearer é\xff")], WRONG),
        ([("Authorization", "Bearer wrong"), BEARER], UNREADABLE),
        ([BEARER, BEARER], UNREADABLE),
        ([("X-Authorization", f"Bearer {TOKEN}")], MISSING),
    ],
)
async def test_with_a_token_set_sending_without_it_answers_401_and_says_what_is_wrong(
    make_gateway: MakeGateway, headers: list[tuple[str, str]], reason: str
):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    answer = await gateway.client.send(GOOD, *headers)
    detail = check_problem(answer, 401, "unauthenticated")["detail"]
    assert reason in detail
    assert "Authorization: Bearer <token>" in detail
    assert TOKEN[:5] not in answer.body.decode()
    error = "" if reason == MISSING else ', error="invalid_token"'
    assert answer.header("www-authenticate") == f'Bearer realm="gateway"{error}'
    assert gateway.transport.sent == []
    assert gateway.audit() == []


@pytest.mark.parametrize("value", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
async def test_the_token_lets_send_and_is_named_in_the_audit_as_the_actor(make_gateway: MakeGateway, value: str):
    gateway = make_gateway({"GATEWAY_TOKEN": TOKEN})
    assert (await gateway.client.send(GOOD, ("Authorization", value))).status == 200
    (entry,) = gateway.audit()
    assert entry.metadata["actor"] == "token"


async def test_the_body_of_a_stranger_is_not_even_read(make_gateway: MakeGateway):
    client = make_gateway({"GATEWAY_TOKEN": TOKEN}).client
    for body in (b"{", b" " * (1024 * 1024 + 1)):
        check_problem(await client.send(body), 401, "unauthenticated")


async def test_on_loopback_without_a_token_everybody_may_send(gateway: Gateway):
    assert (await gateway.client.send(GOOD, ("Authorization", "Bearer whatever"))).status == 200


# HTTPS

PLAIN: list[tuple[str, str]] = []
BY_TLS = ("X-Forwarded-Proto", "https")


def is_refused(answer: Answer) -> bool:
    if answer.status != 403:
        return False
    return "HTTPS is enforced" in str(check_problem(answer, 403, "forbidden")["detail"])


@pytest.mark.parametrize("env", [{"FORCE_HTTPS": "true"}, {"ENVIRONMENT": "production"}])
async def test_enforced_https_refuses_plain_http_but_not_health(make_gateway: MakeGateway, env: dict[str, str]):
    gateway = make_gateway(env)
    assert is_refused(await gateway.client.send(GOOD))
    assert is_refused(await gateway.client.get("/channels"))
    assert is_refused(await gateway.client.get("/nowhere"))
    assert (await gateway.client.get("/health")).status == 200
    assert (await gateway.client.request("GET", "/channels", scheme="https")).status == 200
    assert gateway.transport.sent == []


@pytest.mark.parametrize(
    ("peer", "env", "hints"),
    [
        ("127.0.0.1", {}, ["TRUSTED_PROXIES=127.0.0.1", "X-Forwarded-Proto: https", "FORCE_HTTPS=false", "https://"]),
        ("::1", {}, ["TRUSTED_PROXIES=::1", "X-Forwarded-Proto: https", "FORCE_HTTPS=false"]),
        ("192.0.2.1", {}, ["https:// address", "TRUSTED_PROXIES"]),
        ("10.0.0.1", {"TRUSTED_PROXIES": "10.0.0.0/8"}, ["The proxy must send `X-Forwarded-Proto: https`"]),
    ],
)
async def test_refused_plain_http_tells_the_caller_how_to_get_in(
    make_gateway: MakeGateway, peer: str, env: dict[str, str], hints: list[str]
):
    client = make_gateway({"FORCE_HTTPS": "true", **env}).client
    detail = str(check_problem(await client.send(GOOD, peer=peer), 403, "forbidden")["detail"])
    assert [hint for hint in hints if hint not in detail] == []
    assert ("FORCE_HTTPS=false" in detail) == (peer in {"127.0.0.1", "::1"})


async def test_a_call_on_this_machine_gets_in_as_the_hint_says(make_gateway: MakeGateway):
    client = make_gateway({"FORCE_HTTPS": "true", "TRUSTED_PROXIES": "127.0.0.1"}).client
    assert (await client.send(GOOD, BY_TLS)).status == 200


@pytest.mark.parametrize("env", [{}, {"ENVIRONMENT": "production", "FORCE_HTTPS": "false"}])
async def test_https_is_not_enforced_in_development_or_when_it_is_switched_off(
    make_gateway: MakeGateway, env: dict[str, str]
):
    assert (await make_gateway(env).client.send(GOOD)).status == 200


async def test_only_a_trusted_proxy_can_say_that_it_spoke_tls(make_gateway: MakeGateway):
    enforced = {"FORCE_HTTPS": "true"}
    assert is_refused(await make_gateway(enforced).client.send(GOOD, BY_TLS, peer="10.0.0.1"))
    client = make_gateway(enforced | PROXY).client
    assert is_refused(await client.send(GOOD, BY_TLS, peer="192.0.2.1"))
    assert is_refused(await client.send(GOOD, peer="10.0.0.1"))
    assert (await client.send(GOOD, BY_TLS, peer="10.0.0.1")).status == 200


@pytest.mark.parametrize(
    ("value", "lets_in"),
    [("https", True), ("HTTPS", True), ("http, https", True), ("https, http", False), ("http", False), ("", False)],
)
async def test_the_proxy_next_to_us_has_the_last_word_about_tls(make_gateway: MakeGateway, value: str, lets_in: bool):
    client = make_gateway({"FORCE_HTTPS": "true"} | PROXY).client
    answer = await client.send(GOOD, ("X-Forwarded-Proto", value), peer="10.0.0.1")
    assert (answer.status == 200) == lets_in


async def test_refused_plain_http_counts_against_the_address(make_gateway: MakeGateway):
    client = make_gateway({"FORCE_HTTPS": "true"}).client
    assert await drain(client, 61) == [403] * 60 + [429]


# DNS rebinding


@pytest.mark.parametrize("env", [{}, {"GATEWAY_TOKEN": TOKEN}, {"TRUSTED_PROXIES": "127.0.0.1"}])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8100", "127.0.0.1.nip.example", "localhost.evil.example", "evil", "192.0.2.1"],
)
async def test_on_loopback_a_web_page_cannot_reach_us_under_a_name_of_its_own(
    make_gateway: MakeGateway, env: dict[str, str], host: str
):
    gateway = make_gateway(env)
    for answer in (
        await gateway.client.send(GOOD, ("Host", host), BEARER),
        await gateway.client.get("/channels", ("Host", host)),
    ):
        check_problem(answer, 403, "forbidden")
    assert gateway.transport.sent == []
    assert (await gateway.client.get("/health", ("Host", host))).status == 200
    assert (await gateway.client.get("/api/health", ("Host", host))).status == 200


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8100", "LOCALHOST.", "127.0.0.1:8100", "127.1.2.3", "[::1]:8100", "tocsin.localhost"],
)
async def test_loopback_addresses_and_localhost_reach_a_gateway(gateway: Gateway, host: str):
    assert is_local_host(host)
    assert (await gateway.client.send(GOOD, ("Host", host))).status == 200


@pytest.mark.parametrize(
    ("env", "headers"),
    [
        ({"ALLOWED_HOSTS": "other.example.org, Alerts.Example.org."}, []),
        ({"ALLOWED_HOSTS": "alerts.example.org", "GATEWAY_TOKEN": TOKEN}, [BEARER]),
        ({"GATEWAY_HOST": "0.0.0.0", "ALLOW_INSECURE_BIND": "true"}, []),
        ({"GATEWAY_HOST": "0.0.0.0", "GATEWAY_TOKEN": TOKEN}, [BEARER]),
    ],
)
async def test_a_gateway_answers_under_configured_names_and_off_loopback_under_any(
    make_gateway: MakeGateway, env: dict[str, str], headers: list[tuple[str, str]]
):
    answer = await make_gateway(env).client.send(GOOD, ("Host", "alerts.example.org:443"), *headers)
    assert answer.status == 200


@pytest.mark.parametrize("path", ["/send", "/deliveries/x/replay", "/deliveries/x/cancel"])
@pytest.mark.parametrize(
    "header",
    [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost:3000"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ],
)
async def test_no_page_of_another_site_makes_a_browser_change_anything(
    gateway: Gateway, path: str, header: tuple[str, str]
):
    asks = [("Host", "localhost:8100"), ("Content-Type", "text/plain"), header]
    check_problem(await gateway.client.request("POST", path, *asks, body=[b"{}"]), 403, "forbidden")


@pytest.mark.parametrize(
    "host", ["localhost:x.evil.com", "[evil.com]", "a@localhost", "evil%2ecom", "[::1]x", "", "a b"]
)
def test_what_is_no_host_is_no_local_name(host: str):
    assert not is_local_host(host)


async def test_a_page_of_the_same_origin_may_send(gateway: Gateway):
    own = [("Host", "localhost:8100"), ("Origin", "http://localhost:8100"), ("Sec-Fetch-Site", "same-origin")]
    assert (await gateway.client.send(GOOD, *own)).status == 200


async def test_a_web_page_of_another_origin_gets_no_leave_to_send_json(gateway: Gateway):
    asks = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")]
    answer = await gateway.client.request("OPTIONS", "/send", *asks)
    assert (answer.status, answer.header("allow")) == (204, "OPTIONS, POST")
    assert not [name for name, _ in answer.headers if name.startswith("access-control")]
    simple = await gateway.client.request("POST", "/send", ("Content-Type", "text/plain"), asks[0], body=[b"{}"])
    check_problem(simple, 403, "forbidden")
