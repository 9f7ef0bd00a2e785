"""Running ASGI applications with uvicorn until a signal asks to stop."""

import asyncio
import errno
import logging
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from tocsin.core.config.addresses import Network
from tocsin.core.config.security import load_tls
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.core.http.transport import describe_os_error
from tocsin.core.service_notifier import ServiceNotifier
from tocsin.web.http.connections import MAX_CONNECTIONS, MAX_PER_ADDRESS, ConnectionLimits
from tocsin.web.http.protocol import BoundedProtocol
from tocsin.web.http.refusals import RefusalLog

log = logging.getLogger(__name__)

# Time for running requests to finish after a signal: a send waits up to 30 s for Retry-After, but a person who stops
# a service does not wait that long.
GRACE_S = 5
BACKLOG = 1024
NEEDED_EVERY_S = 1.0  # how often a service that does not listen yet is asked whether it is needed
# The kernel buffers at most about twice this per connection, and delivers no more in one piece.
RECEIVE_BUFFER_BYTES = 16 * 1024
_REMEDIES = {
    errno.EADDRINUSE: "stop the program that uses it, or set {variable} to a free port",
    errno.EACCES: "ports below 1024 need privileges; set {variable} to a higher port",
}


@dataclass(frozen=True, slots=True)
class Service:
    """One application and its address; `build` is called with a function that reports whether the process stops."""

    name: str  # as in "the … cannot listen"
    host: str
    port: int
    port_variable: str
    build: Callable[[Callable[[], bool]], ASGIApp]
    trusted_proxies: Sequence[Network] = ()
    max_connections: int = MAX_CONNECTIONS
    max_per_address: int = MAX_PER_ADDRESS
    tls: tuple[Path, Path] | None = None  # certificate with its chain, and key
    is_needed: Callable[[], Awaitable[bool]] | None = None  # it listens only from when this returns True
    opened: Callable[[], None] | None = None  # called before the first request is answered

    @property
    def scheme(self) -> str:
        """The URL scheme of its addresses."""
        return "https" if self.tls else "http"


class _Server(uvicorn.Server):
    """Leaves signals to `serve`: with several servers, each would catch only its own."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _do_nothing() -> None:
    """Do nothing."""


async def serve(
    services: Sequence[Service],
    *,
    ready: Callable[[Mapping[str, str]], None],
    stopping: Callable[[], None] = _do_nothing,
    reload: Callable[[], Awaitable[None]] | None = None,
    notifier: ServiceNotifier | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the addresses by service name once all listen.

    `stopping` is called at the signal, so that other work has the same time to finish as the services. SIGHUP reads
    the certificates again and calls `reload`; without it, SIGHUP asks to stop, as the end of a terminal session does.
    Without services, this only waits for the signals while other work runs. A service that is not needed yet listens
    later, without a call of `ready`.
    """
    notifier = notifier or ServiceNotifier()
    for service in services:
        check_tls(service)
    services, later = await _split_by_need(services)
    with ExitStack() as stack:
        # All ports first: if one is in use, nothing has been started.
        sockets = [stack.enter_context(listen(service)) for service in services]
        servers = [_server(service) for service in services]
        stopped, hung_up = asyncio.Event(), asyncio.Event()

        def stop() -> None:
            stopped.set()
            notifier.stopping()
            stopping()
            for server in servers:
                server.force_exit = server.should_exit
                server.should_exit = True

        async def reload_at_hangup() -> None:
            while reload:
                await hung_up.wait()
                hung_up.clear()
                for service, server in zip([*services, *later], servers, strict=False):
                    _reload_certificate(service, server)
                await notifier.reload(reload)

        stack.enter_context(_handled_signals(stop, hung_up.set if reload else stop))
        listening = zip(services, sockets, strict=True)
        addresses = {each.name: f"{each.scheme}://{_authority(sock)}" for each, sock in listening}
        _call_opened(services)
        ready(addresses)
        notifier.ready(addresses)

        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(notifier.keep_alive()), group.create_task(reload_at_hangup())]
            serving = [
                group.create_task(server.serve(sockets=[sock])) for server, sock in zip(servers, sockets, strict=True)
            ]
            serving += [group.create_task(_serve_later(service, servers, stopped)) for service in later]
            await stopped.wait()
            if serving:
                await asyncio.wait(serving)
            for task in beside:
                task.cancel()


