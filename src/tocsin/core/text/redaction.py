"""Mask secrets in all output of the program: logs, errors, results, audit lines."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from threading import Lock, RLock
from typing import Any, NamedTuple

MASK = "[secret]"
# Shorter values would mask ordinary words; the start-up check reports them as insecure anyway.
SHORTEST_SECRET = 4
# For a value of several lines; shorter ones are brackets and common words.
SHORTEST_LINE = 8
# From this number of forms, splitting a text costs less than searching for each form: 300 characters take 15 µs.
MANY_FORMS = 150


class _Shape(NamedTuple):
    """A pattern of secrets with unknown values; every match contains `hint`, which is cheaper to search for."""

    hint: str
    pattern: str
    mask: str
    after_hint: str = ""  # a pattern of the text after the hint in every match, for a hint that many texts contain


# Source: docs/facts/calls.md, "Secrets". Compiled when a text first needs them.
_SHAPES = (
    _Shape("bot", r"bot\d{4,}:[A-Za-z0-9_-]{10,}", f"bot{MASK}"),
    # Every line of JSON has colons: searching for one and the text after it takes 0.5 µs per line, for the number first
    # 11 µs.
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
# The five characters that every escaper of HTML and XML may write by name.
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_JSON_ESCAPES = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_CHANGED = re.compile("[^a-zA-Z0-9]")  # the characters that an escaper may change
_WORDS = re.compile("[a-zA-Z0-9+/_=-]+")  # hex and base64
_SAME_IN_URL = re.compile("[a-zA-Z0-9_.~-]*")
_REST_OF_BASE64 = r"[A-Za-z0-9+/_=-]*"

_Places = Callable[[str, str], Iterator[tuple[int, int]]]
_Further = Callable[[], Iterable[str]]  # never raises
_Spellings = Callable[[str], Iterable[str]]


class Redactor:
    """Replaces known secret values, in all common encodings, and well-known token formats."""

    def __init__(self, secrets: Iterable[str] = (), further: Iterable[_Further] = ()) -> None:
        """Configure the secrets; each function in `further` is called for every text and returns new values."""
        self._further = tuple(further)
        self._asking = RLock()
        self._is_asking = False
        self._learning = Lock()
        self._known: frozenset[str] = frozenset()
        self._forms: dict[str, _Places] = {}
        self._by_start: dict[str, list[str]] = {}  # the forms, if there are many
        self._unencoded: list[tuple[int, str]] = []  # values without these forms yet, and the length of such a form
        self._escapable: dict[str, str] = {}  # values that an escaper changes, and the longest part it leaves unchanged
        self._escaped: dict[tuple[str, _Spellings], re.Pattern[str]] = {}
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Mask further values from now on; thread-safe."""
        if not (given := tuple(secrets)):
            return
        with self._learning:
            new = {form for secret in given for form in (secret, secret.strip())} - self._known
            if not (new := {secret for secret in new if len(secret) >= SHORTEST_SECRET}):
                return
            self._known |= new
            self._escapable |= {
                secret: max(_CHANGED.split(secret), key=len) for secret in new if _CHANGED.search(secret)
            }
            self._add({form: _places for secret in new for form in _forms(secret)})
            self._unencoded = sorted([*self._unencoded, *((_encoded_length(each), each) for each in new)])

    def __call__(self, text: str) -> str:
        """Return `text` with every secret replaced by `[secret]`; never raises."""
        if self._further:
            self._ask_further()
        if (unencoded := self._unencoded) and len(text) >= (shortest := unencoded[0][0]):
            longest = max(map(len, _WORDS.findall(text)), default=0)
            if longest >= shortest:
                self._encode(longest)
        found = [form for form in self._candidates(text) if form in text]
        spans = [span for form in found for span in self._forms[form](text, form)]
        if "\\" in text:
            spans += self._escaped_places(text, _json_spellings)
        if "&" in text:
            spans += self._escaped_places(text, _html_spellings)
        if spans:
            text = _mask(text, spans)
        for shape in _SHAPES:
            if shape.hint not in text or (shape.after_hint and not re.search(shape.hint + shape.after_hint, text)):
                continue
            text = re.sub(shape.pattern, shape.mask, text)
        return text

    def _add(self, forms: Mapping[str, _Places]) -> None:
        self._forms = {**self._forms, **forms}
        self._by_start = _by_start(self._forms)

    def _encode(self, length: int) -> None:
        """Add the hex and base64 forms of the values for which a word of this length is long enough.

        That is most of the work, and most texts have no such word.
        """
        with self._learning:
            ready = bisect_right(self._unencoded, length, key=itemgetter(0))
            if not ready:
                return
            forms: dict[str, _Places] = {}
            for _, secret in self._unencoded[:ready]:
                raw = secret.encode(errors="surrogatepass")
                forms |= dict.fromkeys((raw.hex(), raw.hex().upper()), _places)
                forms |= dict.fromkeys(_base64_forms(raw), _base64_places)
            self._add(forms)
            self._unencoded = self._unencoded[ready:]

    def _ask_further(self) -> None:
        """Learn new values. Other threads wait for it; texts that this thread writes meanwhile do not."""
        with self._asking:
            if self._is_asking:
                return
            self._is_asking = True
            try:
                for further in self._further:
                    self.learn(further())
            finally:
                self._is_asking = False

    def _candidates(self, text: str) -> Iterable[str]:
        """Return the forms that may be in a text: if there are many, those whose first characters are in it."""
        if not (by_start := self._by_start):
            return self._forms
        starts = {text[at : at + SHORTEST_SECRET] for at in range(len(text) - SHORTEST_SECRET + 1)}
        return [form for start in by_start.keys() & starts for form in by_start[start]]

    def _escaped_places(self, text: str, spellings: _Spellings) -> Iterator[tuple[int, int]]:
        for secret, unchanged in list(self._escapable.items()):
            if unchanged in text:
                pattern = self._escaped.get((secret, spellings)) or _escaped(secret, spellings)
                self._escaped[secret, spellings] = pattern
                yield from (found.span() for found in pattern.finditer(text))


