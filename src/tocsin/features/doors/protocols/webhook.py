"""Any webhook: JSON, forms, text and files, of which rules make messages."""

from collections.abc import Mapping, Sequence
from email.message import Message as Header
from mimetypes import guess_extension
from typing import ClassVar

from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest
from tocsin.features.doors.protocols.protocol import MIB, DoorProtocol, ProtocolRoute, json_response, names_of_files
from tocsin.features.doors.receiving.bodies import media_type, read_body
from tocsin.features.front_door import ANY_METHOD, FrontResponse

_FILES = ("image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/gzip")
_TEXTS = ("text/", "application/json", "application/xml")


class WebhookProtocol(DoorProtocol):
    """A POST of anything; PUT and GET, too, for senders that can do nothing else."""

    name: ClassVar[str] = "webhook"
    label: ClassVar[str] = "Webhook"
    routes: ClassVar[Sequence[ProtocolRoute]] = (ProtocolRoute("/in/{token}", ANY_METHOD),)
    max_bytes: ClassVar[int] = 8 * MIB
    checks_first: ClassVar[bool] = False

    def url(self, base_url: str, token: str, door: str) -> str:
        """Return the address that takes everything."""
        return f"{base_url}/in/{token}"

    def read(self, request: DoorRequest) -> Sequence[DoorMessage]:
        """Return the body as a payload; one that is not what it claims to be is text."""
        body = read_body(request)
        if request.files and body.payload.keys() == {"files"}:
            said = f"You received a file: {names_of_files(request)}"
            return [DoorMessage(payload={"message": said, **body.payload}, note=body.note)]
        return [DoorMessage(payload=body.payload, note=body.note)]

    def file_name(self, request: DoorRequest) -> str | None:
        """Return the name in Content-Disposition, or one for a media type that is never text."""
        header, kind = Header(), media_type(request)
        header["Content-Disposition"] = request.headers.get("content-disposition", "")
        if name := header.get_filename():
            return name
        return f"attachment{guess_extension(kind) or ''}" if kind.startswith(_FILES) else None

    def is_file(self, request: DoorRequest) -> bool:
        """Whether a body that does not claim to be text has a null byte, which a form never has."""
        return b"\x00" in request.body and not media_type(request).startswith(_TEXTS)

    def greet(self, request: DoorRequest, door: str) -> FrontResponse | None:
        """Answer a GET without a message, as browsers and some senders make it to try an address."""
        tries = request.method in {"GET", "HEAD"} and not request.query and not request.body
        return json_response({"status": "ready", "door": door}) if tries else None

    def instructions(self, address: DoorAddress) -> Mapping[str, str]:
        """Return what to do in any product, and with curl."""
        return {
            "any product": f"Set the URL of its webhook to {address.url}",
            "curl": f"curl -d 'It works' {address.url}",
        }
