"""Extract the text of formats with paragraphs and tables: .docx, .odt, .pptx."""

from dataclasses import dataclass, field

from tocsin.providers.files.office_package import Attributes, Package, RefusedError, Scanner, Words, relation_id

MAX_BLANKS = 100  # of one element in an OpenDocument text


@dataclass(frozen=True, slots=True)
class Markup:
    """The meaning of the elements of one format, by their names without namespaces."""

    texts: frozenset[str]  # elements whose text is collected
    skipped: frozenset[str]
    breaks: dict[str, str] = field(default_factory=dict)  # elements that represent a character
    paragraphs: frozenset[str] = frozenset({"p"})
    cell: str = "tc"
    row: str = "tr"


# `Fallback` repeats the same text for older programs; paragraph properties contain tab stops, which have the same name
# as tabs.
DOCX = Markup(
    frozenset({"t"}),
    frozenset({"Fallback", "pPr", "moveFrom"}),
    {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"},
)
PPTX = Markup(frozenset({"t"}), frozenset({"Fallback"}), {"br": "\n"})
ODT = Markup(
    frozenset({"p", "h"}),
    frozenset({"tracked-changes", "annotation", "note-citation", "forms", "desc", "title"}),
    {"tab": "\t", "line-break": "\n", "s": " "},
    paragraphs=frozenset({"p", "h"}),
    cell="table-cell",
    row="table-row",
)


class Paragraphs(Scanner):
    """Collects the text of one part: one line per paragraph, with tabs between the cells of a table."""

    def __init__(self, markup: Markup, words: Words) -> None:
        self._markup = markup
        self._words = words
        self._skipping = 0
        self._reading = 0
        self._cells = 0

    def start(self, name: str, attributes: Attributes) -> None:
        if self._skipping or name in self._markup.skipped:
            self._skipping += 1
            return
        self._reading += name in self._markup.texts
        self._cells += name == self._markup.cell
        if blank := self._markup.breaks.get(name):
            self._words.add(blank * _count(attributes) if blank == " " else blank)

    def end(self, name: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        self._reading -= name in self._markup.texts
        if name in self._markup.paragraphs:
            self._words.add(" " if self._cells else "\n")
        elif name == self._markup.cell:
            self._cells -= 1
            self._words.add("\t")
        elif name == self._markup.row:
            self._words.add("\n")

    def text(self, text: str) -> None:
        if self._reading and not self._skipping:
            self._words.add(text)


def read_docx(package: Package, words: Words, max_pages: int) -> None:
    """Collect the text of a Word document, which has no pages before it is printed."""
    package.scan(package.main_part(), Paragraphs(DOCX, words))


def read_odt(package: Package, words: Words, max_pages: int) -> None:
    """Collect the text of an OpenDocument text."""
    manifest = _Manifest()
    if "META-INF/manifest.xml" in package:
        package.scan("META-INF/manifest.xml", manifest)
    package.scan("content.xml", Paragraphs(ODT, words))


def read_pptx(package: Package, words: Words, max_pages: int) -> None:
    """Collect the text of the first slides, in the order in which they are shown."""
    main = package.main_part()
    relations, slides = package.relations(main), _Slides()
    package.scan(main, slides)
    words.more = len(slides.ids) > max_pages
    for number, slide in enumerate(slides.ids[:max_pages], start=1):
        found = Words(words.max_chars)
        try:
            package.scan(relations[slide][1], Paragraphs(PPTX, found))
        finally:
            if found.text().strip():
                words.add(f"[Slide {number}]\n{found.text().strip()}\n\n")


class _Slides(Scanner):
    def __init__(self) -> None:
        self.ids: list[str] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sldId":
            self.ids.append(relation_id(attributes))


class _Manifest(Scanner):
    def start(self, name: str, attributes: Attributes) -> None:
        if name == "encryption-data":
            raise RefusedError("it is password-protected")


def _count(attributes: Attributes) -> int:
    told = next((value for name, value in attributes.items() if name.endswith(" c")), "1")
    return min(int(told), MAX_BLANKS) if told.isdecimal() else 1
