"""Redirects: which request follows, and what another origin never gets."""

import pytest

from tocsin.core.http.redirects import HttpRequest, RedirectError, redirected

HEADERS = {"Authorization": "a", "X-Mine": "b", "X-Trace": "c", "Content-Type": "text/plain"}


def following(method: str, url: str, status: int, location: str, body: bytes = b"") -> HttpRequest | None:
    return redirected(HttpRequest(method, url, HEADERS, body, frozenset({"x-mine"})), status, location)


@pytest.mark.parametrize(
    ("url", "location", "same"),
    [
        ("https://a.example/x", "/y", True),
        ("https://a.example/x", "https://A.example:443/y", True),
        ("https://a.example/x", "https://user:word@a.example./y#part", True),
        ("http://a.example/x", "//a.example:80/y", True),
        ("https://a.example/x", "//b.example/y", False),
        ("https://a.example/x", "https://a.example:444/y", False),
        ("http://a.example/x", "https://a.example/y", False),
        ("https://a.example/x", "https://a.example@b.example/y", False),
        ("https://a.example/x", "https://a.example.b.example/y", False),
    ],
)
def test_only_the_same_scheme_host_and_port_get_private_headers(url: str, location: str, same: bool):
    after = following("GET", url, 302, location)
    assert after is not None
    assert set(after.headers) == ({"Authorization", "X-Mine", "X-Trace"} if same else {"X-Trace"})
    assert "@" not in after.url
    assert "#" not in after.url


@pytest.mark.parametrize(
    "name", ["authorization", "Cookie", "PRIVATE-TOKEN", "X-Api-Key", "X-Amz-Security-Token", "X-Hub-Signature", "Host"]
)
def test_a_header_that_servers_take_credentials_in_stays_at_its_origin(name: str):
    after = redirected(HttpRequest("GET", "https://a.example/", {name: "x"}), 307, "https://b.example/")
    assert after is not None
    assert after.headers == {}


@pytest.mark.parametrize(
    ("method", "status", "after"),
    [
        ("POST", 301, ("GET", b"")),
        ("POST", 302, ("GET", b"")),
        ("PUT", 302, ("PUT", b"text")),
        ("PUT", 303, ("GET", b"")),
        ("HEAD", 303, ("HEAD", b"")),
        ("POST", 307, ("POST", b"text")),
        ("POST", 308, ("POST", b"text")),
    ],
)
def test_method_and_body_at_the_same_origin_are_as_the_status_says(method: str, status: int, after: tuple[str, bytes]):
    found = following(method, "https://a.example/", status, "/y", b"text")
    assert found is not None
    assert (found.method, found.body) == after
    assert ("Content-Type" in found.headers) == bool(found.body)


@pytest.mark.parametrize(("status", "location"), [(200, "/y"), (300, "/y"), (304, "/y"), (305, "/y"), (302, "")])
def test_an_answer_that_is_not_a_redirect_leads_nowhere(status: int, location: str):
    assert following("GET", "https://a.example/", status, location) is None


@pytest.mark.parametrize(
    "location",
    [
        "http://a.example/y",
        "file:///etc/passwd",
        "ftp://a.example/y",
        "https://[::1/y",
        "https://b.example:99999/y",
    ],
)
def test_a_redirect_to_clear_text_or_to_no_web_address_is_refused(location: str):
    with pytest.raises(RedirectError):
        following("GET", "https://a.example/x", 302, location)


@pytest.mark.parametrize(("method", "status"), [("POST", 307), ("PUT", 308), ("PATCH", 302)])
def test_a_body_is_never_repeated_at_another_origin(method: str, status: int):
    with pytest.raises(RedirectError):
        following(method, "https://a.example/x", status, "https://b.example/", b"text")


def test_characters_that_no_address_holds_are_quoted():
    after = following("GET", "https://a.example/x", 302, "/\u00c3\u00a4 \r\nX: y")
    assert after is not None
    assert after.url == "https://a.example/%C3%A4%20%0D%0AX:%20y"
