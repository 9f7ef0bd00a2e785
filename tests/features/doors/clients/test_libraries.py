"""Unmodified clients of other products send through doors; each is given another address, and nothing else."""

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.features.doors.clients.conftest import run
from tests.features.doors.conftest import FrontBench


class Sender(NamedTuple):
    """A client: the protocol of its door, its program, and what must arrive."""

    name: str
    protocol: str
    code: str  # with `door`, `url`, `base`, `token`, `topic`, `other` and `place` of the door
    title: str
    text: str
    type: str = "info"
    fields: dict[str, Any] = {}  # noqa: RUF012  # further fields of the message


APPRISE = """
import apprise
sender = apprise.Apprise()
assert sender.add({address})
assert sender.notify(title="Disk full", body="91 %", notify_type={type!r}{more})
"""


def apprise(name: str, protocol: str, address: str, type_: str, text: str = "91 %", more: str = "") -> Sender:
    severity = {"failure": "failure", "warning": "warning", "success": "success"}.get(type_, "info")
    code = APPRISE.format(address=address, type=type_, more=more)
    return Sender(f"apprise, {name}", protocol, code, "Disk full", text, severity)


SENDERS = [
    apprise("its API by a form", "apprise", "other", "failure"),
    apprise("its API by JSON", "apprise", "other + '?method=json'", "warning"),
    apprise("its API of version 1", "apprise", "other + '?method=json&version=1'", "success"),
    apprise("its API with tags", "apprise", "other + '?tags=ops'", "info"),
    apprise("its API with a file", "apprise", "other", "info", more=", attach=__file__"),
    apprise("its API with a file in JSON", "apprise", "other + '?method=json'", "info", more=", attach=__file__"),
    apprise("ntfy with the secret topic", "ntfy", "f'ntfy://{place}/{topic}'", "info"),
    apprise("ntfy with the token", "ntfy", "f'ntfy://{token}@{place}/{door}?priority=max'", "info")._replace(
        type="failure"
    ),
    apprise("Gotify", "gotify", "f'gotify://{place}/{token}?priority=high'", "info")._replace(type="failure"),
    apprise("Mattermost", "slack", "f'mmost://{place}/{token}'", "info")._replace(title="", text="Disk full\n91 %"),
    apprise("JSON", "webhook", "url.replace('http', 'json', 1)", "failure", "91 %"),
    apprise("form", "webhook", "url.replace('http', 'form', 1)", "failure", "91 %"),
    Sender(
        "python-ntfy",
        "ntfy",
        """
from python_ntfy import NtfyClient
client = NtfyClient(topic=door, server=base, auth=token)
said = client.send("91 %", title="Disk full", priority=client.MessagePriority.HIGH, tags=["db"],
    actions=[client.ViewAction(label="Graph", url="https://example.org/g")])
assert "error" not in str(said), said
""",
        "Disk full",
        "91 %\nTags: db",
        "warning",
        {"actions": [{"action": "view", "label": "Graph", "url": "https://example.org/g"}]},
    ),
    Sender(
        "python-ntfy with a file",
        "ntfy",
        "from python_ntfy import NtfyClient\nNtfyClient(topic=topic, server=base).send_file(__file__, title='T')",
        "T",
        "You received a file: sender.py",
    ),
    Sender(
        "ntfpy",
        "ntfy",
        "from ntfpy import raw_send\nassert raw_send(base, topic, '91 %', title='Disk full').status_code == 200",
        "Disk full",
        "91 %",
    ),
    Sender(
        "gotify",
        "gotify",
        """
from gotify import Gotify
said = Gotify(base_url=base, app_token=token).create_message("**91** %", title="Disk full", priority=8,
    extras={"client::display": {"contentType": "text/markdown"}})
assert said["message"] == "**91** %" and isinstance(said["id"], int), said
""",
        "Disk full",
        "**91** %",
        "failure",
    ),
    Sender(
        "gotify-message",
        "gotify",
        """
from gotify_message import GotifyNotification
note = GotifyNotification(url=base, token=token, title="Disk full", message="91 %", priority=5)
assert (note.health, note.database) == ("green", "green")
assert note.send() is not False and note.delivered
""",
        "Disk full",
        "91 %",
        "warning",
    ),
    Sender(
        "slack-sdk",
        "slack",
        """
from slack_sdk.webhook import WebhookClient
said = WebhookClient(other).send(text="hello", blocks=[
    {"type": "header", "text": {"type": "plain_text", "text": "Disk full"}},
    {"type": "section", "text": {"type": "mrkdwn", "text": "*91* % on <https://example.org/db1|db1>"}}])
assert (said.status_code, said.body) == (200, "ok"), said.body
""",
        "Disk full",
        "**91** % on [db1](<https://example.org/db1>)",
    ),
    Sender(
        "slack-webhook",
        "slack",
        "from slack_webhook import Slack\nassert Slack(url=url).post(text='It works') == 'ok'",
        "",
        "It works",
    ),
    Sender(
        "matterhook",
        "slack",
        "from matterhook import Webhook\nWebhook(base, token).send('It works', channel='x')",
        "",
        "It works",
    ),
    Sender(
        "discord-webhook",
        "discord",
        """
from discord_webhook import DiscordEmbed, DiscordWebhook
hook = DiscordWebhook(url=url, content="see", wait=True)
hook.add_embed(DiscordEmbed(title="Disk full", description="91 %", color="ff0000"))
hook.add_file(file=b"hi", filename="a.txt")
said = hook.execute()
assert said.status_code == 200 and said.json()["content"] == "see", said.text
""",
        "Disk full",
        "see\n\n91 %",
        "failure",
    ),
    Sender(
        "pdpyras",
        "pagerduty",
        """
import pdpyras
session = pdpyras.EventsAPISession(token)
session.url = base
key = session.trigger("Disk full", "db1", severity="warning", custom_details={"used": "91 %"})
assert key == session.acknowledge(key) or key
""",
        "Disk full",
        "source: db1\nused: 91 %",
        "warning",
    ),
]
HEAD = "door, url, base, token, topic, other, place = "
# The senders of one library share its process: to load it takes longer than to send.
LIBRARIES = [[each for each in SENDERS if each.name.startswith("apprise")]]
LIBRARIES += [[each] for each in SENDERS if each not in LIBRARIES[0]]


