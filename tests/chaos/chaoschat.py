"""The channel of the chaos suite: no pace of its own, so that only Tocsin decides how fast it goes.

It is copied into a directory of its own and found there as any other plug-in is.
"""

import json

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.replies import rate_limited, refused, unusable
from tocsin.core.config.variables import Variable, base_url, token

TOKEN = Variable("CHAOSCHAT_TOKEN", token, "", "Any text.", secret=True, required=True)
URL = Variable("CHAOSCHAT_URL", base_url, "http://127.0.0.1:1", "Address of the recording provider.")
READ = Variable("CHAOSCHAT_READ_S", float, 20.0, "How long the next byte of an answer is waited for.")
NONCE_TOKEN = Variable("NONCECHAT_TOKEN", token, "", "Any text.", secret=True, required=True)
NONCE_URL = Variable("NONCECHAT_URL", base_url, "http://127.0.0.1:1", "Address of the recording provider.")
NONCE_READ = Variable("NONCECHAT_READ_S", float, 20.0, "How long the next byte of an answer is waited for.")


class ChaoschatAdapter(OutboundAdapter):
    """Posts to the recording provider."""

    spec = ChannelSpec(
        kind="chaoschat",
        label="Chaos",
        product="recording provider of the chaos suite",
        secrets=(TOKEN,),
        options=(URL, READ),
    )
    address, read = URL, READ

    async def deliver(self, part: Part) -> str:
        """Post the text; the provider reads in it what to do to us."""
        body = json.dumps({"target": part.target, "text": part.text, "key": part.key, "channel": self.spec.kind})
        url = f"{self.config[self.address]}/send"
        headers = {"Content-Type": "application/json"}
        read_s = json.loads(part.text).get("read_s", self.config[self.read])
        times = {"read_timeout_s": read_s, "timeout_s": 1.25 * read_s}
        reply = await self.http.request("POST", url, headers=headers, body=body.encode(), **times)
        answer = reply.json_object()
        if answer is None or not (reply.status != 200 or isinstance(answer.get("id"), int)):
            raise unusable(reply, self.address.name)
        if reply.status == 429:
            raise rate_limited(reply.retry_after_s(), whole_account="x-whole-account" in reply.headers)
        if reply.status != 200:
            raise refused(f"HTTP {reply.status}")
        return f"id={answer['id']}"

    async def probe(self) -> str:
        """Nobody asks."""
        return "chaos"


class NoncechatAdapter(ChaoschatAdapter):
    """The same for a provider that drops a second message with the same key."""

    spec = ChannelSpec(
        kind="noncechat",
        label="Nonce",
        product="recording provider of the chaos suite, dropping repeats",
        secrets=(NONCE_TOKEN,),
        options=(NONCE_URL, NONCE_READ),
        recognises_repeats=True,
    )
    address, read = NONCE_URL, NONCE_READ
