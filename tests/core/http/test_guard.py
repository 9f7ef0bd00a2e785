"""Addresses that others name are checked before they are called."""

import pytest

from tocsin.core.errors import ChannelError
from tocsin.core.http.guard import AddressGuard
from tocsin.testing import ScriptedTransport

GUARD = AddressGuard(ScriptedTransport(), "receiver", "permit it")


@pytest.mark.parametrize(
    ("url", "permitted"),
    [
        ("https://10.0.0.1/", True),
        ("https://192.0.9.1/", False),
        ("https://192.0.9.1/", True),
        ("http://10.0.0.1/", True),
    ],
)
async def test_public_addresses_and_permitted_private_ones_are_called(url: str, permitted: bool):
    await GUARD.check(url, permitted=permitted)


@pytest.mark.parametrize(
    ("url", "permitted", "told", "hint"),
    [
        ("https://10.0.0.1/", False, "the receiver's address 10.0.0.1 is private", "permit it"),
        ("http://10.0.0.1/", False, "the receiver's address is not encrypted", "use https; permit it"),
        ("http://192.0.9.1/", True, "address 192.0.9.1 is on the Internet, and not encrypted", "use https"),
        ("http://192.0.9.1/", False, "the receiver's address is not encrypted", "use https; permit it"),
    ],
)
async def test_private_addresses_take_permission_and_public_ones_encryption(
    url: str, permitted: bool, told: str, hint: str
):
    with pytest.raises(ChannelError, match=told) as error:
        await GUARD.check(url, permitted=permitted)
    assert error.value.hint == hint
