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
        """Return what may call `url`; `permitted` says whether its address may be private."""
        rule = self._rule(url, permitted)
        if rule is None:
            return self._http
        if rule not in self._guarded:
            self._guarded[rule] = self._http.guarded(rule)
        return self._guarded[rule]

    async def check(self, url: str, *, permitted: bool) -> None:
        """Look up the addresses of `url` and check them, unless a proxy does; raise RemoteError."""
        if proxy_for(find_origin(url)):
            return
        rule = self._rule(url, permitted)
        for address in await look_up(url):
            if rule:
                rule(address)

    def _rule(self, url: str, permitted: bool) -> Callable[[str], None] | None:
        if url.startswith("https:"):
            return None if permitted else self.refuse_private
        return self.refuse_public if permitted else self._refuse_all

    def refuse_private(self, address: str) -> None:
        """Raise ChannelError for an address that is not on the Internet."""
        if not is_public(address):
            raise ChannelError(f"the {self._whose}'s address {address} is private", hint=self._permission)

    def refuse_public(self, address: str) -> None:
        """Raise ChannelError for an address on the Internet, which takes encryption."""
        if is_public(address):
            told = f"the {self._whose}'s address {address} is on the Internet, and not encrypted"
            raise ChannelError(told, hint="use https")

    def _refuse_all(self, address: str) -> None:
        """Raise ChannelError: without encryption and permission, neither kind of address may be called."""
        self.refuse_public(address)
        self.refuse_private(address)