async def _serve_later(service: Service, servers: list[_Server], stopped: asyncio.Event) -> None:
    """Serve once the service is needed and its port is free, unless the process stops first."""
    reported = ""
    while not stopped.is_set():
        try:
            if await _is_needed(service):
                with listen(service) as sock:
                    servers.append(_server(service))
                    _call_opened([service])
                    facts = {"service": service.name, "address": f"{service.scheme}://{_authority(sock)}"}
                    log.info("listening", extra=facts)
                    await servers[-1].serve(sockets=[sock])
                return
        except TocsinError as error:
            if error.sentence() != reported:
                log.warning(
                    "a service does not listen yet", extra={"service": service.name, "reason": error.sentence()}
                )
            reported = error.sentence()
        with suppress(TimeoutError):
            await asyncio.wait_for(stopped.wait(), NEEDED_EVERY_S)


async def _is_needed(service: Service) -> bool:
    return service.is_needed is None or await service.is_needed()


async def _split_by_need(services: Sequence[Service]) -> tuple[list[Service], list[Service]]:
    """Return the services to start now, and those that are not needed yet."""
    needed = [await _is_needed(service) for service in services]
    now = [service for service, is_needed in zip(services, needed, strict=True) if is_needed]
    return now, [service for service in services if service not in now]


def _call_opened(services: Sequence[Service]) -> None:
    for service in services:
        if service.opened is not None:
            service.opened()


@contextmanager
def listen(service: Service) -> Iterator[socket.socket]:
    """Open the listening socket; an address in use is reported as a sentence, not a traceback."""
    host = service.host.strip("[]")
    try:
        host.encode("idna")  # the socket module leaves a socket open if this fails inside it
    except UnicodeError:
        raise ConfigError(f"the {service.name} cannot listen on {host}: not a valid host name") from None
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, service.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"the {service.name} cannot listen on {host} port {service.port}: {describe_os_error(error)}",
            hint=_REMEDIES.get(
                error.errno or 0, "correct the address; 127.0.0.1 restricts access to this machine"
            ).format(variable=service.port_variable),
        ) from None
    with sock:
        sock.set_inheritable(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        yield sock


def check_tls(service: Service) -> None:
    """Raise ConfigError if certificate or key are invalid, before anything is started."""
    if service.tls is None:
        return
    load_tls(f"the {service.name}", *service.tls)


def _server(service: Service) -> _Server:
    certificate, key = service.tls or (None, None)
    holder: list[_Server] = []
    limits = ConnectionLimits(
        service.trusted_proxies, total=service.max_connections, per_address=service.max_per_address
    )
    # A function that creates the protocol works where uvicorn expects its class.
    protocol: Any = partial(BoundedProtocol, limits=limits, refusals=RefusalLog(time.monotonic))
    config = uvicorn.Config(
        service.build(lambda: holder[0].should_exit),
        loop="uvloop",
        http=protocol,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # TRUSTED_PROXIES determines the client's address
        timeout_graceful_shutdown=GRACE_S,
        backlog=BACKLOG,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    holder.append(_Server(config))
    return holder[0]


def _authority(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reload_certificate(service: Service, server: uvicorn.Server) -> None:
    """Use a renewed certificate for new connections; an invalid one is logged, and the old one stays."""
    if service.tls is None or not server.config.loaded or server.config.ssl is None:
        return
    try:
        check_tls(service)
        server.config.ssl.load_cert_chain(*service.tls)
    except (ConfigError, OSError) as error:
        log.error("the certificate was not reloaded", extra={"service": service.name, "reason": str(error)})  # noqa: TRY400  # the sentence says it all


@contextmanager
def _handled_signals(stop: Callable[[], None], hang_up: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not ignored, as under nohup
        handlers[signal.SIGHUP] = hang_up
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
