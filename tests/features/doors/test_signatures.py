"""Senders that prove themselves: signatures over the raw body, and secrets in headers."""

import base64
import hashlib
import hmac
from urllib.parse import quote

import pytest
from tests.features.doors.conftest import FrontBench, open_front

from tocsin.features.doors.model import DoorRequest
from tocsin.features.doors.receiving.signatures import proves

SECRET = "It's a Secret to Everybody"
DIGEST = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def request(body: bytes, **headers: str) -> DoorRequest:
    return DoorRequest(body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_the_published_vector_of_github_holds():
    signed = request(b"Hello, World!", x_hub_signature_256=f"sha256={DIGEST}")

    assert proves(signed, SECRET, 0)
    assert not proves(signed, "another secret", 0)
    assert not proves(request(b"Hello, World?", x_hub_signature_256=f"sha256={DIGEST}"), SECRET, 0)


def test_the_published_vector_of_standard_webhooks_holds_for_five_minutes():
    headers = {
        "webhook_id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook_timestamp": "1614265330",
        "webhook_signature": "v1,bm90aGluZw== v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    signed = request(b'{"test": 2432232314}', **headers)

    assert [proves(signed, STANDARD, 1614265330 + late) for late in (0, 299, 301, -301)] == [True, True, False, False]
    assert not proves(signed, "whsec_not base64", 1614265330)


def test_a_signature_in_the_form_of_stripe_holds_for_five_minutes():
    digest = "248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a"
    signed = request(b'{"id":"evt_1"}', stripe_signature=f"t=1700000000,v1=00,v1={digest}")

    assert [proves(signed, "whsec_test_secret", 1700000000 + late) for late in (0, 301)] == [True, False]


@pytest.mark.parametrize("header", ["x_gitea_signature", "x_gogs_signature"])
def test_gitea_signs_the_json_of_a_form(header: str):
    document = b'{"action": "opened"}'
    digest = hmac.new(b"s", document, hashlib.sha256).hexdigest()
    form = f"payload={quote(document)}".encode()
    kind = "application/x-www-form-urlencoded"

    # Gitea sends a signature in the form of GitHub beside its own, over other bytes.
    both = {header: digest, "x_hub_signature_256": "sha256="}
    assert proves(request(form, content_type=kind, **both), "s", 0)
    assert proves(request(document, content_type="application/json", **{header: digest}), "s", 0)
    assert not proves(request(form, content_type=kind, x_hub_signature_256="sha256="), "s", 0)


@pytest.mark.parametrize(
    "headers",
    [
        {"x_gitlab_token": "s3cret"},
        {"authorization": "Bearer s3cret"},
        {"authorization": "Basic " + base64.b64encode(b"anyone:s3cret").decode()},
        {"authorization": "s3cret"},
        {"sentry_hook_signature": hmac.new(b"s3cret", b"{}", hashlib.sha256).hexdigest()},
    ],
)
def test_a_secret_in_a_header_is_compared(headers: dict[str, str]):
    assert proves(request(b"{}", **headers), "s3cret", 0)
    assert not proves(request(b"{}", **headers), "other", 0)


def test_a_request_without_any_proof_proves_nothing():
    assert not proves(request(b"{}"), "s3cret", 0)


async def test_a_door_with_a_secret_refuses_what_proves_nothing(front: FrontBench):
    address = await front.add(secret=SECRET)
    good = ("X-Hub-Signature-256", f"sha256={DIGEST}")

    answers = [
        await front.post(f"/in/{address.token}", b"Hello, World!", *headers)
        for headers in ((), (("X-Hub-Signature-256", "sha256=00"),), (good,))
    ]

    assert [each.status for each in answers] == [401, 401, 200]
    assert len(await front.work()) == 1
    refused = (await front.doors.requests("alerts"))[1]
    assert (refused.status, refused.payload) == (401, "")


class OneSecret:
    """A vault with one secret."""

    async def reveal(self, name: str, /, *, reader: str) -> str:
        return {"GITHUB": SECRET}[name]


async def test_the_secret_may_be_in_the_vault(tmp_path):
    async with open_front(tmp_path, abilities={"secrets": OneSecret()}) as front:
        address = await front.add(secret_name="GITHUB")
        good = ("X-Hub-Signature-256", f"sha256={DIGEST}")

        assert (await front.post(f"/in/{address.token}", b"Hello, World!", good)).status == 200
        assert (await front.post(f"/in/{address.token}", b"Hello, World!")).status == 401


async def test_without_a_vault_the_sender_is_asked_to_retry(front: FrontBench):
    address = await front.add(secret_name="GITHUB")

    assert (await front.post(f"/in/{address.token}", b"x", ("X-Gitlab-Token", "x"))).status == 503


@pytest.mark.parametrize(
    ("headers", "bodies", "count"),
    [
        ({"X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": "u"}, (b"{}", b"{}", b'{"a": 1}'), 2),
        ({"Sentry-Hook-Resource": "issue", "Request-ID": "r"}, (b"{}", b"{}"), 1),
        ({"Request-ID": "of a proxy"}, (b"{}", b"{}"), 2),
        ({"Stripe-Signature": "t=1"}, (b'{"id": "evt_1", "n": 1}', b'{"id": "evt_1", "n": 2}', b'{"id": "evt_2"}'), 2),
    ],
)
async def test_an_event_that_is_repeated_is_one_message(front: FrontBench, headers: dict, bodies: tuple, count: int):
    address = await front.add()
    for body in bodies:
        assert (await front.post(f"/in/{address.token}", body, *headers.items())).status == 200

    assert len(await front.work()) == count
