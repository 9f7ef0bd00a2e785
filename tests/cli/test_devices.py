"""tocsin devices."""

import json
import sqlite3
from contextlib import closing

from tests.cli.conftest import Cli
from tests.facts import mentions

ENV = {"WEBPUSH_CONTACT": "mailto:ops@example.org"}
CANARY = ("https://fcm.googleapis.com/fcm/send/canary", "canary-p256dh", "canary-auth")


def keep(cli: Cli, *names: str) -> None:
    """Keep devices as the dashboard would, in the table."""
    devices = [{"name": name, "subscription": CANARY, "user": "anna", "created_at": 1.7e9} for name in names]
    text = json.dumps({"keys": {"private": "canary-private", "public": "public"}, "devices": devices})
    with closing(sqlite3.connect(cli.data_dir / "tocsin.db")) as connection, connection:
        connection.execute("INSERT INTO documents VALUES ('webpush', ?)", [text])


def test_devices_are_listed_renamed_and_removed(cli: Cli):
    assert "Notify this device" in cli("devices", "list", env=ENV).err
    keep(cli, "phone")
    outputs = [cli("devices", "list", *more, env=ENV).out for more in ((), ("--json",))]
    assert all("phone" in each and "fcm.googleapis.com" in each for each in outputs)
    assert "phone is kitchen now" in cli("devices", "rename", "phone", "kitchen", env=ENV).out
    unknown = cli("devices", "remove", "-y", "phone", env=ENV)
    assert unknown.code == 1
    assert mentions(unknown.err, "'phone' is not a device of Web Push", "devices: kitchen")
    assert cli("devices", "remove", "kitchen", env=ENV).code == 2
    assert "kitchen: removed" in cli("devices", "remove", "-y", "kitchen", env=ENV).out
    assert cli("devices", "list", "--json", env=ENV).json() == []
    audit = cli("audit", "search", "device", "--json").out
    assert [word for word in ("canary", "private") if word in f"{outputs}{unknown.err}{audit}"] == []
    assert "device.remove" in audit
