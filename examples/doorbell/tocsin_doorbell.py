"""doorbell: a channel that also receives, in one file. The product is made up: a bell with a web hook.

It calls `/webhook/doorbell` with a JSON object and, in the header `X-Doorbell-Proof`, the HMAC of its bytes.
"""

import hmac
import json

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.inbound import InboundAdapter, InboundMessage, MessageKind, RejectedError, WebhookRequest
from tocsin.channels.replies import unusable
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.reading.untrusted import clean_text, identifier, json_object, named

URL = Variable("DOORBELL_URL", base_url, "", "Address of the bell.", required=True)
SECRET = Variable(
    "DOORBELL_SECRET", token, "", "Secret of the web hook; without it every call is rejected.", secret=True
)


class DoorbellInbound(InboundAdapter):
    """Reads what visitors say into the bell."""

    name = "doorbell"

    def verify(self, request: WebhookRequest, now: float) -> None:
        """Compare the proof with our own over the raw bytes."""
        secret = self.config[SECRET]
        if not secret:
            raise RejectedError("no secret is configured", hint=f"set {SECRET.name}")
        expected = hmac.new(secret.encode(), request.body, "sha256").hexdigest()
        if not hmac.compare_digest(expected, request.agreed_value("x-doorbell-proof")):
            raise RejectedError("the proof does not match", hint=f"compare {SECRET.name}")

    async def receive(self, request: WebhookRequest) -> InboundMessage | None:
        """Return the message of a visitor; `None` if the bell only reports that it works."""
        call = json_object(request.body) or {}
        ring, text = identifier(call.get("ring")), clean_text(call.get("text"))
        if not ring or not text:
            return None
        return InboundMessage(
            channel=self.name,
            kind=MessageKind.MESSAGE,
            id=ring,
            dedupe_keys=(f"ring:{ring}",),
            chat_id="door",
            text=text,
            sender_name=named(call.get("visitor")),
            received_at=self.clock.now(),
        )

    def reply_target(self, message: InboundMessage) -> str:
        """Answer where the visitor stands."""
        return message.chat_id


class DoorbellAdapter(OutboundAdapter):
    """Speaks through the bell."""

    spec = ChannelSpec(
        kind="doorbell",
        label="Doorbell",
        product="Doorbell",
        options=(URL,),
        receiving=(SECRET,),
        proof=SECRET,
        target_format="the word door",
        inbound=("webhook",),
    )

    @classmethod
    def receiver(cls) -> type[InboundAdapter]:
        """Return the inbound side."""
        return DoorbellInbound

    async def deliver(self, part: Part) -> str:
        """Say one part."""
        body = json.dumps({"say": part.text}).encode()
        reply = await self.http.request("POST", f"{self.config[URL]}/say", headers={}, body=body)
        if reply.status != 200:
            raise unusable(reply, URL.name)
        return "said"

    async def probe(self) -> str:
        """Ask the bell for its name."""
        reply = await self.http.request("GET", f"{self.config[URL]}/", headers={})
        if reply.status != 200:
            raise unusable(reply, URL.name)
        return "bell"
