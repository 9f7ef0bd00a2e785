"""The interface of a protocol, and what several protocols do alike."""

import base64
import binascii
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from tocsin.core.config.settings import Values
from tocsin.core.errors import TocsinError
from tocsin.core.text.strings import truncate
from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest
from tocsin.features.doors.receiving.bodies import read_body
from tocsin.features.doors.rules.generic import is_link
from tocsin.features.front_door import FrontResponse

MIB = 1024 * 1024
RETRY_AFTER_S = 30
MAX_MESSAGES = 256  # of one stored request
MAX_ACTIONS, MAX_LABEL, MAX_URL = 5, 40, 2_000  # docs/messages.md


class BadRequestError(TocsinError):
    """A request that a protocol refuses; `status` and `code` are for its answer."""

    code: ClassVar[str] = "validation-failed"

    def __init__(self, message: str, *, status: int = 400, detail: int | str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail  # the protocol's own code of the error


class RefusalReason(Enum):
    """The reason for a refused request, with the status that fits most protocols."""

    UNKNOWN_TOKEN = 404
    MISSING_TOKEN = 401
    WRONG_SOURCE = 403  # the address is not on the list of the door
    WRONG_SIGNATURE = 401.1
    BAD_REQUEST = 400
    TOO_LARGE = 413
    UNSUPPORTED_ENCODING = 415
    TOO_MANY = 503.1  # not 429: many senders take it for a final no
    UNAVAILABLE = 503

    @property
    def status(self) -> int:
        """The status of the response."""
        return int(self.value)


class Refusal(NamedTuple):
    """A refused request."""

    reason: RefusalReason
    text: str  # one sentence for the person who reads the sender's log
    error: BadRequestError | None = None  # of BAD_REQUEST
    request: DoorRequest = DoorRequest()

    @property
    def status(self) -> int:
        """The status of the response."""
        return self.error.status if self.error else self.reason.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the response."""
        return {"Retry-After": str(RETRY_AFTER_S)} if self.status in {429, 503} else {}


class StoredReceipt(NamedTuple):
    """A request that was stored."""

    request: DoorRequest  # with the time in `at`
    id: int  # counts the requests of all doors
    messages: Sequence[DoorMessage] = ()  # what `read` returned, if it was called before
    door: str = ""  # name of the door


class ProtocolRoute(NamedTuple):
    """A path of a protocol."""

    path: str
    methods: Sequence[str] = ("POST",)


class DoorProtocol(ABC):
    """The protocol of the senders of a door."""

    name: ClassVar[str]
    label: ClassVar[str]
    routes: ClassVar[Sequence[ProtocolRoute]]
    max_bytes: ClassVar[int] = MIB
    checks_first: ClassVar[bool] = True
    preset: ClassVar[str] = ""  # of doors for which none is chosen

    def mint(self) -> str:
        """Return a new token; by default 43 characters of base64url."""
        return secrets.token_urlsafe(32)

    def token_of(self, request: DoorRequest) -> str:
        """Return the token of a request, empty if it has none; by default the parameter `token` of the path."""
        return request.path.get("token", "")

    def bytes_for_token(self, request: DoorRequest) -> int:
        """Return up to which size a body is read to find its token; 0 if the token is never in it."""
        return 0

    def file_name(self, request: DoorRequest) -> str | None:
        """Return the name of the file that a body is by its headers; `None` if it is read into memory."""
        return None

    def is_file(self, request: DoorRequest) -> bool:
        """Whether a body in memory is a file; by default not."""
        return False

    def secrets_in(self, token: str) -> Sequence[str]:
        """Return the spellings of a token in a request; what has one of them is not stored."""
        return (token,)

    def base_url(self, settings: Values) -> str:
        """Return the root of the address that senders use; by default empty: that of the front door."""
        return ""

    @abstractmethod
    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address to paste into a sender."""

    def further_urls(self, base_url: str, token: str) -> Mapping[str, str]:
        """Return further forms of the address, by the fields of DoorAddress."""
        return {}

    @abstractmethod
    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Read a request into messages; raises BadRequestError."""

    def divided(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> Sequence[DoorRequest]:
        """Return the requests that are stored for one, each of at most MAX_MESSAGES messages; by default itself."""
        return (request,)

    def accepted_status(self, request: DoorRequest, messages: Sequence[DoorMessage]) -> int:
        """Return the status of the answer to a request that will be stored; `messages` as in StoredReceipt."""
        return 200

    def spelled(self, messages: Sequence[DoorMessage]) -> str:
        """Return what `read` returned as people see it; by default empty: they see the body."""
        return ""

    def accepted(self, receipt: StoredReceipt) -> FrontResponse:
        """Return the answer to a stored request."""
        return json_response({"status": "accepted", "id": str(receipt.id)})

    def refused(self, refusal: Refusal) -> FrontResponse:
        """Return the answer to a refused request."""
        return json_response({"error": refusal.text}, refusal.status, refusal.headers)

    def aside(self, request: DoorRequest) -> FrontResponse | None:
        """Return the answer to a request that needs no token, such as a version query; `None` for others."""
        return None

    def greet(self, request: DoorRequest, door: str) -> FrontResponse | None:
        """Return the answer to a request with the token of a door that is not a message; `None` for messages."""
        return None

    @abstractmethod
    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return by product what to do there, as a few lines of text."""


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> FrontResponse:
    """Return a JSON response."""
    body = json.dumps(document, separators=(",", ":")).encode()
    return FrontResponse(status, body, "application/json", headers or {})


def read_object(request: DoorRequest) -> Mapping[str, Any]:
    """Return a body of JSON, or of a form, as an object; raises BadRequestError."""
    body = read_body(request)
    if not isinstance(body.payload, dict):
        raise BadRequestError(body.note or "the body is not a JSON object")
    return body.payload


def text_in(document: Mapping[str, Any], name: str) -> str:
    """Return a member as text; empty if it is missing, or neither a text nor a number."""
    value = document.get(name)
    return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def objects_in(document: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list, at most 100."""
    value = document.get(name)
    return [each for each in value[:100] if isinstance(each, dict)] if isinstance(value, list) else []


def link_buttons(found: Iterable[tuple[str, str]]) -> Mapping[str, Any]:
    """Return `actions` for labels with their addresses, as far as messages can have them."""
    good = {url: label for label, url in found if is_link(url) and len(url) <= MAX_URL}
    actions = [
        {"action": "view", "label": truncate(_line(label) or "Open", MAX_LABEL), "url": url}
        for url, label in good.items()
    ]
    return {"actions": actions[:MAX_ACTIONS]} if actions else {}


def _line(text: str) -> str:
    return "".join(each for each in " ".join(text.split()) if each.isprintable()).strip()


def names_of_files(request: DoorRequest, *others: str) -> str:
    """Return the names of the files of a request, and of others, for people."""
    return ", ".join([*(each["name"] for each in request.files), *others][:10])


def authorization_token(request: DoorRequest) -> str:
    """Return the token of the header Authorization: Bearer, or the password of Basic; empty without one."""
    scheme, _, credentials = request.headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
