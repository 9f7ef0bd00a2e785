"""All protocols by name: those of the modules in this room."""

from collections.abc import Iterator, Mapping
from importlib import import_module

import tocsin.features.doors.protocols
from tocsin.core.plugins import modules_in
from tocsin.features.doors.model import DEFAULT_PROTOCOL
from tocsin.features.doors.protocols.protocol import DoorProtocol


def _find() -> Iterator[DoorProtocol]:
    room = tocsin.features.doors.protocols
    for name, _ in modules_in(room.__path__):
        module = f"{room.__name__}.{name}"
        if module == __name__:
            continue
        classes = [each for each in vars(import_module(module)).values() if isinstance(each, type)]
        own = [each for each in classes if issubclass(each, DoorProtocol) and each.__module__ == module]
        yield from (each() for each in own if not each.__abstractmethods__)


# The first of those that share a path answers where no token matches.
PROTOCOLS: Mapping[str, DoorProtocol] = {
    each.name: each for each in sorted(_find(), key=lambda each: (each.name != DEFAULT_PROTOCOL, each.name))
}
