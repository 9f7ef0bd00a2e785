"""The entry of a service in `targets.yaml`."""

import re

from tocsin.channels.targets import secret_text
from tocsin.core.reading.fields import Field, RecordType

# Services that do not deliver over a network, those that lead back here, and mail, of which an address may have several
# recipients that the library does not count.
REFUSED_SCHEMES = {
    **dict.fromkeys(("apprise", "apprises"), "a relay, which may lead back here: write the address of the service"),
    **dict.fromkeys(("mailto", "mailtos"), "an address for mail, for which there is a channel of its own"),
    **dict.fromkeys(
        ("blink1", "dbus", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"),
        "an address of this machine, which a service has no use for",
    ),
}
_MATRIX = {"matrix", "matrixs"}


def check_url(text: str) -> None:
    """Raise ValueError unless a text is the address of a service, by its form."""
    found = re.fullmatch(r"([A-Za-z0-9]{2,20})://\S+", text)
    if found is None or not text.isprintable():
        raise ValueError("not the address of a service: `tocsin channels --services` shows the form of each")
    if reason := REFUSED_SCHEMES.get(found[1].lower()):
        raise ValueError(reason)
    if found[1].lower() in _MATRIX and not re.search(r"[?&]e2ee=yes(?:&|$)", text, re.IGNORECASE):
        raise ValueError(
            "an address of Matrix, for which there is a channel of its own: without `e2ee=yes`, the library sends "
            "clear text into encrypted rooms"
        )


TARGET = RecordType(
    (Field("url", secret_text(check_url), required=True, doc="Address of the service, which is a secret"),),
    short="url",
)
