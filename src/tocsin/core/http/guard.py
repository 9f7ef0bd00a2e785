"""Calls to addresses that others name: the Internet alone, or, where the operator permits it, private networks."""

from collections.abc import Callable

from tocsin.core.errors import ChannelError
from tocsin.core.http.addresses import is_public, look_up
from tocsin.core.http.proxy import proxy_for
from tocsin.core.http.transport import Transport, find_origin


class AddressGuard:
    """Transports that check each address before they connect to it.

    `whose` names the owner of an address in errors, `permission` says how the operator permits a private one.
    """

    def __init__(self, http: Transport, whose: str, permission: str) -> None:
        self._http = http
        self._whose, self._permission = whose, permission
        self._guarded: dict[Callable[[str], None], Transport] = {}

    def transport(self, url: str, *, permitted: bool) -> Transport:
        """Return what may call `url`; `permitted` says whether its address may be private. Raises ChannelError."""
        rule = self._rule(url, permitted)
        if rule is None:
            return self._http
        if rule not in self._guarded:
            self._guarded[rule] = self._http.guarded(rule)
        return self._guarded[rule]

    async def check(self, url: str, *, permitted: bool) -> None:
        """Look up the addresses of `url` and check them, unless a proxy does; raise RemoteError."""
        rule = self._rule(url, permitted)
        if proxy_for(find_origin(url)):
            return
        for address in await look_up(url):
            if rule:
                rule(address)

    def _rule(self, url: str, permitted: bool) -> Callable[[str], None] | None:
        """Return the check of an address; raise ChannelError for a URL without encryption and permission."""
        if url.startswith("https:"):
            return None if permitted else self.refuse_private
        if permitted:
            return self.refuse_public
        raise ChannelError(f"the {self._whose}'s address is not encrypted", hint=f"use https; {self._permission}")

    def refuse_private(self, address: str) -> None:
        """Raise ChannelError for an address that is not on the Internet."""
        if not is_public(address):
            raise ChannelError(f"the {self._whose}'s address {address} is private", hint=self._permission)

    def refuse_public(self, address: str) -> None:
        """Raise ChannelError for an address on the Internet, which takes encryption."""
        if is_public(address):
            told = f"the {self._whose}'s address {address} is on the Internet, and not encrypted"
            raise ChannelError(told, hint="use https")
