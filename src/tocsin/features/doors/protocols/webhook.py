"""Any webhook: JSON, forms, text and files, of which rules make messages."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tocsin.features.doors.model import DoorAddress, DoorMessage, DoorRequest
from tocsin.features.doors.protocols.protocol import MIB, DoorProtocol, ProtocolRoute, json_response
from tocsin.features.doors.receiving.bodies import read_body
from tocsin.features.front_door import ANY_METHOD, FrontResponse


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
        return [DoorMessage(payload=body.payload, note=body.note)]

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
