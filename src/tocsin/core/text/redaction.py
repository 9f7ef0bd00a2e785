"""Mask secrets in everything that leaves the program: logs, errors, results, audit lines."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

MASK = "[secret]"
# Shorter values would mask ordinary words; the start-up check calls them insecure anyway.
SHORTEST_SECRET = 4


class _Shape(NamedTuple):
    """A pattern of secrets with unknown values; every match contains `hint`, which is cheaper to look for."""

    hint: str
    pattern: str
    mask: str
    after_hint: str = ""  # a pattern of what follows the hint in every match, for a hint that many texts contain


# Source: docs/facts/calls.md, "Secrets". They are compiled when a text first needs them.
_SHAPES = (
    _Shape("bot", r"bot\d{4,}:[A-Za-z0-9_-]{10,}", f"bot{MASK}"),
    # Every line of JSON has colons: looking for one and what follows takes 0.5 µs a line, for the number first 11 µs.
    _Shape(":", r"\b\d{6,}:[A-Za-z0-9_-]{30,}", MASK, after_hint=r"[A-Za-z0-9_-]{30}"),
    _Shape("xox", r"\bxox[a-z]-[A-Za-z0-9-]{6,}", MASK),
    _Shape("xapp-", r"\bxapp-[A-Za-z0-9-]{6,}", MASK),
    _Shape("tcs_", r"\btcs_[A-Za-z0-9]{43}", MASK),
    _Shape("Bot ", r"\b(Bot) [A-Za-z0-9._~+/=-]{16,}", rf"\1 {MASK}"),
    _Shape("earer ", r"\b([Bb]earer) [A-Za-z0-9._~+/=-]{16,}", rf"\1 {MASK}"),
    _Shape("/webhooks/", r"(/webhooks/\d+/)[A-Za-z0-9._-]{16,}", rf"\1{MASK}"),
    _Shape("/interactions/", r"(/interactions/\d+/)[A-Za-z0-9._-]{16,}", rf"\1{MASK}"),
    _Shape("://hooks.", r"(https://hooks\.[a-z.]+/)[A-Za-z0-9/_-]{16,}", rf"\1{MASK}"),
    _Shape("://", r"(://[^/\s:@]*:)[^/\s@]+@", rf"\1{MASK}@"),
)
# The five that every escaper of HTML and XML may write by name.
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_JSON_ESCAPES = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_REST_OF_BASE64 = r"[A-Za-z0-9+/_=-]*"


class Redactor:
    """Replaces known secret values, in every form they travel in, and well-known token shapes."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()
        self._base64_forms: tuple[str, ...] = ()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask further values from now on; one thread alone may call this, others may mask meanwhile."""
        new = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET} - self._known
        if not new:
            return
        self._known |= new | {secret.strip() for secret in new}
        self._forms += tuple({form for secret in new for form in _forms(secret)})
        self._base64_forms += tuple({form for secret in new for form in _base64_forms(secret)})
        for escaped in ("_in_json", "_in_html"):  # made anew at their next use
            self.__dict__.pop(escaped, None)

    def __call__(self, text: str) -> str:
        """Return `text` with every secret replaced by `[secret]`; never raises."""
        spans = [span for form in self._forms if form in text for span in _places(text, form)]
        spans += [span for form in self._base64_forms if form in text for span in _base64_places(text, form)]
        if "\\" in text:
            spans += [found.span() for pattern in self._in_json for found in pattern.finditer(text)]
        if "&" in text:
            spans += [found.span() for pattern in self._in_html for found in pattern.finditer(text)]
        if spans:
            text = _mask(text, spans)
        for shape in _SHAPES:
            if shape.hint not in text or (shape.after_hint and not re.search(shape.hint + shape.after_hint, text)):
                continue
            text = re.sub(shape.pattern, shape.mask, text)
        return text

    @cached_property
    def _in_json(self) -> tuple[re.Pattern[str], ...]:
        return _escaped(self._known, _json_spellings)

    @cached_property
    def _in_html(self) -> tuple[re.Pattern[str], ...]:
        return _escaped(self._known, _html_spellings)


def _mask(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace every stretch that one span or several overlapping ones cover."""
    pieces: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start > end or not pieces:
            pieces.append(text[end:start])
        end = max(end, stop)
    return MASK.join([*pieces, text[end:]])


def _places(text: str, form: str) -> Iterator[tuple[int, int]]:
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        yield start, end
        start = text.find(form, end)


def _base64_places(text: str, form: str) -> Iterator[tuple[int, int]]:
    """Yield where base64 text with the form starts to depend on the secret, and where it ends."""
    start = text.find(form)
    while start >= 0:
        rest = re.compile(_REST_OF_BASE64).match(text, start)
        end = rest.end() if rest else start
        yield start, end
        start = text.find(form, end)


def _forms(secret: str) -> set[str]:
    """Return the value as it looks raw, stripped, in a URL, in `repr` and in hex."""
    from urllib.parse import quote, quote_plus

    raw = secret.encode(errors="surrogatepass")
    in_url = {quote(raw, safe=""), quote(raw), quote(raw, safe="!$&'()*+,;=:@/"), quote_plus(raw)}
    forms = {
        secret,
        secret.strip(),
        *in_url,
        *(re.sub("%..", lambda match: match[0].lower(), form) for form in in_url),
        repr(secret)[1:-1],
        raw.hex(),
        raw.hex().upper(),
    }
    return {form for form in forms if len(form) >= SHORTEST_SECRET}


def _escaped(secrets: Iterable[str], spellings: Callable[[str], Iterable[str]]) -> tuple[re.Pattern[str], ...]:
    """Return patterns for the values that an escaper changes."""
    plain = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return tuple(
        re.compile("".join(char if char in plain else f"(?:{'|'.join(spellings(char))})" for char in secret))
        for secret in secrets
        if len(secret) >= SHORTEST_SECRET and not plain.issuperset(secret)
    )


def _json_spellings(char: str) -> Iterator[str]:
    """Yield patterns for a character in a JSON string, or behind the backslash of another escaper."""
    # Only doubled: where one would do as well, a run of them could be read in too many ways.
    yield r"\\\\" if char == "\\" else rf"\\?{re.escape(char)}"
    units = char.encode("utf-16-be", errors="surrogatepass").hex()
    yield "".join(rf"\\u(?i:{units[start : start + 4]})" for start in range(0, len(units), 4))
    if char in _JSON_ESCAPES:
        yield rf"\\{_JSON_ESCAPES[char]}"


def _html_spellings(char: str) -> Iterator[str]:
    """Yield patterns for a character in HTML: as it is, by its number, or by its name."""
    yield re.escape(char)
    yield rf"&#(?:0*{ord(char)}|[xX]0*(?i:{ord(char):x}));"
    if char in _ENTITIES:
        yield rf"&{_ENTITIES[char]};"


def _base64_forms(secret: str) -> set[str]:
    """Return the base64 characters that depend on the value alone, wherever it stands in a longer text."""
    from binascii import b2a_base64

    raw = secret.encode(errors="surrogatepass")
    forms = set()
    for before in range(3):  # bytes in front of it modulo 3: more only shift the whole
        encoded = b2a_base64(bytes(before) + raw, newline=False).decode()
        forms.add(encoded[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6])
    return forms | {form.replace("+", "-").replace("/", "_") for form in forms}
