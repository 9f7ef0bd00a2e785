"""webhookchat: a whole channel in one file. It publishes to a server of ntfy, which Tocsin has a larger channel for.

Install this directory (`pip install .`) next to Tocsin, and it is in `tocsin channels`, `tocsin send`,
`tocsin config show`, the gateway and profiles: no other file names it. Source: ntfy docs, "Publishing".
"""

import json
import re
from typing import Any

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.replies import rate_limited, refused, unusable
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.errors import ChannelError, FailureKind

TOKEN = Variable("WEBHOOKCHAT_TOKEN", token, "", "Access token `tk_…` of the account.", secret=True, required=True)
URL = Variable("WEBHOOKCHAT_URL", base_url, "https://ntfy.sh", "Address of the ntfy server.")

# What to do about an error, by the server's code; one that is not here is shown as it is.
ADVICE = {
    40009: "a topic has 1 to 64 letters, digits, _ and -",
    40101: "invalid token; copy it again into WEBHOOKCHAT_TOKEN",
    40301: "the account may not write to that topic; reserve it, or ask its owner",
}


def utf8_bytes(text: str) -> int:
    """Count bytes: that is how the server measures."""
    return len(text.encode("utf-8", "surrogatepass"))


class WebhookchatAdapter(OutboundAdapter):
    """Publishes to topics."""

    spec = ChannelSpec(
        kind="webhookchat",
        label="Webhookchat",
        product="ntfy publish API",
        aliases=("hookchat",),
        secrets=(TOKEN,),
        options=(URL,),
        target_format="name of a topic: 1 to 64 letters, digits, _ and -",
        max_length=4_096,  # the server turns longer texts into attachments
        chunk_at=4_000,
        measure=utf8_bytes,
    )

    def check_target(self, target: str) -> str:
        """Accept the name of a topic."""
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", target):
            raise ChannelError(f"{target!r} is not a topic", hint=f"write the {self.spec.target_format}")
        return target

    async def deliver(self, part: Part) -> str:
        """Publish one part; the note is the message's ID."""
        body = json.dumps({"topic": part.target, "message": part.text}).encode()
        return f"id={(await self._call('POST', '/', body, proof='id'))['id']}"

    async def probe(self) -> str:
        """Look up the account that the token belongs to."""
        return str((await self._call("GET", "/v1/account", proof="username"))["username"])

    async def _call(self, method: str, path: str, body: bytes = b"", *, proof: str) -> dict[str, Any]:
        """Return the answer; only one that has the field `proof` comes from the server itself."""
        headers = {"Authorization": f"Bearer {self.config[TOKEN]}", "Content-Type": "application/json"}
        reply = await self.http.request(method, f"{self.config[URL]}{path}", headers=headers, body=body)
        answer = reply.json_object() or {}
        if reply.status == 200 and isinstance(answer.get(proof), str):
            return answer
        if not isinstance(answer.get("code"), int) or reply.status < 400:
            raise unusable(reply, URL.name)
        said = " ".join(f"{answer['code']} {answer.get('error', '')}".split())[:200]
        if reply.status == 429:
            raise rate_limited(reply.retry_after_s(), said)
        kind = FailureKind.TRANSIENT if reply.status >= 500 else FailureKind.PERMANENT
        raise refused(said, ADVICE.get(answer["code"], ""), kind=kind)
