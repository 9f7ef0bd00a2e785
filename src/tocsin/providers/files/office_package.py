"""The parts of a ZIP archive of XML, read as streams of elements.

Only the parts that make up the text are unpacked, as a stream that ends when enough is read, and never more than
`MAX_BYTES`. XML with a DTD is refused: these formats have none, and it is where entities that grow without end, or
name files, are declared. It never writes.
"""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat  # DTDs are refused, which is all that a hardened parser adds
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

MAX_BYTES = 64 * 1024 * 1024  # of all parts that are read, unpacked
CHUNK_BYTES = 64 * 1024
Attributes = Mapping[str, str]


class RefusedError(Exception):
    """The file cannot be read; the message says why."""


class EnoughError(Exception):
    """The rest need not be read."""


@dataclass(slots=True)
class Words:
    """The text that was found so far; full when it has `max_chars`."""

    max_chars: int
    more: bool = False  # there is something that was not read
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _end: str = "\n\n"

    def add(self, piece: str) -> None:
        """Append a piece; a third line break in a row is left out."""
        if not piece or (piece == "\n" and self._end == "\n\n"):
            return
        self._pieces.append(piece)
        self._length += len(piece)
        self._end = (self._end + piece)[-2:]
        if self._length > self.max_chars:
            raise EnoughError

    def text(self) -> str:
        """Return all of it."""
        return "".join(self._pieces)


class Scanner:
    """Gets the elements of one XML part, by their names without namespace."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""

    def end(self, name: str) -> None:
        """End an element."""

    def text(self, text: str) -> None:
        """Take text of the current element, possibly one of several pieces."""


class Package:
    """A ZIP archive whose parts are read one by one, within the limit of bytes for all of them."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._left = MAX_BYTES

    def scan(self, part: str, scanner: Scanner) -> None:
        """Hand the elements of a part to `scanner`; raises EnoughError, or what expat and zipfile raise."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_dtd
        parser.StartElementHandler = lambda name, attributes: scanner.start(local(name), attributes)
        parser.EndElementHandler = lambda name: scanner.end(local(name))
        parser.CharacterDataHandler = scanner.text
        for chunk in self.chunks(part):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def chunks(self, part: str) -> Iterator[bytes]:
        """Yield the content of a part."""
        info = self._archive.getinfo(part)
        if info.flag_bits & 1:
            raise RefusedError("it is password-protected")
        if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:  # others unpack without a limit, and are not allowed
            raise BadZipFile(part)
        with self._archive.open(info) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                self._left -= len(chunk)
                if self._left < 0:
                    raise RefusedError("its decompressed size exceeds the limit")
                yield chunk

    def __contains__(self, part: str) -> bool:
        return part in self._archive.NameToInfo

    def relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return type and part of everything that `part` refers to within the package, by ID."""
        folder, name = posixpath.split(part)
        found = _Relations(folder)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        if listed in self:
            self.scan(listed, found)
        return found.targets

    def main_part(self) -> str:
        """Return the part with the document itself."""
        for kind, target in self.relations("").values():
            if kind.endswith("/officeDocument"):
                return target
        raise KeyError("officeDocument")


class _Relations(Scanner):
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.targets: dict[str, tuple[str, str]] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        target = attributes.get("Target", "")
        if name != "Relationship" or attributes.get("TargetMode") == "External":
            return
        path = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(self._folder, target))
        self.targets[attributes.get("Id", "")] = (attributes.get("Type", ""), path)


def local(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(" ")[2]


def relation_id(attributes: Attributes) -> str:
    """Return the ID of the relation that an element names: `id` with a namespace."""
    return next((value for name, value in attributes.items() if name.endswith(" id")), "")


def _refuse_dtd(*_: object) -> None:
    raise RefusedError("it contains a forbidden definition (a DTD)")
