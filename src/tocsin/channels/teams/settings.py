"""The entry of a workflow in `targets.yaml`."""

from urllib.parse import urlsplit

from tocsin.channels.targets import secret_text
from tocsin.core.http.addresses import is_private
from tocsin.core.reading.fields import Field, RecordType


def check_url(text: str) -> None:
    """Raise ValueError unless a text is the address of a workflow."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("not the address of a workflow: copy it from the trigger of the workflow")
    if host == "outlook.office.com" or host.endswith("webhook.office.com"):
        raise ValueError("the address of a connector, which Microsoft has ended: create a workflow")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_private(host)):
        raise ValueError("not encrypted: the address of a workflow begins with https://")


TARGET = RecordType(
    (Field("url", secret_text(check_url), required=True, doc="Address of the workflow's trigger, which is a secret"),)
)
