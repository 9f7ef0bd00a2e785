"""Notifications as feeds: JSON Feed 1.1 (jsonfeed.org/version/1.1) and Atom (RFC 4287)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urljoin
from uuid import NAMESPACE_URL, uuid5

from tocsin.core.config.core_variables import DASHBOARD_HOST, DASHBOARD_PORT
from tocsin.core.config.settings import Values
from tocsin.core.time.timestamps import timestamp
from tocsin.features.notifications.model import Notification

ATOM = "http://www.w3.org/2005/Atom"
# Characters that XML 1.0 does not allow, even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PICTURES = 0x2400  # U+2400 shows U+0000, and so on. Validators reject U+FFFD as wrongly encoded text.
_OF_ADDRESSES = "%/:=&?~#+!$,;'@()*[]"  # source: RFC 3986, section 2.2


@dataclass(frozen=True, slots=True)
class FeedAddress:
    """The base URL of the dashboard, such as `http://127.0.0.1:8200/`, and the path of the feed."""

    home: str
    path: str = "api/notifications/feed"

    @property
    def feed(self) -> str:
        """The URL of the feed."""
        return urljoin(self.home, self.path)

    def page(self, notification: Notification) -> str:
        """Return the URL of the page that a notification links to."""
        address = urljoin(self.home, notification.link or "#/notifications")
        return quote(address, safe=_OF_ADDRESSES, errors="replace")


def feed_address(settings: Values) -> FeedAddress:
    """Return the address of the dashboard, to which the feeds belong."""
    host = settings[DASHBOARD_HOST]
    shown = f"[{host}]" if ":" in host else host
    return FeedAddress(f"http://{shown}:{settings[DASHBOARD_PORT]}/")


def json_feed(notifications: Sequence[Notification], address: FeedAddress) -> dict[str, object]:
    """Return a JSON Feed 1.1 of notifications, newest first."""
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Tocsin notifications",
        "home_page_url": address.home,
        "feed_url": address.feed,
        "items": [_item(each, address) for each in notifications],
    }


def _item(notification: Notification, address: FeedAddress) -> dict[str, object]:
    return {
        "id": f"urn:uuid:{notification.id}",
        "url": address.page(notification),
        "title": notification.title,
        "content_text": notification.body or notification.title,
        "date_published": timestamp(notification.created_at),
        "date_modified": timestamp(notification.last_at),
        "tags": [str(notification.level), str(notification.category)],
    }


def atom_feed(notifications: Sequence[Notification], address: FeedAddress, *, now: float) -> str:
    """Return an Atom feed of notifications, newest first; `now` dates an empty one."""
    from xml.etree import ElementTree as Xml

    feed = Xml.Element("feed", xmlns=ATOM)

    def put(parent: Xml.Element, name: str, text: str = "", **attributes: str) -> None:
        clean = {key: _NOT_XML.sub(_pictured, value) for key, value in attributes.items()}
        Xml.SubElement(parent, name, clean).text = _NOT_XML.sub(_pictured, text) or None

    updated = max((each.last_at for each in notifications), default=now)
    put(feed, "id", uuid5(NAMESPACE_URL, address.feed).urn)
    put(feed, "title", "Tocsin notifications")
    put(feed, "updated", timestamp(updated) or "")
    put(feed, "link", rel="self", type="application/atom+xml", href=address.feed)
    put(feed, "link", rel="alternate", type="text/html", href=address.home)
    for each in notifications:
        entry = Xml.SubElement(feed, "entry")
        put(entry, "id", f"urn:uuid:{each.id}")
        put(entry, "title", each.title)
        put(entry, "published", timestamp(each.created_at) or "")
        put(entry, "updated", timestamp(each.last_at) or "")
        author = Xml.SubElement(entry, "author")
        put(author, "name", each.source or "Tocsin")
        put(entry, "link", rel="alternate", type="text/html", href=address.page(each))
        put(entry, "category", term=str(each.category))
        put(entry, "category", term=str(each.level))
        put(entry, "content", each.body or each.title, type="text")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{Xml.tostring(feed, encoding="unicode")}\n'


def _pictured(found: re.Match[str]) -> str:
    """Return the substitute of a character that XML does not allow."""
    code = ord(found[0])
    return chr(_PICTURES + code) if code < 0x20 else "?"
