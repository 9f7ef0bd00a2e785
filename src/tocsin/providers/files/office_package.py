"""Read the parts of a ZIP archive of XML as streams of elements.

Only the parts that contain the text are unpacked, as a stream that ends when enough is read, and never more than
`MAX_BYTES`. XML with a DTD is refused: these formats do not use DTDs, which can declare entities that expand without
limit or that refer to files. This module writes no files.
"""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat  # DTDs are refused, so a hardened parser would add nothing
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

MAX_BYTES = 64 * 1024 * 1024  # unpacked size of all parts that are read
CHUNK_BYTES = 64 * 1024
Attributes = Mapping[str, str]


class RefusedError(Exception):
    """The file cannot be read; the message says why."""


class EnoughError(Exception):
    """Enough text was read."""


@dataclass(slots=True)
class Words:
    """The text collected so far; full when it has `max_chars`."""

    max_chars: int
    more: bool = False  # some text was not read
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _end: str = "\n\n"

    def add(self, piece: str) -> None:
        """Append a piece; drop any third line break in a row."""
        if not piece or (piece == "\n" and self._end == "\n\n"):
            return
        self._pieces.append(piece)
        self._length += len(piece)
        self._end = (self._end + piece)[-2:]
        if self._length > self.max_chars:
            raise EnoughError

    def text(self) -> str:
        return "".join(self._pieces)


class Scanner:
    """Receives the elements of one XML part, with names without namespaces."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start of an element."""

    def end(self, name: str) -> None:
        """Handle the end of an element."""

    def text(self, text: str) -> None:
        """Handle text of the current element, which may arrive in several pieces."""


class Package:
    """A ZIP archive whose parts are read one by one, with a common limit of bytes."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._left = MAX_BYTES

    def scan(self, part: str, scanner: Scanner) -> None:
        """Pass the elements of a part to `scanner`; raises EnoughError, or the exceptions of expat and zipfile."""
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
        info = self._archive.getinfo(part)
        if info.flag_bits & 1:
            raise RefusedError("it is password-protected")
        if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:  # other methods have no limit, and are not allowed
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
        """Return, by relation ID, the type and the part of everything in the package that `part` refers to."""
        folder, name = posixpath.split(part)
        found = _Relations(folder)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        if listed in self:
            self.scan(listed, found)
        return found.targets

    def main_part(self) -> str:
        """Return the name of the part with the document itself."""
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
    """Return the relation ID of an element: the attribute `id` with a namespace."""
    return next((value for name, value in attributes.items() if name.endswith(" id")), "")


def _refuse_dtd(*_: object) -> None:
    raise RefusedError("it contains a forbidden definition (a DTD)")