@pytest.mark.parametrize("senders", LIBRARIES, ids=lambda senders: senders[0].name.partition(",")[0])
async def test_a_client_succeeds_with_another_address(
    senders: list[Sender], python: Path, listening: FrontBench, tmp_path: Path
):
    code = ""
    for number, sender in enumerate(senders):
        address = await listening.add(f"door{number}", protocol=sender.protocol)
        further = address.services_url or address.apprise_url
        topic, place = address.url.rpartition("/")[2], urlsplit(address.base_url).netloc
        values = (address.name, address.url, address.base_url, address.token, topic, further, place)
        code += f"{HEAD}{values!r}\n{sender.code}\n"
    script = tmp_path / "sender.py"
    script.write_text(code)

    await run([python, script])

    for sender, sent in zip(senders, await listening.work(), strict=True):
        found = (sent.content.get("title", ""), sent.message, sent.content.get("type"))
        assert found == (sender.title, sender.text, sender.type), sender.name
        assert {name: sent.content[name] for name in sender.fields} == sender.fields


async def test_a_signature_of_standard_webhooks_is_verified(python: Path, listening: FrontBench, tmp_path: Path):
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    address = await listening.add("door", secret, preset="standard-webhooks")
    script = tmp_path / "signer.py"
    script.write_text(
        """
import datetime, sys, urllib.request
from standardwebhooks.webhooks import Webhook
url, secret = sys.argv[1:]
body, now = '{"type": "disk.full", "data": {"message": "91 %"}}', datetime.datetime.now(tz=datetime.timezone.utc)
headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())),
    "webhook-signature": Webhook(secret).sign("msg_1", now, body), "Content-Type": "application/json"}
assert urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)).status == 200
"""
    )
    await run([python, script, address.url, secret])

    assert len(await listening.work()) == 1


async def test_curl_needs_no_more_than_the_printed_line(listening: FrontBench):
    address = await listening.add("door")
    assert '"accepted"' in await run(["curl", "-sS", "-f", "-d", "It works", address.url])

    assert [each.message for each in await listening.work()] == ["It works"]