def _mask(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace every range that one span or several overlapping ones cover."""
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
    """Yield the ranges of base64 text with the form that depend on the secret."""
    start = text.find(form)
    while start >= 0:
        rest = re.compile(_REST_OF_BASE64).match(text, start)
        end = rest.end() if rest else start
        yield start, end
        start = text.find(form, end)


def _by_start(forms: Collection[str]) -> dict[str, list[str]]:
    """Return the forms by their first characters; empty if there are few, and searching for each is faster."""
    found: dict[str, list[str]] = {}
    if len(forms) > MANY_FORMS:
        for form in forms:
            found.setdefault(form[:SHORTEST_SECRET], []).append(form)
    return found


def _forms(secret: str) -> set[str]:
    """Return the value as it appears raw, in a URL and in `repr`; for several lines also each line."""
    if _SAME_IN_URL.fullmatch(secret):
        return {secret}
    # A program that prints a key prints its lines, and these are masked one by one.
    lines = {line.strip() for line in secret.splitlines() if len(line.strip()) >= SHORTEST_LINE}
    return {secret, repr(secret)[1:-1], *_url_forms(secret.encode(errors="surrogatepass")), *lines}


def _url_forms(raw: bytes) -> Iterator[str]:
    from urllib.parse import quote, quote_plus

    for form in {quote(raw, safe=""), quote(raw), quote(raw, safe="!$&'()*+,;=:@/"), quote_plus(raw)}:
        yield form
        yield re.sub("%..", lambda match: match[0].lower(), form)


def _escaped(secret: str, spellings: _Spellings) -> re.Pattern[str]:
    changed = _CHANGED.fullmatch
    return re.compile("".join(f"(?:{'|'.join(spellings(char))})" if changed(char) else char for char in secret))


def _json_spellings(char: str) -> Iterator[str]:
    """Yield patterns for a character in a JSON string, or after the backslash of another escaper."""
    # Only doubled: if one were also accepted, a run of them could match in too many ways.
    yield r"\\\\" if char == "\\" else rf"\\?{re.escape(char)}"
    units = char.encode("utf-16-be", errors="surrogatepass").hex()
    yield "".join(rf"\\u(?i:{units[start : start + 4]})" for start in range(0, len(units), 4))
    if char in _JSON_ESCAPES:
        yield rf"\\{_JSON_ESCAPES[char]}"


def _html_spellings(char: str) -> Iterator[str]:
    """Yield patterns for a character in HTML: unescaped, by its number, or by its name."""
    yield re.escape(char)
    yield rf"&#(?:0*{ord(char)}|[xX]0*(?i:{ord(char):x}));"
    if char in _ENTITIES:
        yield rf"&{_ENTITIES[char]};"


def _encoded_length(secret: str) -> int:
    """Return the minimum length of the shortest form of `_base64_forms`."""
    return len(secret.encode(errors="surrogatepass")) * 8 // 6 - 1


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the base64 characters that depend on the value alone, at any offset in a longer text."""
    from binascii import b2a_base64

    for before in range(3):  # bytes before it modulo 3: more only shift the whole
        encoded = b2a_base64(bytes(before) + raw, newline=False).decode()
        form = encoded[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
        yield form
        if "+" in form or "/" in form:
            yield form.replace("+", "-").replace("/", "_")


def redact_json(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with the secrets in its texts masked."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list | tuple):
        return [redact_json(each, redact) for each in value]
    return {name: redact_json(each, redact) for name, each in value.items()} if isinstance(value, Mapping) else value
