"""The feeds of notifications, held against what their formats require."""

import json
from datetime import datetime
from xml.etree import ElementTree

import feedparser
import pytest

from tocsin.features.context import NoticeLevel
from tocsin.features.notifications.feeds import FeedAddress, atom_feed, json_feed
from tocsin.features.notifications.model import Notification, NotificationCategory

ADDRESS = FeedAddress("http://127.0.0.1:8200/")
ID = "0197f2d0-0000-7000-8000-000000000001"
NAMES = {"a": "http://www.w3.org/2005/Atom"}


def notification(title: str = "Disk full", body: str = "", link: str = "#/home") -> Notification:
    level, category = NoticeLevel.ERROR, NotificationCategory.SYSTEM
    return Notification(
        ID, title, body, level, category, "disk", link, "", created_at=1_700_000_000.0, last_at=1_700_000_060.0
    )


def test_the_json_feed_has_what_version_1_1_requires():
    feed = json.loads(json.dumps(json_feed([notification()], ADDRESS)))
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["title"]
    assert feed["feed_url"] == "http://127.0.0.1:8200/api/notifications/feed"
    assert feed["items"] == [
        {
            "id": f"urn:uuid:{ID}",
            "url": "http://127.0.0.1:8200/#/home",
            "title": "Disk full",
            "content_text": "Disk full",
            "date_published": "2023-11-14T22:13:20.000Z",
            "date_modified": "2023-11-14T22:14:20.000Z",
            "tags": ["error", "system"],
        }
    ]


@pytest.mark.parametrize("items", [[], [notification()]], ids=["empty", "with an entry"])
def test_the_atom_feed_has_what_rfc_4287_requires(items: list[Notification]):
    feed = ElementTree.fromstring(atom_feed(items, ADDRESS, now=1_700_000_000.0))
    assert feed.tag == "{http://www.w3.org/2005/Atom}feed"
    for parent in (feed, *feed.findall("a:entry", NAMES)):
        for name in ("id", "title", "updated"):
            assert len(parent.findall(f"a:{name}", NAMES)) == 1, name
        assert parent.findtext("a:id", namespaces=NAMES).startswith("urn:uuid:")
        assert datetime.fromisoformat(parent.findtext("a:updated", namespaces=NAMES)).tzinfo
    assert all(entry.findtext("a:author/a:name", namespaces=NAMES) for entry in feed.findall("a:entry", NAMES))
    assert feed.find("a:link[@rel='self']", NAMES).get("href") == ADDRESS.feed


def test_a_reader_of_feeds_finds_no_fault_and_every_field():
    items = [notification(), notification("<b>\x00 & ü", "a\nb", "#/cron/a b?ü")]
    feed = feedparser.parse(atom_feed(items, ADDRESS, now=0.0).encode())
    assert (feed.bozo, feed.version, feed.encoding) == (False, "atom10", "utf-8")
    assert (feed.feed.title, feed.feed.updated) == ("Tocsin notifications", "2023-11-14T22:14:20.000Z")
    assert [(entry.title, entry.summary, entry.link, entry.author) for entry in feed.entries] == [
        ("Disk full", "Disk full", "http://127.0.0.1:8200/#/home", "disk"),
        ("<b>\u2400 & ü", "a\nb", "http://127.0.0.1:8200/#/cron/a%20b?%C3%BC", "disk"),
    ]
    assert [tag.term for tag in feed.entries[0].tags] == ["system", "error"]
    assert feed.entries[0].published_parsed[:6] == (2023, 11, 14, 22, 13, 20)
    assert not feedparser.parse(atom_feed([], ADDRESS, now=0.0).encode()).bozo


def test_markup_and_control_characters_stay_text():
    hostile = notification("<script>alert('&')</script>\x07]]>", "\ud83d\ude00\x00 & <b>", "https://x.example/?a=1&b=2")
    entry = ElementTree.fromstring(atom_feed([hostile], ADDRESS, now=0.0)).find("a:entry", NAMES)
    assert entry.findtext("a:title", namespaces=NAMES) == "<script>alert('&')</script>\u2407]]>"
    assert entry.find("a:link", NAMES).get("href") == "https://x.example/?a=1&b=2"
    assert entry.find("a:content", NAMES).get("type") == "text"
