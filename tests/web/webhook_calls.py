"""Webhook calls as strangers make them: forged in every way, or rightly signed with a body that hurts.

Everything comes from one `Random`, so that a run can be repeated.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from random import Random
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode

from tests.web.webhook_products import PRODUCTS, Header, Product

from tocsin.testing.inbound_bench import HOSTILE_BODIES, HOSTILE_VALUES

MAX_BODY = 1024 * 1024
BOMB_MIB = 256
_BIG = ("100,000 levels", "a million digits", "a form without end")
_TYPES = ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "\0", "x" * 999)
_ENCODINGS = ("gzip", "deflate", "br", "identity", "chunked", "gzip, gzip")
_NOISE = (b"\0", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\n", b"\r\n", b" ", b"\t", b",", b"%00", b"\x7f")


@dataclass(frozen=True, slots=True)
class Call:
    """One call, and the statuses of which it must get one; `pieces` are how its body arrives."""

    what: str
    headers: tuple[Header, ...]
    body: bytes = b""
    expected: tuple[int, ...] = (401,)
    piece: int = 0  # bytes; 0 is all at once
    ends: bool = True  # or more of the same comes for ever
    cut_off: bool = False

    def pieces(self) -> Iterator[tuple[bytes, bool]]:
        """Yield what arrives and whether more is said to come."""
        step = self.piece or max(1, len(self.body))
        starts = range(0, max(1, len(self.body)), step)
        for start in starts:
            last = start == starts[-1]
            yield self.body[start : start + step], not last or self.cut_off or not self.ends
        while not self.ends:
            yield self.body[:step] or b"x", True


class Stranger:
    """Makes calls to one webhook, none like another."""

    def __init__(self, product: Product, seed: int) -> None:
        self.product = product
        self._random = Random(f"{product.kind} {seed}")
        self._numbers = count(1)

    def good(self, now: float) -> Call:
        """Return a call as the product makes it, of a new event."""
        body = self.product.says(next(self._numbers), self._random)
        return Call("good", self._in_any_order(self.product.proof(body, now, self._random)), body, (200, 204))

    def hostile(self, now: float) -> Call:
        """Return a call that is rightly signed and has a body that no product sends."""
        what, body = self._hostile_body()
        headers = (*self.product.proof(body, now, self._random), *self._odd_headers())
        if self._random.random() < 0.1:
            headers += headers[:1]  # a header may be there twice, with one value
        piece = self._random.choice((0, 0, 0, 1 + len(body) // 7))
        return Call(f"signed: {what}", self._in_any_order(headers), body, (200, 204), piece)

    def forged(self, now: float) -> Call:
        """Return a call that nobody may believe, or that is too large to look at."""
        ways = [self._spoilt_header, self._spoilt_header, self._doubled, self._false, self._unsigned, self._noise]
        if self.product.signs_body:
            ways += [self._other_body, self._other_body]
        if self._random.random() < 0.03:
            return self._unbounded(now)
        call = self._random.choice(ways)(now)
        return replace(call, headers=self._in_any_order((*call.headers, *self._odd_headers())))

    # --- forgeries

    def _spoilt_header(self, now: float) -> Call:
        good = self.good(now)
        place = self._random.randrange(len(good.headers))
        name, value = good.headers[place]
        wrong = b"0" if value[-1:] != b"0" else b"1"
        noise = self._random.choice(_NOISE)
        half = self._random.randrange(len(value))
        values = (
            None, b"", b" ", value[:-1], value[:half], value + b"0", value[:-1] + wrong, value[:-1] + b"g", value * 2,
            value[:half] + noise + value[half:], noise + value, value + noise, value + b", " + value, b"x" * 50_000,
            value + b"\xc3\xa9", "é".encode() * 32, b"v0=" + b"\xff" * 64, b"None", b"null", b"0", b"v0=", b"9" * 400,
        )  # fmt: skip
        value_or_none = self._random.choice([other for other in values if other != value])
        rest = (*good.headers[:place], *good.headers[place + 1 :])
        headers = rest if value_or_none is None else (*rest, (name, value_or_none))
        return Call("a header is spoilt", headers, self._good_or_hostile(good.body))

    def _doubled(self, now: float) -> Call:
        """Two values for one thing: in one name twice, or in the names of both families."""
        good = self.good(now)
        name, value = self._random.choice(good.headers)
        alias = self._random.choice(self.product.aliases(name))
        other = self._random.choice((b"", b"0", value[:-1], value + b" ", value + b"0", b"v0=" + b"0" * 64))
        extra = ((alias, other),) if other != value else ((alias, b"other"),)
        headers = (*extra, *good.headers) if self._random.random() < 0.5 else (*good.headers, *extra)
        return Call("two values", headers, good.body)

    def _false(self, now: float) -> Call:
        body = self._good_or_hostile(self.good(now).body)
        return Call("a false proof", self._random.choice(self.product.false_proofs(body, now)), body)

    def _other_body(self, now: float) -> Call:
        good, place = self.good(now), self._random.random()
        at = int(place * len(good.body))
        body = self._random.choice((
            good.body[:at] + bytes([good.body[at] ^ 1]) + good.body[at + 1 :],
            good.body[:at], good.body + b" ", b"\xef\xbb\xbf" + good.body, b"", self.good(now).body,
            self._hostile_body()[1],
        ))  # fmt: skip
        return Call("another body", good.headers, body if body != good.body else body + b"\n")

    def _unsigned(self, now: float) -> Call:
        body = self._good_or_hostile(self.good(now).body)
        others = [product for product in PRODUCTS.values() if product is not self.product]
        stolen = self._random.choice(others).proof(body, now, self._random)
        return Call("unsigned", self._random.choice(((), stolen)), body)

    def _noise(self, now: float) -> Call:
        names = [name for family in self.product.families for name in family]
        headers = tuple((name, self._random.randbytes(self._random.randrange(200))) for name in names)
        return Call("noise", headers, self._random.randbytes(self._random.randrange(2_000)))

    def _unbounded(self, now: float) -> Call:
        """Too large, without an end, or broken off; signed or not does not matter."""
        body = b" " * (MAX_BODY + 1)
        headers = self._random.choice(((), self.product.proof(body, now, self._random)))
        lie = self._random.choice((b"5", b"-1", b"1048577", b"9" * 30, b"\xb2", b"abc"))
        small = self.good(now)
        return self._random.choice((
            Call("1 MiB + 1", headers, body, (413,)),
            Call("1 MiB + 1 in pieces", headers, body, (413,), self._random.choice((64, 4096, 65536))),
            Call("1 MiB, unsigned", (), body[:-1]),
            Call("without an end", headers, body[:65536], (413,), ends=False),
            Call("said to be large", (*small.headers, (b"content-length", b"1048577")), small.body, (413,)),
            Call("a lie about its size", ((b"content-length", lie),), body, (413,), 65536),
            replace(small, what="broken off", expected=(400,), cut_off=True),
        ))  # fmt: skip

    # --- bodies

    def _good_or_hostile(self, good: bytes) -> bytes:
        return good if self._random.random() < 0.6 else self._hostile_body()[1]

    def _hostile_body(self) -> tuple[str, bytes]:
        good = self.product.says(next(self._numbers), self._random)
        if self._random.random() < 0.02:
            return self._large_body(good)
        makers = (self._deformed, self._deformed, self._deformed, self._nested, self._named, self._spoilt, self._retold)
        what, body = self._random.choice(makers)(good)
        return what, body[:MAX_BODY]

    def _deformed(self, good: bytes) -> tuple[str, bytes]:
        """Put hostile values in up to four places, at any depth."""
        document, wrap = unwrap(good, self._random)
        for _ in range(self._random.randint(1, 4)):
            self._deform(document)
        return "deformed", wrap(json.dumps(document, ensure_ascii=self._random.random() < 0.7))

    def _deform(self, document: dict[str, Any]) -> None:
        spot: Any = document
        while spot:
            key = self._random.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
            if not isinstance(spot[key], dict | list) or not spot[key] or self._random.random() < 0.25:
                break
            spot = spot[key]
        else:
            return
        if self._random.random() < 0.15:
            del spot[key]
        elif isinstance(spot[key], str) and self._random.random() < 0.4:
            spot[key] = self._odd_text(spot[key])
        else:
            spot[key] = deepcopy(self._random.choice(HOSTILE_VALUES))

    def _odd_text(self, text: str) -> str:
        odd = (
            "\0",
            "\ud800",
            "\u202e",
            "\U0001f600" * 9,
            "`" * 40,
            "<" * 99,
            "&lt;" * 50,
            "\r\n",
            "'; DROP TABLE inbox",
        )
        spoilt = (text + self._random.choice(odd), self._random.choice(odd) + text, text[:1_000] * 40)
        return self._random.choice(spoilt)

    def _nested(self, good: bytes) -> tuple[str, bytes]:
        """Nest one value deeply: where every reader can follow, where some cannot, and where none can."""
        document, wrap = unwrap(good, self._random)
        name = self._random.choice(list(document) or ["type"])
        levels = self._random.choice((50, 400, 900, 1100, 5_000))
        opened, closed = self._random.choice((("[", "]"), ('{"event":', "}"), ('{"options":[', "]}")))
        text = json.dumps({**document, name: "@"})
        return "deep", wrap(text.replace('"@"', opened * levels + "1" + closed * levels))

    def _named(self, good: bytes) -> tuple[str, bytes]:
        """One of the bodies that every receiver is tested with."""
        cheap = [body for name, body in HOSTILE_BODIES.items() if not name.startswith(_BIG)]
        return "known", self._random.choice(cheap)

    def _spoilt(self, good: bytes) -> tuple[str, bytes]:
        """Break it off, flip bits, put noise in."""
        at = self._random.randrange(len(good))
        noise = self._random.choice((b"", self._random.randbytes(3), *_NOISE))
        return "spoilt", self._random.choice((good[:at], good[:at] + noise + good[at + 1 :], good[at:], good * 2))

    def _retold(self, good: bytes) -> tuple[str, bytes]:
        """Keys that are there twice, unknown types and fields, numbers that are none, huge numbers."""
        document, wrap = unwrap(good, self._random)
        sort = self._random.choice(
            ('"unknown"', "99", "-1", "1.5", "1e999", "NaN", "true", "null", "9" * 4_000, "1e-400")
        )
        key = self._random.choice(
            ("type", "event", "update_id", "message", "id", "data", "command", "payload", "\\ud800")
        )
        text = json.dumps(document)
        return "retold", wrap(text.removesuffix("}") + f', "{key}": {sort}, "{key}": [{sort}]}}')

    def _large_body(self, good: bytes) -> tuple[str, bytes]:
        big = [body for name, body in HOSTILE_BODIES.items() if name.startswith(_BIG)]
        text = good.replace(b"hello", b"h" * (MAX_BODY - len(good) - 100), 1)
        padded = good + b" " * (MAX_BODY - len(good))
        return self._random.choice([("large", text), ("large", padded), ("a bomb", bomb()), *(("big", b) for b in big)])

    # --- other headers

    def _odd_headers(self) -> tuple[Header, ...]:
        """Return headers that must not matter."""
        pick = self._random.choice
        odd: tuple[Header, ...] = (
            (b"content-type", pick(_TYPES).encode()),
            (b"content-encoding", pick(_ENCODINGS).encode()),
            (b"x-forwarded-for", pick(_NOISE) * 40),
            (b"x-slack-retry-num", pick((b"1", b"99", b"x"))),
            (b"x-teamchat-retry-reason", b"http_timeout"),
            (b"authorization", b"Bearer " + self._random.randbytes(20)),
            (b"host", pick((b"tocsin.example.org", b"\xff", b"[::1", b""))),
            (b"x-request-id", pick((b"", b"\xff", b"a b", b"x" * 65, b"<script>"))),
            (b"transfer-encoding", b"chunked"),
            (b"\xff\xfe", b"\0"),
        )
        return tuple(self._random.sample(odd, self._random.choice((0, 0, 1, 2))))

    def _in_any_order(self, headers: Sequence[Header]) -> tuple[Header, ...]:
        return tuple(self._random.sample(headers, len(headers)))


def unwrap(body: bytes, random: Random) -> tuple[dict[str, Any], Callable[[str], bytes]]:
    """Return the JSON in a body and what puts other JSON in its place; of a form without any, its fields."""
    if body.startswith(b"{"):
        return json.loads(body), lambda text: text.encode("utf-8", "surrogatepass")
    fields = dict(parse_qsl(body.decode()))
    if "payload" in fields:
        return json.loads(fields["payload"]), lambda text: b"payload=" + _quoted(text)
    return dict(fields), lambda text: _form_of(text, body)


def _form_of(text: str, otherwise: bytes) -> bytes:
    """Return an object as a form; what JSON cannot read comes as it is."""
    try:
        fields = {name: str(value) for name, value in json.loads(text).items()}
    except (ValueError, RecursionError):
        return otherwise + b"&" + _quoted(text)
    return urlencode(fields, errors="surrogatepass").encode()


def _quoted(text: str) -> bytes:
    return quote_plus(text.encode("utf-8", "surrogatepass")).encode()


@cache
def bomb() -> bytes:
    """Return a quarter of a MiB that becomes 256 MiB when somebody unpacks it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers back: the same bytes may follow again and again.
    packed = packer.compress(bytes(1024 * 1024)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + packed * BOMB_MIB + packer.flush()
